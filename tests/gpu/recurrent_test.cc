// Every form of the recurrent layers' kernels on a real GPU against the CPU's kernels:
// forms that sizes would not choose too.
#include <algorithm>
#include <cmath>
#include <random>

#include <fmt/format.h>

#include "gpu/gpu.h"
#include "op/emitter.h"
#include "op/kernel.h"
#include "tandem/ops/nn_sequence.h"
#include "tensor/buffer.h"
#include "tensor/tensor_impl.h"

namespace tandem::testing {
namespace {

using Tensors = std::vector<Tensor>;

struct RecurrentLayer {
  int64_t batch, time, in, units;
  nn::RecurrentAttrs attrs = {};
  bool extras = true;  // bias and initial states
  bool mask = false;

  Shape sequence(int64_t n) const {
    return attrs.time_major ? Shape{time, batch, n} : Shape{batch, time, n};
  }
};

class CudaRecurrent : public GpuTest {
 protected:
  Tensor some(const Shape& shape, double scale = 1) {
    std::uniform_real_distribution<float> draw(-0.8f, 0.8f);
    Floats values(static_cast<size_t>(shape.num_elements()));
    for (float& v : values) v = draw(random_) * static_cast<float>(scale);
    return cast(reshape(constant(values), shape), dtype_);
  }
  Tensor some_mask(const RecurrentLayer& l) {
    std::vector<int32_t> values(static_cast<size_t>(l.batch * l.time));
    for (int32_t& v : values) v = random_() % 3 != 0;
    const Shape shape =
        l.attrs.time_major ? Shape{l.time, l.batch} : Shape{l.batch, l.time};
    return cast(reshape(constant(values), shape), DType::kBool);
  }
  Tensors forward_inputs(const RecurrentLayer& l, bool lstm) {
    const int64_t u = l.units, width = (lstm ? 4 : 3) * u;
    const Tensor none;
    Tensors in = {some(l.sequence(l.in)), some({l.in, width}),
                  some({u, width}, 2 / std::sqrt(static_cast<double>(u))),
                  l.extras ? some(lstm ? Shape{width} : Shape{2, width}) : none,
                  l.extras ? some({l.batch, u}) : none};
    if (lstm) in.push_back(l.extras ? some({l.batch, u}) : none);
    in.push_back(l.mask ? some_mask(l) : none);
    return in;
  }
  Tensors gradient_inputs(const RecurrentLayer& l, bool lstm, const Tensors& in,
                          const Tensors& out) {
    Tensors list = {in[0], in[1], in[2]};
    list.insert(list.end(), in.begin() + 4, in.end());
    if (lstm) {
      list.insert(list.end(), {out[0], out[3], out[4]});
    } else {
      list.insert(list.end(), {out[0], out[2]});
    }
    list.push_back(some(l.sequence(l.units)));
    for (int i = 0; i < (lstm ? 2 : 1); ++i) list.push_back(some({l.batch, l.units}));
    return list;
  }
  static Tensors on_cpu(const OpDef& op, const RecurrentLayer& l, const Tensors& inputs) {
    const std::vector<TensorArg> args(inputs.begin(), inputs.end());
    Tensors outputs;
    current_emitter().emit(op, attrs_ref(l.attrs), args, outputs);
    return outputs;
  }

