// Fused kernels: outputs over inputs, rows, sums, many groups, what is refused. Random
// programs are in fused_random_test.cc.
#include "kernels/cpu/fused.h"

#include <cmath>
#include <numeric>
#include <random>

#include <gtest/gtest.h>

#include "device/runtime.h"
#include "fused_support.h"
#include "tandem/ops/attrs.h"

namespace tandem {
namespace {

using testing::Bytes;
using testing::bytes_of;
using testing::run_kernel;
using testing::run_unfused;

Tensor random_floats(const Shape& shape, uint64_t seed, float low = -1, float high = 1) {
  std::mt19937_64 random(seed);
  std::uniform_real_distribution<float> draw(low, high);
  std::vector<float> values(static_cast<size_t>(shape.num_elements()));
  for (float& v : values) v = draw(random);
  return constant(values, shape);
}

const float* floats(const Bytes& b) { return reinterpret_cast<const float*>(b.data()); }

void expect_outputs(const FusedProgram& p, const std::vector<Bytes>& got,
                    const std::vector<Tensor>& values) {
  ASSERT_EQ(got.size(), p.outputs.size());
  for (size_t o = 0; o < got.size(); ++o) {
    EXPECT_EQ(got[o], bytes_of(values[static_cast<size_t>(p.outputs[o])]))
        << "output " << o;
  }
}

// Inputs w, m, v, g, learning rate, beta1, beta2, epsilon, one; outputs w, m, v.
const char* const kAdam =
    "in float32,float32,float32,float32,float32,float32,float32,float32,float32 rows 0; "
    "9=Sub(8,5):float32; 10=Sub(8,6):float32; 11=Mul(1,5):float32; 12=Mul(3,9):float32; "
    "13=AddV2(11,12):float32; 14=Square(3):float32; 15=Mul(14,10):float32; "
    "16=Mul(2,6):float32; 17=AddV2(16,15):float32; 18=Sqrt(17):float32; "
    "19=AddV2(18,7):float32; 20=Mul(13,4):float32; 21=RealDiv(20,19):float32; "
    "22=Sub(0,21):float32; out 22,13,17";

std::vector<Tensor> adam_inputs(const Shape& shape, uint64_t seed) {
  return {random_floats(shape, seed),
          random_floats(shape, seed + 1),
          random_floats(shape, seed + 2, 0, 1),
          random_floats(shape, seed + 3),
          constant(0.001f),
          constant(0.9f),
          constant(0.999f),
          constant(1e-7f),
          constant(1.0f)};
}

TEST(Fused, OutputsMayLieOverInputsInAnyOrder) {
  const FusedProgram p = FusedProgram::parse(kAdam);
  for (const int64_t n : {int64_t{1}, int64_t{1023}, int64_t{5000}}) {
    const std::vector<Tensor> inputs = adam_inputs({n}, 1);
    const std::vector<Tensor> expected = run_unfused(p, inputs);
    std::vector<size_t> order = {0, 1, 2, 3};
    do {
      SCOPED_TRACE(std::to_string(n) + ": w over " + std::to_string(order[0]) +
                   ", m over " + std::to_string(order[1]) + ", v over " +
                   std::to_string(order[2]));
      const testing::KernelRun run{.threads = 2,
                                   .over = {{0, order[0]}, {1, order[1]}, {2, order[2]}}};
      expect_outputs(p, run_kernel({kAdam, 1}, inputs, run), expected);
    } while (std::next_permutation(order.begin(), order.end()));
  }
}

// The first output is computed before a later phase reads the input again.
TEST(Fused, RowsWrittenOverWhatLaterPhasesRead) {
  const FusedProgram p = FusedProgram::parse(
      "in float32 rows 1; 1=Neg(0):float32; 2=row Max(1):float32; 3=AddV2(0,2):float32; "
      "4=row Min(3):float32; 5=Mul(0,4):float32; out 1,3,5");
  for (const int64_t columns : {3, 400, 3000}) {
    SCOPED_TRACE(columns);
    const std::vector<Tensor> inputs = {random_floats({11, columns}, 5)};
    const std::vector<Tensor> expected = run_unfused(p, inputs);
    for (size_t o = 0; o < 3; ++o) {
      expect_outputs(p, run_kernel({p.text(), 1}, inputs, {.over = {{o, 0}}}), expected);
    }
  }
}

TEST(Fused, EmptyDomains) {
  const FusedProgram p = FusedProgram::parse(
      "in float32,float32 rows 1; 2=Mul(0,1):float32; 3=row Sum(2):float32; "
      "4=Neg(3):float32; 5=column Max(2):float32; 6=all Mean(2):float32; out 2,4,5,6");
  for (const Shape& shape : {Shape{0, 5}, Shape{4, 0}, Shape{0, 0}, Shape{2, 0, 3}}) {
    SCOPED_TRACE(shape.debug_str());
    const std::vector<Tensor> inputs = {random_floats(shape, 1), constant(2.0f)};
    const std::vector<Bytes> got = run_kernel({p.text(), 1}, inputs);
    const std::vector<Tensor> expected = run_unfused(p, inputs);
    for (size_t o = 0; o < 3; ++o) {
      EXPECT_EQ(got[o], bytes_of(expected[static_cast<size_t>(p.outputs[o])])) << o;
    }
    EXPECT_TRUE(std::isnan(floats(got[3])[0]));
  }
  const FusedProgram flat = FusedProgram::parse(
      "in int32,int32 rows 0; 2=AddV2(0,1):int32; 3=all Sum(2):int32; out 2,3");
  const std::vector<Tensor> none = {constant(std::vector<int>{}), constant(3)};
  expect_outputs(flat, run_kernel({flat.text(), 1}, none), run_unfused(flat, none));
}

TEST(Fused, LargeOutputsGoPastTheCaches) {
  const FusedProgram p = FusedProgram::parse(
      "in float32,float32 rows 0; 2=Mul(0,1):float32; 3=AddV2(2,0):float32; out 2,3");
  const int64_t n = (int64_t{9} << 20) + 37;
  const std::vector<Tensor> inputs = {random_floats({n}, 1), constant(0.3f)};
  const std::vector<Tensor> expected = run_unfused(p, inputs);
  expect_outputs(p, run_kernel({p.text(), 1}, inputs), expected);
  expect_outputs(p, run_kernel({p.text(), 1}, inputs, {.threads = 3}), expected);
  expect_outputs(p, run_kernel({p.text(), 1}, inputs, {.threads = 2, .over = {{1, 0}}}),
                 expected);
}

const char* const kLayerNorm =
    "in float32,float32,float32,float32 rows 1; 4=row Mean(0):float32; "
    "5=Sub(0,4):float32; 6=Square(5):float32; 7=row Mean(6):float32; "
    "8=AddV2(7,3):float32; 9=Rsqrt(8):float32; 10=Mul(5,9):float32; "
    "11=Mul(10,1):float32; 12=AddV2(11,2):float32; 13=column Sum(12):float32; "
    "14=all Mean(9):float32; out 12,9,13,14";

TEST(Fused, RowsOfAllLengths) {
  const FusedProgram p = FusedProgram::parse(kLayerNorm);
  for (const auto& [rows, columns] : {std::pair<int64_t, int64_t>{200, 3},
                                      {1000, 10},
                                      {77, 128},
                                      {130, 256},
                                      {70, 1024},
                                      {65, 1025},
                                      {5, 20000}}) {
    SCOPED_TRACE(std::to_string(rows) + " x " + std::to_string(columns));
    const std::vector<Tensor> inputs = {random_floats({rows, columns}, 3, 1, 5),
                                        random_floats({columns}, 4),
                                        random_floats({columns}, 5), constant(1e-3f)};
    const std::vector<Tensor> expected = run_unfused(p, inputs);
    const std::vector<Bytes> got = run_kernel({p.text(), 1}, inputs);
    for (size_t o = 0; o < got.size(); ++o) {
      const Tensor& want = expected[static_cast<size_t>(p.outputs[o])];
      const std::vector<float> values = want.to_vector<float>();
      ASSERT_EQ(got[o].size(), values.size() * sizeof(float));
      const float scale = o == 2 ? std::sqrt(static_cast<float>(rows)) : 1;
      for (size_t i = 0; i < values.size(); ++i) {
        ASSERT_NEAR(floats(got[o])[i], values[i],
                    1e-5f * scale * (1 + std::abs(values[i])))
            << "output " << o << " element " << i;
      }
    }
    for (const int threads : {2, 3, 7}) {
      EXPECT_EQ(run_kernel({p.text(), 1}, inputs, {.threads = threads}), got) << threads;
    }
  }
}

// Sums over many rows are as accurate as those of the op: much better than adding floats
// one after another.
TEST(Fused, ColumnAndAllSumsAreAccurate) {
  const FusedProgram p = FusedProgram::parse(
      "in float32,float32 rows 1; 2=Mul(0,1):float32; 3=column Sum(2):float32; "
      "4=all Sum(2):float32; 5=all Mean(2):float32; out 3,4,5");
  for (const auto& [rows, columns] :
       {std::pair<int64_t, int64_t>{100000, 3}, {3000, 300}, {700, 1500}}) {
    SCOPED_TRACE(std::to_string(rows) + " x " + std::to_string(columns));
    const std::vector<Tensor> inputs = {random_floats({rows, columns}, 3, 0, 1),
                                        constant(1.0f)};
    const std::vector<float> x = inputs[0].to_vector<float>();
    std::vector<double> sums(static_cast<size_t>(columns));
    for (size_t i = 0; i < x.size(); ++i) sums[i % sums.size()] += double{x[i]};
    const double total = std::accumulate(sums.begin(), sums.end(), 0.0);
    const std::vector<Bytes> got = run_kernel({p.text(), 1}, inputs);
    for (size_t c = 0; c < sums.size(); ++c) {
      ASSERT_NEAR(floats(got[0])[c], sums[c], 5e-7 * sums[c]) << c;
    }
    EXPECT_NEAR(floats(got[1])[0], total, 3e-7 * total);
    EXPECT_NEAR(floats(got[2])[0], total / static_cast<double>(x.size()), 3e-7);
    for (const int threads : {2, 5}) {
      EXPECT_EQ(run_kernel({p.text(), 1}, inputs, {.threads = threads}), got) << threads;
    }
  }
}

TEST(FusedMulti, ManyGroupsOfAllSizes) {
  const FusedProgram p = FusedProgram::parse(kAdam);
  std::mt19937_64 random(9);
  std::vector<Tensor> inputs, expected;
  std::map<size_t, size_t> over;
  constexpr size_t kGroups = 300;
  const Tensor rate = constant(0.01f);
  for (size_t g = 0; g < kGroups; ++g) {
    const auto n =
        static_cast<int64_t>(g % 50 == 7 ? 40000 + random() % 9000 : random() % 70);
    const Shape shape = g % 3 == 0 && n % 2 == 0 ? Shape{2, n / 2} : Shape{n};
    std::vector<Tensor> group = adam_inputs(shape, g * 10);
    if (g % 2) group[4] = rate;
    for (size_t o = 0; o < 3; ++o) {
      if (g % 4) over[g * 3 + o] = inputs.size() + o;
    }
    const std::vector<Tensor> values = run_unfused(p, group);
    for (int32_t o : p.outputs) expected.push_back(values[static_cast<size_t>(o)]);
    inputs.insert(inputs.end(), group.begin(), group.end());
  }
  for (const int threads : {1, 2, 4}) {
    const std::vector<Bytes> got =
        run_kernel({kAdam, kGroups}, inputs, {.threads = threads, .over = over});
    ASSERT_EQ(got.size(), expected.size());
    for (size_t i = 0; i < got.size(); ++i) {
      ASSERT_EQ(got[i], bytes_of(expected[i]))
          << "group " << i / 3 << " output " << i % 3;
    }
  }
}

TEST(FusedMulti, ReductionsOfEachGroup) {
  const std::string text =
      "in float32 rows 0; 1=Square(0):float32; 2=all Sum(1):float32; out 2";
  std::vector<Tensor> inputs;
  std::vector<double> expected;
  for (int64_t g = 0; g < 40; ++g) {
    const Shape shape = g % 8 == 3 ? Shape{60000} : Shape{g, 3};
    inputs.push_back(random_floats(shape, static_cast<uint64_t>(g)));
    double sum = 0;
    for (float v : inputs.back().to_vector<float>()) sum += double{v} * double{v};
    expected.push_back(sum);
  }
  const std::vector<Bytes> got = run_kernel({text, 40}, inputs);
  for (size_t g = 0; g < 40; ++g) {
    EXPECT_NEAR(floats(got[g])[0], expected[g], 1e-6 * (1 + expected[g])) << g;
  }
  EXPECT_EQ(run_kernel({text, 40}, inputs, {.threads = 3}), got);
}

// Through dispatch, where there is an emulated GPU on it.
TEST(Fused, RunsAsAnOpOnEveryDevice) {
  const FusedProgram p = FusedProgram::parse(kAdam);
  const std::vector<Tensor> inputs = adam_inputs({33, 5}, 2);
  const std::vector<Tensor> expected = run_unfused(p, inputs);
  static const OpHandle op("Fused");
  std::vector<std::string> devices = {"/CPU:0"};
  if (device_count("GPU") > 0) devices.push_back("/GPU:0");
  for (const std::string& device : devices) {
    SCOPED_TRACE(device);
    DeviceScope scope(device);
    const std::vector<Tensor> got = emit_list(op, inputs, FusedAttrs{kAdam, 1});
    ASSERT_EQ(got.size(), 3u);
    for (size_t o = 0; o < 3; ++o) {
      EXPECT_EQ(got[o].to_vector<float>(),
                expected[static_cast<size_t>(p.outputs[o])].to_vector<float>());
    }
  }
}

TEST(Fused, WhatCannotRunIsRefused) {
  const auto supported = [](const char* text, const std::vector<Tensor>& inputs) {
    bool yes = false;
    run_kernel({text, 1}, inputs, {}, &yes);
    return yes;
  };
  const Tensor matrix = random_floats({4, 5}, 1), column = random_floats({5}, 2);
  // The square of a column alone is neither full nor one element per row.
  const char* const text =
      "in float32,float32 rows 0; 2=Square(1):float32; 3=Mul(0,2):float32; out 3,2";
  EXPECT_FALSE(supported(text, {matrix, column}));
  EXPECT_TRUE(supported(text, {matrix, matrix}));
  EXPECT_TRUE(supported(text, {matrix, constant(2.0f)}));
  EXPECT_FALSE(
      supported("in float32,float32 rows 1; 2=AddV2(0,1):float32; "
                "3=row Sum(1):float32; out 2,3",
                {matrix, column}));
}

TEST(Fused, WhatMayBecomeAnInstruction) {
  const auto can = [](const char* name, std::vector<DType> in, DType out) {
    const OpDef& op = OpTable::get().at(name);
    return cpu::can_fuse(op, default_attrs(op), in, out);
  };
  const DType f = DType::kFloat32, i = DType::kInt32, b = DType::kBool;
  EXPECT_TRUE(can("AddV2", {f, f}, f));
  EXPECT_TRUE(can("Less", {f, f}, b));
  EXPECT_TRUE(can("SelectV2", {b, i, i}, i));
  EXPECT_TRUE(can("LeakyRelu", {f}, f));
  EXPECT_TRUE(can("Cast", {i}, f));
  EXPECT_TRUE(can("Pow", {f, f}, f));
  EXPECT_TRUE(can("FloorMod", {f, f}, f));
  // These throw for zeros and negative exponents.
  EXPECT_FALSE(can("FloorDiv", {i, i}, i));
  EXPECT_FALSE(can("Pow", {i, i}, i));
  EXPECT_FALSE(can("AddV2", {f, i}, f));
  EXPECT_FALSE(can("AddV2", {f, f}, i));
  EXPECT_FALSE(can("Equal", {DType::kString, DType::kString}, b));
  EXPECT_FALSE(can("MatMul", {f, f}, f));
  EXPECT_FALSE(can("Cast", {i}, DType::kFloat64));  // the attribute says float32
  EXPECT_TRUE(cpu::can_fuse_reduction("Mean", DType::kBFloat16));
  EXPECT_FALSE(cpu::can_fuse_reduction("Max", DType::kComplex64));
  EXPECT_FALSE(cpu::can_fuse_reduction("ArgMax", f));
}

}  // namespace
}  // namespace tandem
