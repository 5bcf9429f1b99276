// Kernels over rows and columns, and products that are cut into parts, on a real GPU
// against the CPU: sizes that take several warps to a row, several blocks to a column,
// and that end inside a chunk of 16 bytes.
#include <cmath>

#include "gpu/gpu.h"

namespace tandem::testing {
namespace {

class CudaRows : public GpuTest {
 protected:
  /// Numbers in [-1, 1), the same every time.
  Tensor values(const Shape& shape) {
    Floats v(static_cast<size_t>(shape.num_elements()));
    for (float& x : v) {
      state_ = state_ * 1664525u + 1013904223u;
      x = static_cast<float>(static_cast<int>(state_ >> 20) - 2048) / 2048;
    }
    return constant(v, shape);
  }

  /// `body` gives tensors; tolerances are relative to the largest number of each.
  template <class F>
  void expect_same(const std::string& what, const F& body, double tolerance) {
    const auto run = [&](const char* device) {
      return on(device, [&] {
        std::vector<Floats> all;
        for (const Tensor& t : body()) all.push_back(floats(cast(t, float32)));
        return all;
      });
    };
    const auto want = run("/CPU:0"), got = run("/GPU:0");
    ASSERT_EQ(want.size(), got.size());
    for (size_t k = 0; k < want.size(); ++k) {
      ASSERT_EQ(want[k].size(), got[k].size());
      double largest = 1, worst = 0;
      for (size_t i = 0; i < want[k].size(); ++i) {
        largest = std::max(largest, std::fabs(double{want[k][i]}));
        const double error = std::fabs(double{want[k][i]} - double{got[k][i]});
        worst = std::isnan(error) ? INFINITY : std::max(worst, error);
      }
      EXPECT_LE(worst, tolerance * largest) << what << ", result " << k;
    }
  }

  static std::vector<Tensor> with_gradients(const Tensor& y, const Tensor& weights,
                                            GradientTape& tape,
                                            const std::vector<Tensor>& by) {
    std::vector<Tensor> all = {y};
    const auto gradients = tape.gradient(reduce_sum(y * weights), by);
    for (const auto& g : gradients) all.push_back(g.dense());
    return all;
  }

