// Fused programs on a real GPU against numbers worked out on the host.
#include <cmath>
#include <cstring>

#include "device/copy.h"
#include "device/cuda/cuda_device.h"
#include "gpu/gpu.h"
#include "kernels/cuda/fused_rows.h"

namespace tandem::testing {
namespace {

using Kind = FusedInstruction::Kind;

FusedInstruction make(Kind kind, const char* op, std::vector<int32_t> arguments) {
  FusedInstruction i;
  i.kind = kind;
  i.op = op;
  i.dtype = DType::kFloat32;
  i.arguments = std::move(arguments);
  return i;
}

/// Runs plans on a device of its own: this binary's copy of the plugin.
class CudaFused : public GpuTest {
 protected:
  void SetUp() override {
    GpuTest::SetUp();
    if (!gpu) return;
    OpenRequest request;
    request.info.type = "GPU";
    request.info.index = 9;
    const auto major = config::get_device_details(config::list_physical_devices("GPU")[0])
                           .compute_capability;
    const int arch = std::stoi(major.substr(0, major.find('.'))) * 10 +
                     std::stoi(major.substr(major.find('.') + 1));
    mine = std::make_unique<cuda::CudaDevice>(cuda::CudaDevice::Options{
        .request = request, .device = 0, .arch = arch, .memory_bytes = int64_t{1} << 30});
    mine->activate();
  }
  void* put(const Floats& values) {
    void* at = room(values.size());
    mine->copy(mine->compute(), at, values.data(), values.size() * 4).host_wait();
    return at;
  }
  void* room(size_t n) {
    return mine->allocator()
        .allocate(std::max<size_t>(n, 1) * 4, &mine->compute())
        .address;
  }
  Floats take(void* at, size_t n) {
    Floats values(n);
    mine->copy(mine->compute(), values.data(), at, n * 4).host_wait();
    return values;
  }
  std::vector<Floats> run(const FusedProgram& p, const std::vector<Floats>& inputs,
                          const std::vector<Shape>& shapes,
                          const std::vector<Shape>& outputs) {
    const cuda::FusedPlan plan = plan_fused(mine.get(), p, shapes, outputs);
    std::vector<void*> in, out;
    for (const Floats& v : inputs) in.push_back(put(v));
    for (const Shape& s : outputs)
      out.push_back(room(static_cast<size_t>(s.num_elements())));
    void* workspace = room(plan.workspace_bytes / 4 + 1);
    mine->compute()
        .submit([&](const StreamContext& c) {
          cuda::run_fused(plan, c, in.data(), out.data(), workspace);
        })
        .host_wait();
    mine->synchronize();
    std::vector<Floats> results;
    for (size_t i = 0; i < outputs.size(); ++i) {
      results.push_back(take(out[i], static_cast<size_t>(outputs[i].num_elements())));
    }
    return results;
  }
  std::unique_ptr<cuda::CudaDevice> mine;
};

Floats ramp(size_t n) {
  Floats v(n);
  for (size_t i = 0; i < n; ++i) v[i] = std::sin(static_cast<float>(i) * 0.37f);
  return v;
}

FusedProgram softmax_like() {
  // y = exp(x - max(x)) / sum, with the row's sum as a second output and sums over rows
  // and over everything as third and fourth.
  FusedProgram p;
  p.num_inputs = 1;
  p.row_axes = 1;
  p.input_dtypes = {DType::kFloat32};
  p.instructions = {make(Kind::kRowReduce, "Max", {0}),
                    make(Kind::kElementwise, "Sub", {0, 1}),
                    make(Kind::kElementwise, "Exp", {2}),
                    make(Kind::kRowReduce, "Sum", {3}),
                    make(Kind::kElementwise, "RealDiv", {3, 4}),
                    make(Kind::kColumnReduce, "Sum", {5}),
                    make(Kind::kAllReduce, "Mean", {5})};
  p.outputs = {5, 4, 6, 7};
  return p;
}

TEST_F(CudaFused, RowsColumnsAndAll) {
  for (const auto& [rows, cols] : std::vector<std::pair<int64_t, int64_t>>{
           {3, 5}, {200, 33}, {7, 1000}, {1, 1}, {5000, 64}}) {
    const Floats x = ramp(static_cast<size_t>(rows * cols));
    const auto got =
        run(softmax_like(), {x}, {{rows, cols}}, {{rows, cols}, {rows, 1}, {cols}, {}});
    std::vector<double> columns(static_cast<size_t>(cols), 0);
    double all = 0;
    for (int64_t r = 0; r < rows; ++r) {
      const float* row = x.data() + r * cols;
      double top = row[0], sum = 0;
      for (int64_t c = 0; c < cols; ++c) top = std::max<double>(top, row[c]);
      for (int64_t c = 0; c < cols; ++c) sum += std::exp(row[c] - top);
      EXPECT_NEAR(got[1][static_cast<size_t>(r)], sum, 1e-4 * sum);
      for (int64_t c = 0; c < cols; ++c) {
        const double y = std::exp(row[c] - top) / sum;
        ASSERT_NEAR(got[0][static_cast<size_t>(r * cols + c)], y, 1e-5);
        columns[static_cast<size_t>(c)] += y;
        all += y;
      }
    }
    for (int64_t c = 0; c < cols; ++c) {
      ASSERT_NEAR(got[2][static_cast<size_t>(c)], columns[static_cast<size_t>(c)],
                  1e-4 * static_cast<double>(rows));
    }
    EXPECT_NEAR(got[3][0], all / static_cast<double>(rows * cols), 1e-5);
  }
}

TEST_F(CudaFused, ElementwiseWithBroadcastInputs) {
  FusedProgram p;
  p.num_inputs = 3;
  p.input_dtypes = {DType::kFloat32, DType::kFloat32, DType::kFloat32};
  p.instructions = {make(Kind::kElementwise, "Mul", {0, 1}),
                    make(Kind::kElementwise, "AddV2", {3, 2})};
  p.outputs = {4};
  const Floats x = ramp(24), row = ramp(4), one = {0.5f};
  const auto got = run(p, {x, row, one}, {{2, 3, 4}, {4}, {}}, {{2, 3, 4}});
  for (size_t i = 0; i < 24; ++i) {
    EXPECT_EQ(got[0][i], x[i] * row[i % 4] + 0.5f) << i;
  }
}

FusedProgram product_with_sums() {
  FusedProgram p;
  p.num_inputs = 3;
  p.row_axes = 1;
  p.input_dtypes = {DType::kFloat32, DType::kFloat32, DType::kFloat32};
  p.instructions = {
      make(Kind::kElementwise, "Mul", {0, 1}), make(Kind::kElementwise, "AddV2", {3, 2}),
      make(Kind::kColumnReduce, "Sum", {4}), make(Kind::kColumnReduce, "Max", {4})};
  p.outputs = {4, 5, 6};
  return p;
}

/// Columns 16 bytes at a time: with a number per row, with one per column, with sizes
/// that end inside a block, and with one that is no whole number of chunks.
TEST_F(CudaFused, SumsOfColumnsInChunks) {
  for (const auto& [rows, cols] : std::vector<std::pair<int64_t, int64_t>>{
           {1, 4}, {37, 132}, {1000, 256}, {9, 1000}, {4000, 8}, {50, 6}}) {
    const Floats x = ramp(static_cast<size_t>(rows * cols));
    const Floats per_row = ramp(static_cast<size_t>(rows));
    const Floats per_column = ramp(static_cast<size_t>(cols));
    const auto got =
        run(product_with_sums(), {x, per_row, per_column},
            {{rows, cols}, {rows, 1}, {cols}}, {{rows, cols}, {cols}, {cols}});
    for (int64_t c = 0; c < cols; ++c) {
      const auto at = static_cast<size_t>(c);
      double sum = 0;
      float top = -INFINITY;
      for (int64_t r = 0; r < rows; ++r) {
        const auto place = static_cast<size_t>(r * cols + c);
        const float y = x[place] * per_row[static_cast<size_t>(r)] + per_column[at];
        ASSERT_EQ(got[0][place], y) << rows << " " << cols << " " << r << " " << c;
        sum += y;
        top = std::max(top, y);
      }
      ASSERT_NEAR(got[1][at], sum, 1e-5 * static_cast<double>(rows)) << cols << " " << c;
      ASSERT_EQ(got[2][at], top);
    }
  }
}

TEST_F(CudaFused, SumsOfColumnsOfManyGroups) {
  FusedProgram p;
  p.num_inputs = 1;
  p.row_axes = 1;
  p.input_dtypes = {DType::kFloat32};
  p.instructions = {make(Kind::kColumnReduce, "Sum", {0})};
  p.outputs = {1};
  const int64_t groups = 70;
  for (const int64_t shift : {0, 1}) {  // elements before the first: not aligned
    std::vector<Shape> shapes, outputs;
    std::vector<void*> in, out;
    std::vector<Floats> values;
    for (int64_t g = 0; g < groups; ++g) {
      const Shape shape{2 + g * 7, 4 * (1 + g % 40)};
      shapes.push_back(shape);
      outputs.push_back(Shape{shape[1]});
      values.push_back(ramp(static_cast<size_t>(shape.num_elements() + shift)));
      in.push_back(static_cast<float*>(put(values.back())) + shift);
      out.push_back(room(static_cast<size_t>(shape[1])));
    }
    const auto plan = plan_multi_columns(mine.get(), p, shapes, outputs, groups);
    ASSERT_TRUE(plan.has_value());
    void* workspace = room(plan->workspace_bytes / 4 + 1);
    mine->compute()
        .submit([&](const StreamContext& c) {
          run_multi_columns(*plan, c, in.data(), out.data(), workspace);
        })
        .host_wait();
    mine->synchronize();
    for (size_t g = 0; g < static_cast<size_t>(groups); ++g) {
      const auto rows = static_cast<size_t>(shapes[g][0]),
                 cols = static_cast<size_t>(shapes[g][1]);
      const Floats got = take(out[g], cols);
      for (size_t c = 0; c < cols; ++c) {
        double sum = 0;
        for (size_t r = 0; r < rows; ++r) {
          sum += values[g][r * cols + c + static_cast<size_t>(shift)];
        }
        ASSERT_NEAR(got[c], sum, 1e-3) << g << " " << c;
      }
    }
  }
}

TEST_F(CudaFused, ManyGroupsInFewLaunches) {
  // p - rate * g over 130 tensors of any size, the rate shared.
  FusedProgram p;
  p.num_inputs = 3;
  p.input_dtypes = {DType::kFloat32, DType::kFloat32, DType::kFloat32};
  p.instructions = {make(Kind::kElementwise, "Mul", {1, 2}),
                    make(Kind::kElementwise, "Sub", {0, 3})};
  p.outputs = {4};
  const int64_t groups = 130;
  std::vector<Shape> shapes, outputs;
  std::vector<void*> in, out;
  void* const rate = put({0.25f});
  std::vector<Floats> values;
  for (int64_t g = 0; g < groups; ++g) {
    const int64_t n = 1 + g * g % 777;
    shapes.insert(shapes.end(), {Shape{n}, Shape{n}, Shape{}});
    outputs.push_back(Shape{n});
    values.push_back(ramp(static_cast<size_t>(n)));
    in.insert(in.end(), {put(values.back()), put(values.back()), rate});
    out.push_back(room(static_cast<size_t>(n)));
  }
  const auto plan = plan_multi(mine.get(), p, shapes, outputs, groups);
  ASSERT_TRUE(plan.has_value());
  mine->compute()
      .submit([&](const StreamContext& c) { run_multi(*plan, c, in.data(), out.data()); })
      .host_wait();
  mine->synchronize();
  for (size_t g = 0; g < static_cast<size_t>(groups); ++g) {
    const Floats got = take(out[g], values[g].size());
    for (size_t i = 0; i < got.size(); ++i) {
      ASSERT_EQ(got[i], values[g][i] - values[g][i] * 0.25f) << g << " " << i;
    }
  }
}

}  // namespace
}  // namespace tandem::testing