  /// Runs the kernels of an op, each by itself, and compares all they write.
  void compare(const OpDef& op, const RecurrentLayer& l, const Tensors& inputs,
               const Tensors& expected) {
    std::vector<TensorInfo> in(inputs.size());
    for (size_t i = 0; i < inputs.size(); ++i) {
      if (!inputs[i].defined()) continue;
      in[i].dtype = inputs[i].dtype();
      in[i].shape = inputs[i].shape();
    }
    std::vector<TensorInfo> out(expected.size());
    for (size_t i = 0; i < expected.size(); ++i) {
      out[i].dtype = expected[i].dtype();
      out[i].shape = expected[i].shape();
    }
    Signature s;
    s.op = &op;
    s.attrs = attrs_ref(l.attrs);
    s.inputs = in;
    s.outputs = out;
    s.device = gpu;
    int run = 0;
    for (const Kernel* kernel : KernelRegistry::get().find(op, gpu->platform())) {
      // A cluster holds only so much, and has no exact float32; the others take all.
      const bool cluster = kernel->id.find("cluster") != std::string::npos;
      if (cluster && !kernel->supports(s)) continue;
      SCOPED_TRACE(kernel->id);
      expect_near(launch(*kernel, s, inputs), expected);
      ++run;
    }
    EXPECT_GE(run, 2);
  }
  Tensors launch(const Kernel& kernel, const Signature& s, const Tensors& inputs) {
    const Ref<Prepared> prepared = kernel.prepare(s);
    std::vector<Ref<Buffer>> buffers;
    LeaseSet leases;
    const auto memory = [&](size_t bytes) {
      buffers.push_back(Buffer::allocate(*gpu, std::max<size_t>(bytes, 1)));
      return leases.address(buffers.back());
    };
    const auto bytes_of = [](const TensorInfo& t) {
      return static_cast<size_t>(t.shape.num_elements()) * dtype_size(t.dtype);
    };
    std::vector<void*> in, out;
    for (size_t i = 0; i < inputs.size(); ++i) {
      in.push_back(nullptr);
      if (!inputs[i].defined()) continue;
      in.back() = memory(bytes_of(s.inputs[i]));
      gpu->copy(gpu->compute(), in.back(), inputs[i].host_data(), bytes_of(s.inputs[i]))
          .host_wait();
    }
    for (const TensorInfo& t : s.outputs) {
      out.push_back(memory(bytes_of(t)));
      fill_with_nan(out.back(), bytes_of(t));
    }
    void* const workspace = memory(prepared->workspace_bytes);
    fill_with_nan(workspace, prepared->workspace_bytes);
    gpu->compute()
        .submit([&](const StreamContext& context) {
          kernel.launch(*prepared, {in.data(), out.data(), workspace, &context});
        })
        .host_wait();
    Tensors results;
    for (size_t i = 0; i < out.size(); ++i) {
      const TensorInfo& t = s.outputs[i];
      results.push_back(make_tensor(Runtime::get().cpu(), t.dtype, t.shape));
      gpu->copy(gpu->compute(), results.back().impl()->data(), out[i], bytes_of(t))
          .host_wait();
    }
    return results;
  }
  void fill_with_nan(void* at, size_t bytes) {
    const std::vector<std::byte> nan(bytes, std::byte{0xff});
    if (bytes) gpu->copy(gpu->compute(), at, nan.data(), bytes).host_wait();
  }
  void expect_near(const Tensors& got, const Tensors& expected) const {
    const double tolerance = dtype_ == DType::kFloat64    ? 1e-12
                             : dtype_ == DType::kFloat32  ? 2e-5
                             : dtype_ == DType::kBFloat16 ? 3e-2
                                                          : 4e-3;
    for (size_t i = 0; i < expected.size(); ++i) {
      const auto a = cast(got[i], DType::kFloat64).to_vector<double>();
      const auto b = cast(expected[i], DType::kFloat64).to_vector<double>();
      double largest = 1, wrong = 0;
      for (const double v : b) largest = std::max(largest, std::abs(v));
      for (size_t k = 0; k < b.size(); ++k) {
        const double off = std::abs(a[k] - b[k]);
        wrong = off <= wrong ? wrong : off;  // NaN stays
      }
      EXPECT_TRUE(wrong <= tolerance * largest)
          << "output " << i << " is off by " << wrong << ", largest " << largest;
    }
  }
  void check(const RecurrentLayer& l) {
    const DeviceScope scope("/CPU:0");  // of what the tests themselves compute
    for (const bool lstm : {true, false}) {
      for (DType dtype :
           {DType::kFloat32, DType::kFloat64, DType::kBFloat16, DType::kFloat16}) {
        dtype_ = dtype;
        SCOPED_TRACE(fmt::format("{} {} [{}, {}, {}] {} units", lstm ? "Lstm" : "Gru",
                                 dtype_name(dtype), l.batch, l.time, l.in, l.units));
        const OpDef& forward = OpTable::get().at(lstm ? "Lstm" : "Gru");
        const OpDef& gradient = OpTable::get().at(lstm ? "LstmGrad" : "GruGrad");
        const Tensors in = forward_inputs(l, lstm);
        const Tensors out = on_cpu(forward, l, in);
        compare(forward, l, in, out);
        const Tensors back = gradient_inputs(l, lstm, in, out);
        compare(gradient, l, back, on_cpu(gradient, l, back));
      }
    }
  }

  std::mt19937 random_{11};
  DType dtype_ = DType::kFloat32;
};

TEST_F(CudaRecurrent, OneOfEverything) { check({1, 1, 1, 1}); }
TEST_F(CudaRecurrent, NoStepsAndNoSequences) {
  check({3, 0, 2, 5});
  check({0, 3, 2, 5});
}
TEST_F(CudaRecurrent, OddSizes) {
  check({3, 4, 2, 5});
  check({37, 5, 9, 70});
}
TEST_F(CudaRecurrent, WithoutBiasAndStates) { check({9, 4, 3, 24, {}, false}); }
TEST_F(CudaRecurrent, OrdersAndMasks) {
  for (const bool time_major : {false, true}) {
    for (const bool backwards : {false, true}) {
      check({19, 6, 4, 33, {time_major, backwards}, backwards, true});
    }
  }
}
TEST_F(CudaRecurrent, AFullCluster) {
  check({20, 6, 16, 128});
  check({9, 3, 8, 200});
  check({3, 3, 8, 256, {}, true, true});
}
TEST_F(CudaRecurrent, MoreSequencesThanClustersAtOnce) { check({300, 3, 4, 128}); }
TEST_F(CudaRecurrent, MoreUnitsThanAClusterHolds) { check({5, 3, 8, 300}); }

}  // namespace
}  // namespace tandem::testing
