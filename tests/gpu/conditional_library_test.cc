// Branches and loops that a real GPU decides by itself, with the work of NVIDIA's
// libraries and of clusters of blocks inside: against the host's way, and how long a turn
// takes in each.
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>
#include <tuple>
#include <vector>

#include "base/interrupt.h"
#include "gpu/gpu.h"
#include "tandem/error.h"
#include "tandem/function.h"
#include "tandem/ops/nn_sequence.h"

namespace tandem::testing {
namespace {

using CudaConditionalLibraries = GpuTest;
using Tensors = std::vector<Tensor>;
using Clock = std::chrono::steady_clock;

// Asked for when a plan is made.
struct Setting {
  Setting(const char* name, const char* value) : name_(name) { setenv(name, value, 1); }
  Setting(const Setting&) = delete;
  Setting& operator=(const Setting&) = delete;
  ~Setting() { unsetenv(name_); }

 private:
  const char* name_;
};

Tensor noise_on_gpu(const Shape& shape, DType dtype, float scale, uint64_t seed) {
  Floats values(static_cast<size_t>(shape.num_elements()));
  uint64_t state = seed * 6364136223846793005u + 1;
  for (float& v : values) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    v = scale * (static_cast<float>(state >> 40) / (1 << 23) - 1.0f);
  }
  return on("/GPU:0", [&] { return cast(reshape(constant(values), shape), dtype); });
}

/// One application keeps shape, dtype and range of its operand.
struct LibraryLayer {
  const char* name;
  const char* kernel;  // part of the name of the kernel that is meant to be inside
  Shape shape;
  DType dtype;
  double tolerance;
  Tensors weights;
  std::function<Tensor(const Tensor&, const Tensors&)> apply;
};

std::vector<LibraryLayer> library_layers() {
  const DType f32 = DType::kFloat32, f16 = DType::kFloat16, bf16 = DType::kBFloat16;
  const auto conv = [](const Tensor& x, const Tensors& w) {
    return tanh(nn::conv2d(x, w[0], {.padding = nn::Padding::kSame}));
  };
  return {
      {"product",
       "cublaslt",
       {512, 512},
       f32,
       1e-4,
       {noise_on_gpu({512, 512}, f32, 0.05f, 1)},
       [](const Tensor& x, const Tensors& w) { return tanh(matmul(x, w[0])); }},
      {"product in half precision",
       "cublaslt",
       {512, 1024},
       bf16,
       3e-2,
       {noise_on_gpu({1024, 1024}, bf16, 0.04f, 2), noise_on_gpu({1024}, bf16, 0.1f, 3)},
       [](const Tensor& x, const Tensors& w) { return tanh(matmul(x, w[0]) + w[1]); }},
      {"convolution",
       "cudnn",
       {8, 28, 28, 64},
       f32,
       1e-4,
       {noise_on_gpu({3, 3, 64, 64}, f32, 0.05f, 4)},
       conv},
      {"convolution in half precision",
       "cudnn",
       {8, 28, 28, 64},
       f16,
       1e-2,
       {noise_on_gpu({3, 3, 64, 64}, f16, 0.05f, 5)},
       conv},
      {"attention",
       "attention",
       {2, 256, 8, 64},
       bf16,
       3e-2,
       {},
       [](const Tensor& x, const Tensors&) {
         return tanh(nn::scaled_dot_product_attention(x, x, x, {}, {}, {.causal = true}) *
                     cast(constant(2.f), x.dtype()));
       }},
      {"LSTM",
       "cluster",
       {16, 20, 128},
       bf16,
       3e-2,
       {noise_on_gpu({128, 512}, bf16, 0.1f, 6), noise_on_gpu({128, 512}, bf16, 0.1f, 7),
        noise_on_gpu({512}, bf16, 0.1f, 8)},
       [](const Tensor& x, const Tensors& w) {
         return nn::lstm(x, w[0], w[1], w[2]).sequence;
       }},
  };
}

/// Turns are counted by the GPU, which therefore decides.
Tensor repeated(const LibraryLayer& l, const Tensor& x, const Tensor& turns,
                const Tensors& w) {
  return while_loop(
      [&](const Tensors& s) { return reduce_max(s[1]) < turns; },
      [&](const Tensors& s) { return Tensors{l.apply(s[0], w), s[1] + constant(1.f)}; },
      {x, zeros({4})})[0];
}
Tensor chosen(const LibraryLayer& l, const Tensor& x, const Tensor& least,
              const Tensors& w) {
  return cond(
      reduce_max(cast(x, DType::kFloat32)) > least, [&] { return l.apply(x, w); },
      [&] { return tanh(x); });
}

using Program = Tensor (*)(const LibraryLayer&, const Tensor&, const Tensor&,
                           const Tensors&);

auto compiled(const LibraryLayer& l, Program program) {
  return function([&l, program](Tensor x, Tensor number) {
    const DeviceScope scope("/GPU:0");
    return program(l, x, number, l.weights);
  });
}

Tensor number(float value) {
  return on("/GPU:0", [&] { return identity(constant(value)); });
}

void expect_close_to_largest(const Tensor& got, const Tensor& wanted, double tolerance) {
  const Floats a = floats(cast(got, DType::kFloat32));
  const Floats b = floats(cast(wanted, DType::kFloat32));
  ASSERT_EQ(a.size(), b.size());
  double largest = 0, worst = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    const double error = std::fabs(double{a[i]} - double{b[i]});
    worst = std::isnan(error) ? INFINITY : std::max(worst, error);
    largest = std::max(largest, std::fabs(double{b[i]}));
  }
  EXPECT_GT(largest, 0.01) << "nothing was computed";
  EXPECT_LE(worst, tolerance * std::max(largest, 1.0));
}