  uint32_t state_ = 99;
};

TEST_F(CudaRows, LayerNormAndItsGradientAreTheCpus) {
  for (const int64_t n : {1, 30, 256, 768, 1000, 2048, 5000, 8192, 9001}) {
    const int64_t rows = n < 1000 ? 1500 : 70;
    const Tensor x = values({rows, n}), gamma = values({n}), beta = values({n}),
                 weights = values({rows, n});
    for (DType t : {float32, bf16}) {
      expect_same(
          "LayerNorm of " + std::to_string(n),
          [&] {
            const std::vector<Tensor> by = {cast(x, t), cast(gamma, t), cast(beta, t)};
            GradientTape tape;
            for (const Tensor& b : by) tape.watch(b);
            const Tensor y = nn::layer_normalization(by[0], by[1], by[2]);
            return with_gradients(y, cast(weights, t), tape, by);
          },
          t == bf16 ? 2e-2 : 1e-4);
    }
  }
}

// Every way of keeping a row: a few threads, a warp, several of them, shared memory with
// one block and with several to a multiprocessor, and what is too long for it.
TEST_F(CudaRows, SoftmaxAndCrossEntropyAreTheCpus) {
  for (const int64_t n : {1, 3, 10, 31, 64, 100, 500, 1000, 1001, 2048, 4096, 8192, 8193,
                          20000, 50257, 50304, 130001}) {
    // More rows than blocks at work, where the way of keeping them differs by that.
    const int64_t rows = n == 50304 ? 300 : n > 10000 ? 20 : 700;
    const Tensor x = values({rows, n}) * 6.0f, weights = values({rows}),
                 all_weights = values({rows, n}) * (1.0f / static_cast<float>(n));
    std::vector<int32_t> labels;
    for (int64_t i = 0; i < rows; ++i) {
      labels.push_back(static_cast<int32_t>(i * 7919 % n));
    }
    for (DType t : {float32, bf16}) {
      expect_same(
          "cross entropy of " + std::to_string(n),
          [&] {
            const Tensor logits = cast(x, t), few = cast(all_weights, t);
            GradientTape tape({.persistent = true});
            tape.watch(logits);
            const Tensor loss =
                nn::sparse_softmax_cross_entropy(constant(labels), logits);
            auto all = with_gradients(loss, cast(weights, t), tape, {logits});
            // Of the size of 1, which tolerances are for.
            const Tensor times = cast(constant(static_cast<float>(n)), t);
            for (const Tensor& y :
                 {nn::softmax(logits) * times, nn::log_softmax(logits)}) {
              const auto more = with_gradients(y, few, tape, {logits});
              all.insert(all.end(), more.begin(), more.end());
            }
            return all;
          },
          t == bf16 ? 2e-2 : 2e-5);
    }
  }
}

// A view that begins in the middle of a chunk of 16 bytes, and rows of what is no number.
TEST_F(CudaRows, SoftmaxTakesViewsAndOddNumbers) {
  for (const int n : {8, 1000, 9000}) {
    const Tensor x = values({5 * n + 1});
    expect_same(
        "a view",
        [&] {
          const Tensor part = reshape(slice(x, constant({1}), constant({5 * n})), {5, n});
          return std::vector<Tensor>{nn::softmax(part), nn::log_softmax(part)};
        },
        2e-5);
    for (const float odd : {NAN, INFINITY, -INFINITY}) {
      Floats v(static_cast<size_t>(3 * n), 0.5f);
      v[static_cast<size_t>(n + n / 2)] = odd;
      for (int i = 2 * n; i < 3 * n; ++i) v[static_cast<size_t>(i)] = odd;
      const auto numbers = [&](const char* device) {
        return on(device, [&] { return floats(nn::softmax(constant(v, Shape{3, n}))); });
      };
      const Floats want = numbers("/CPU:0"), got = numbers("/GPU:0");
      for (size_t i = 0; i < want.size(); ++i) {
        ASSERT_EQ(std::isnan(want[i]), std::isnan(got[i]))
            << n << ", " << odd << ", " << i;
        if (!std::isnan(want[i])) {
          ASSERT_NEAR(want[i], got[i], 1e-5) << n << ", " << odd;
        }
      }
    }
  }
}

TEST_F(CudaRows, DenseCrossEntropyIsTheCpus) {
  for (const int64_t n : {1, 10, 999, 8192, 12000, 40000}) {
    for (const int64_t rows_of_labels : {1, 40}) {
      const Tensor x = values({40, n}) * 6.0f,
                   labels =
                       abs(values({rows_of_labels, n})) * (2.0f / static_cast<float>(n)),
                   weights = values({40});
      expect_same(
          "dense cross entropy of " + std::to_string(n),
          [&] {
            GradientTape tape;
            tape.watch(x);
            return with_gradients(
                nn::softmax_cross_entropy(broadcast_to(labels, {40, n}), x), weights,
                tape, {x});
          },
          2e-5);
    }
  }
}

// What cannot differ from one call to the next: how sums are cut depends on sizes alone.
TEST_F(CudaRows, SoftmaxGivesTheSameBitsEveryTime) {
  for (const int64_t n : {1000, 8191, 50304}) {
    const Tensor x = values({150, n});
    const auto run = [&] { return on("/GPU:0", [&] { return floats(nn::softmax(x)); }); };
    EXPECT_EQ(run(), run()) << n;
  }
}

TEST_F(CudaRows, ReductionsAreTheCpus) {
  for (const Shape& shape : {Shape{3000003}, Shape{257, 4099}, Shape{70000, 36},
                             Shape{40, 300, 64}, Shape{5, 6}}) {
    const Tensor x = values(shape);
    for (DType t : {float32, bf16}) {
      expect_same(
          "reductions of " + shape.debug_str(),
          [&] {
            const Tensor y = cast(x, t);
            const Ints last = {shape.rank() - 1}, first = {0};
            return std::vector<Tensor>{reduce_max(y),
                                       reduce_sum(cast(y, float32)),
                                       reduce_max(y, {.axis = last}),
                                       reduce_mean(y, {.axis = last}),
                                       reduce_min(y, {.axis = first}),
                                       reduce_sum(y, {.axis = first}),
                                       reduce_logsumexp(y, {.axis = first})};
          },
          t == bf16 ? 2e-2 : 1e-4);
    }
    // A part that begins in the middle of a chunk.
    if (shape.rank() == 1) {
      expect_same(
          "a view",
          [&] {
            return std::vector<Tensor>{
                reduce_sum(slice(x, constant({1}), constant({3000001})))};
          },
          1e-4);
    }
  }
}

TEST_F(CudaRows, ProductsInPartsAreTheCpus) {
  const Tensor x = values({64, 26 * 26 * 32}), w = values({26 * 26 * 32, 10}),
               b = values({10});
  // Whichever of the kernels that fit the plan finds fastest.
  for (const int64_t rows : {1, 17, 64}) {
    const auto dense = function([](Tensor a, Tensor c, Tensor d) {
      return nn::relu(nn::bias_add(matmul(a, c), d));
    });
    expect_same(
        "dense layer",
        [&] {
          const Tensor part = slice(x, constant({0, 0}),
                                    constant({static_cast<int>(rows), 26 * 26 * 32}));
          return std::vector<Tensor>{dense(part, w, b)};
        },
        1e-4);
  }
}

TEST_F(CudaRows, SmallConvolutionsAndTheirGradientsAreTheCpus) {
  const Tensor x = values({64, 28, 28, 3}), filter = values({3, 3, 3, 32}),
               weights = values({64, 26, 26, 32});
  expect_same(
      "convolution",
      [&] {
        GradientTape tape;
        tape.watch(x);
        tape.watch(filter);
        const Tensor y = nn::conv2d(x, filter, {.padding = nn::Padding::kValid});
        return with_gradients(y, weights, tape, {x, filter});
      },
      1e-4);
}

}  // namespace
}  // namespace tandem::testing
