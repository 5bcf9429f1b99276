// Attention on tensor cores (half precision, and float32 as TF32) with its gradients
// against the CPU in float32, over sizes that end inside a tile. A program of its own:
// the others ask for full precision, which these kernels do not give.
#include <cctype>
#include <cmath>
#include <tuple>

#include "gpu/gpu.h"
#include "op/emitter.h"
#include "op/kernel.h"
#include "tensor/tensor_impl.h"

namespace tandem::testing {
namespace {

struct Call {
  const char* what;
  int64_t batch, queries, keys, heads, key_heads, size, value_size;
  bool causal = false, heads_first = false, mask = false, bias = false;
};

class CudaAttention : public GpuTest {
 protected:
  /// Numbers in [-1, 1] that every dtype has, the same every time.
  Tensor values(const Shape& shape) {
    Floats v(static_cast<size_t>(shape.num_elements()));
    for (float& x : v) {
      state_ = state_ * 1664525u + 1013904223u;
      x = static_cast<float>(static_cast<int>(state_ >> 24) - 128) / 128;
    }
    return constant(v, shape);
  }

  /// The output, and gradients by query, key, value and bias, in float32.
  std::vector<Floats> run(const Call& c, DType dtype, const std::vector<Tensor>& given,
                          const char* device) {
    return on(device, [&] {
      std::vector<Tensor> in;
      for (const Tensor& t : given) in.push_back(t.defined() ? cast(t, dtype) : Tensor());
      const Tensor mask = given[4].defined() ? cast(given[4], DType::kBool) : Tensor();
      GradientTape tape;
      std::vector<Tensor> by = {in[0], in[1], in[2]};
      if (c.bias) by.push_back(in[5]);
      for (const Tensor& t : by) tape.watch(t);
      const Tensor out = nn::scaled_dot_product_attention(
          in[0], in[1], in[2], mask, in[5],
          {.causal = c.causal, .heads_first = c.heads_first});
      std::vector<Floats> results = {floats(cast(out, float32))};
      const Tensor loss = reduce_sum(cast(out * in[3], float32));
      const auto gradients = tape.gradient(loss, by);
      for (const auto& g : gradients) {
        results.push_back(floats(cast(Tensor(g), float32)));
      }
      return results;
    });
  }

  void check(const Call& c, DType dtype) {
    const auto shape = [&](int64_t time, int64_t heads, int64_t size) {
      return c.heads_first ? Shape{c.batch, heads, time, size}
                           : Shape{c.batch, time, heads, size};
    };
    std::vector<Tensor> given = {values(shape(c.queries, c.heads, c.size)),
                                 values(shape(c.keys, c.key_heads, c.size)),
                                 values(shape(c.keys, c.key_heads, c.value_size)),
                                 values(shape(c.queries, c.heads, c.value_size)),
                                 Tensor(),
                                 Tensor()};
    if (c.mask) {
      Floats allowed = floats(values({c.batch, 1, c.queries, c.keys}));
      for (float& x : allowed) x = x > -0.3f ? 1 : 0;
      for (int64_t j = 0; j < c.keys; ++j) allowed[static_cast<size_t>(j)] = 0;
      given[4] = constant(allowed, Shape{c.batch, 1, c.queries, c.keys});
    }
    if (c.bias) given[5] = values({1, c.heads, c.queries, c.keys});
    const auto want = run(c, float32, given, "/CPU:0");
    const auto got = run(c, dtype, given, "/GPU:0");
    const double tolerance = dtype == DType::kBFloat16 ? 2e-2 : 4e-3;
    for (size_t k = 0; k < want.size(); ++k) {
      double largest = 1, worst = 0;
      for (size_t i = 0; i < want[k].size(); ++i) {
        largest = std::max(largest, std::fabs(double{want[k][i]}));
        const double error = std::fabs(double{want[k][i]} - double{got[k][i]});
        worst = std::isnan(error) ? INFINITY : std::max(worst, error);
      }
      EXPECT_LE(worst, tolerance * largest)
          << c.what << ", " << dtype_name(dtype) << ", result " << k;
    }
  }