bool has(const std::string& text, const char* part) {
  return text.find(part) != std::string::npos;
}

TEST_F(CudaConditionalLibraries, BodiesGiveWhatTheHostsWayGives) {
  for (const LibraryLayer& l : library_layers()) {
    for (const auto& [what, program, numbers] :
         {std::tuple("loop", Program(repeated), Floats{3, 0, 2}),
          std::tuple("branch", Program(chosen), Floats{-2, 2, -3})}) {
      SCOPED_TRACE(std::string(l.name) + ", " + what);
      auto decided = compiled(l, program);
      auto looked = compiled(l, program);
      for (uint64_t call = 0; call < numbers.size(); ++call) {
        const Tensor x = noise_on_gpu(l.shape, l.dtype, 1.f, 20 + call);
        const Tensor n = number(numbers[call]);
        const Tensor got = decided(x, n);
        const Setting off("TANDEM_CONDITIONAL_NODES", "0");
        expect_close_to_largest(got, looked(x, n), l.tolerance);
      }
      const std::string way = decided.explain();
      EXPECT_TRUE(has(way, "as a conditional node")) << way;
      EXPECT_FALSE(has(way, "the host looks at the predicates")) << way;
      EXPECT_TRUE(has(way, l.kernel)) << "no " << l.kernel << " inside\n" << way;
      EXPECT_FALSE(has(looked.explain(), "as a conditional node")) << looked.explain();
    }
  }
}

// Printed, for whoever decides about early starts inside bodies.
TEST_F(CudaConditionalLibraries, ATurnInEachWay) {
  constexpr float kTurns = 200;
  const Tensor many = number(kTurns);
  const auto time = [&](const LibraryLayer& l, const Tensor& x) {
    auto f = compiled(l, repeated);
    f(x, many).wait();
    double best = 1e9;
    for (int i = 0; i < 3; ++i) {
      const auto begin = Clock::now();
      f(x, many).wait();
      best = std::min(best, std::chrono::duration<double>(Clock::now() - begin).count());
    }
    return best / kTurns * 1e6;
  };
  std::vector<LibraryLayer> all = library_layers();
  all.push_back({"eight small steps",
                 "",
                 {64, 64},
                 DType::kFloat32,
                 0,
                 {noise_on_gpu({64, 64}, DType::kFloat32, 0.1f, 9)},
                 [](Tensor x, const Tensors& w) {
                   for (int i = 0; i < 4; ++i) x = nn::softmax(matmul(x, w[0]));
                   return x;
                 }});
  for (const LibraryLayer& l : all) {
    const Tensor x = noise_on_gpu(l.shape, l.dtype, 1.f, 31);
    const double late = time(l, x);
    double early = 0, host = 0;
    {
      const Setting on("TANDEM_PROGRAMMATIC_BODIES", "1");
      early = time(l, x);
    }
    {
      const Setting off("TANDEM_CONDITIONAL_NODES", "0");
      host = time(l, x);
    }
    std::printf("%s: a turn %.2f us, with early starts %.2f us, by the host %.2f us\n",
                l.name, late, early, host);
  }
}

struct Stop {};

// Its turns are limited, so that the test ends whatever happens: some seconds of them.
TEST_F(CudaConditionalLibraries, ALongLoopEndsWhenItIsInterrupted) {
  constexpr int64_t kMost = 1'500'000;
  Variable written = on("/GPU:0", [] { return Variable(zeros({4})); });
  auto f = function([&](Tensor x, Tensor limit) {
    const Tensors made =
        while_loop([&](const Tensors& s) { return reduce_max(s[0]) < limit; },
                   [](const Tensors& s) { return Tensors{s[0] + constant(1.f)}; }, {x},
                   {.maximum_iterations = kMost});
    written.assign(made[0]);
    return made[0];
  });
  const Tensor x = on("/GPU:0", [] { return zeros({4}); });
  EXPECT_EQ(floats(f(x, number(5))), Floats(4, 5));
  EXPECT_EQ(floats(written.read()), Floats(4, 5));
  const Tensor far = number(1e9f);
  for (const bool read : {true, false}) {
    const auto begin = Clock::now();
    const Tensor y = f(x, far);
    {
      const InterruptScope scope([](void*) { throw Stop(); });
      if (read) {
        EXPECT_THROW(floats(y), Stop);
      } else {
        EXPECT_THROW(gpu->synchronize(), Stop);
      }
    }
    const double seconds = std::chrono::duration<double>(Clock::now() - begin).count();
    const float turns = floats(y)[0];
    std::printf("interrupted after %.3f s and %.0f turns\n", seconds, turns);
    EXPECT_LT(turns, static_cast<float>(kMost)) << "it went on to its end";
    EXPECT_GT(turns, 0);
    // The step was not whole: the variable has its value, and is written again by the
    // next.
    EXPECT_EQ(floats(written.read()), Floats(4, 5));
    EXPECT_NO_THROW(gpu->synchronize());
    EXPECT_EQ(floats(f(x, number(5))), Floats(4, 5));
  }
  EXPECT_TRUE(has(f.explain(), "While as a conditional node")) << f.explain();
}

}  // namespace
}  // namespace tandem::testing