  uint32_t state_ = 12345;
};

// A case and dtype each: their kernels take seconds to compile, and checks run the tests
// of a program side by side.
class CudaAttentionCases : public CudaAttention,
                           public ::testing::WithParamInterface<std::tuple<Call, DType>> {
};

TEST_P(CudaAttentionCases, AgreeWithTheCpu) {
  check(std::get<Call>(GetParam()), std::get<DType>(GetParam()));
}

constexpr Call kCalls[] = {
    {"whole tiles", 2, 128, 128, 4, 4, 64, 64},
    {"many blocks", 4, 320, 256, 8, 8, 64, 64},
    {"causal", 1, 200, 200, 2, 2, 64, 64, true},
    {"causal, more keys", 1, 70, 333, 2, 1, 32, 48, true},
    {"causal, more queries", 1, 150, 70, 2, 2, 40, 24, true, true},
    {"grouped", 2, 65, 129, 6, 2, 128, 128},
    {"mask and bias", 2, 75, 140, 2, 2, 64, 64, false, false, true, true},
    {"bias, causal", 1, 130, 130, 3, 3, 16, 80, true, true, false, true},
    {"odd sizes of heads", 1, 90, 101, 2, 2, 33, 7, true, false, true},
    {"one query", 3, 1, 300, 2, 2, 64, 64}};
INSTANTIATE_TEST_SUITE_P(
    All, CudaAttentionCases,
    ::testing::Combine(::testing::ValuesIn(kCalls),
                       ::testing::Values(DType::kFloat16, DType::kBFloat16,
                                         DType::kFloat32)),
    [](const auto& one) {
      std::string name = std::get<Call>(one.param).what;
      for (char& c : name) c = std::isalnum(c) ? c : '_';
      return (name + "_").append(dtype_name(std::get<DType>(one.param)));
    });

/// Rows that do not begin at a multiple of 16 bytes.
TEST_F(CudaAttention, TakesViewsThatBeginAnywhere) {
  const auto result = [&](const char* device) {
    state_ = 7;
    return on(device, [&] {
      const Tensor all = values({3 * 90 * 2 * 64 + 1});
      const auto part = [&](int64_t i) {
        return reshape(slice(all, constant({static_cast<int>(1 + i * 90 * 128)}),
                             constant({90 * 128})),
                       {1, 90, 2, 64});
      };
      return floats(nn::scaled_dot_product_attention(part(0), part(1), part(2), {}, {},
                                                     {.causal = true}));
    });
  };
  const Floats want = result("/CPU:0"), got = result("/GPU:0");
  for (size_t i = 0; i < want.size(); ++i) ASSERT_NEAR(want[i], got[i], 4e-3) << i;
}

/// cuDNN's kernel wants multiples of 16 bytes, and hands other calls to ours.
TEST_F(CudaAttention, CudnnsKernelTakesViewsThatBeginAnywhere) {
  const Shape shape{1, 1024, 2, 64};
  const nn::AttentionAttrs attrs{.causal = true};
  const OpDef& op = OpTable::get().at("ScaledDotProductAttention");
  std::vector<Tensor> given(5), wanted;
  for (int i = 0; i < 3; ++i) {
    given[static_cast<size_t>(i)] =
        cast(values(shape), DType::kFloat16).to(gpu->full_name());
  }
  on("/GPU:0", [&] {
    const std::vector<TensorArg> args(given.begin(), given.end());
    current_emitter().emit(op, attrs_ref(attrs), args, wanted);
    return 0;
  });
  std::vector<TensorInfo> in(given.size()), out(wanted.size());
  for (size_t i = 0; i < 3; ++i) {
    in[i].dtype = DType::kFloat16;
    in[i].shape = shape;
  }
  for (size_t i = 0; i < wanted.size(); ++i) {
    out[i].dtype = wanted[i].dtype();
    out[i].shape = wanted[i].shape();
  }
  Signature s;
  s.op = &op;
  s.attrs = attrs_ref(attrs);
  s.inputs = in;
  s.outputs = out;
  s.device = gpu;
  const Kernel* kernel = nullptr;
  for (const Kernel* k : KernelRegistry::get().find(op, gpu->platform())) {
    if (k->id == "cuda.cudnn.attention" && k->supports(s)) kernel = k;
  }
  if (!kernel) GTEST_SKIP() << "cuDNN 9.6 or newer and compute capability 8.0 are needed";
  const Ref<Prepared> prepared = kernel->prepare(s);
  const Floats want = floats(cast(wanted[0], float32));
  for (const size_t offset : {size_t{0}, size_t{2}}) {
    SCOPED_TRACE(offset);
    std::vector<Ref<Buffer>> memory;
    std::vector<void*> inputs(given.size()), outputs;
    LeaseSet leases;
    for (size_t i = 0; i < 3; ++i) {
      const TensorImpl& t = *given[i].impl();
      memory.push_back(Buffer::allocate(*gpu, t.bytes() + offset));
      inputs[i] = static_cast<std::byte*>(leases.address(memory.back())) + offset;
      gpu->copy(gpu->compute(), inputs[i], t.address(leases), t.bytes()).host_wait();
    }
    std::vector<Tensor> results;
    for (const TensorInfo& o : out) {
      results.push_back(make_tensor(*gpu, o.dtype, o.shape));
      outputs.push_back(results.back().impl()->address(leases));
    }
    memory.push_back(Buffer::allocate(*gpu, prepared->workspace_bytes + 1));
    void* const workspace = leases.address(memory.back());
    gpu->compute()
        .submit([&](const StreamContext& context) {
          kernel->launch(*prepared, {inputs.data(), outputs.data(), workspace, &context});
        })
        .host_wait();
    const Floats got = floats(cast(results[0], float32));
    for (size_t i = 0; i < want.size(); ++i) ASSERT_NEAR(want[i], got[i], 4e-3) << i;
  }
}

/// Calls outside of plans, which nobody measures.
TEST_F(CudaAttention, LargeCallsAreCudnns) {
  const OpDef& op = OpTable::get().at("ScaledDotProductAttention");
  const nn::AttentionAttrs attrs{.causal = true};
  const auto chosen = [&](int64_t batch, DType dtype, bool deterministic) {
    std::vector<TensorInfo> in(5), out(2);
    for (size_t i = 0; i < 3; ++i) {
      in[i].dtype = dtype;
      in[i].shape = {batch, 1024, 8, 64};
    }
    out[0] = in[0];
    out[1].dtype = float32;
    out[1].shape = {batch, 8, 1024};
    Signature s;
    s.op = &op;
    s.attrs = attrs_ref(attrs);
    s.inputs = in;
    s.outputs = out;
    s.device = gpu;
    s.deterministic = deterministic;
    return KernelRegistry::get().choose(s, gpu->platform())->id;
  };
  EXPECT_EQ(chosen(8, float32, false), "cuda.attention.tiles");
  EXPECT_EQ(chosen(8, DType::kBFloat16, true), "cuda.attention.tiles");
  EXPECT_EQ(chosen(1, DType::kBFloat16, false), "cuda.attention.tiles");
  if (chosen(8, DType::kBFloat16, false) == "cuda.attention.tiles") {
    GTEST_SKIP() << "cuDNN 9.6 or newer and compute capability 9.0 are needed";
  }
  EXPECT_EQ(chosen(8, DType::kBFloat16, false), "cuda.cudnn.attention.large");
  check({"large", 8, 1024, 1024, 8, 8, 64, 64, true}, DType::kBFloat16);
}

/// Arguments and results of a compiled function may be reached in place, but for those of
/// a library's kernels.
TEST_F(CudaAttention, LargeCallsInAFunctionAreThoseOutside) {
  const auto attend = [](const Tensor& q, const Tensor& k, const Tensor& v,
                         const Tensor& weights) {
    GradientTape tape;
    const std::vector<Tensor> by = {q, k, v};
    for (const Tensor& t : by) tape.watch(t);
    const Tensor out =
        nn::scaled_dot_product_attention(q, k, v, {}, {}, {.causal = true});
    std::vector<Tensor> all = {out};
    const auto gradients = tape.gradient(out, by, {.output_gradients = {weights}});
    for (const auto& g : gradients) all.push_back(g.dense());
    return all;
  };
  const auto compiled =
      function([&](std::vector<Tensor> x) { return attend(x[0], x[1], x[2], x[3]); });
  on("/GPU:0", [&] {
    for (int call = 0; call < 3; ++call) {
      std::vector<Tensor> x;
      for (int i = 0; i < 4; ++i) {
        x.push_back(cast(values({8, 1024, 8, 64}), DType::kBFloat16));
      }
      const std::vector<Tensor> want = attend(x[0], x[1], x[2], x[3]), got = compiled(x);
      EXPECT_EQ(want.size(), got.size());
      for (size_t k = 0; k < want.size(); ++k) {
        const Floats a = floats(cast(want[k], float32)),
                     b = floats(cast(got[k], float32));
        double largest = 1, worst = 0;
        for (size_t i = 0; i < a.size(); ++i) {
          largest = std::max(largest, std::fabs(double{a[i]}));
          const double error = std::fabs(double{a[i]} - double{b[i]});
          worst = std::isnan(error) ? INFINITY : std::max(worst, error);
        }
        EXPECT_LE(worst, 2e-2 * largest) << "call " << call << ", result " << k;
      }
    }
    return 0;
  });
}

TEST_F(CudaAttention, GivesTheSameBitsEveryTime) {
  const Call c{"", 2, 200, 200, 4, 4, 64, 64, true};
  const std::vector<Tensor> given = {values({2, 200, 4, 64}),
                                     values({2, 200, 4, 64}),
                                     values({2, 200, 4, 64}),
                                     values({2, 200, 4, 64}),
                                     Tensor(),
                                     Tensor()};
  EXPECT_EQ(run(c, DType::kBFloat16, given, "/GPU:0"),
            run(c, DType::kBFloat16, given, "/GPU:0"));
}

}  // namespace
}  // namespace tandem::testing
