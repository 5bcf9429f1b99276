// Batch normalisation in compiled functions on a real GPU: with relu inside, forwards and
// backwards, it gives what the single ops give.
#include <cmath>

#include "gpu/gpu.h"
#include "tandem/function.h"

namespace tandem::testing {
namespace {

using Tensors = std::vector<Tensor>;

class CudaNorm : public GpuTest {
 protected:
  /// Numbers in [-1, 1), the same every time.
  Tensor values(const Shape& shape, DType dtype = float32) {
    Floats v(static_cast<size_t>(shape.num_elements()));
    for (float& x : v) {
      state_ = state_ * 1664525u + 1013904223u;
      x = static_cast<float>(static_cast<int>(state_ >> 20) - 2048) / 2048;
    }
    return cast(constant(v, shape), dtype);
  }
  /// Tensors of a layer: x, scale, offset, dy, and another one of x's shape.
  Tensors layer(const Shape& shape, DType dtype) {
    const Shape c{shape.dim(-1)};
    return {values(shape, dtype), values(c) + 1.5f, values(c), values(shape, dtype),
            values(shape, dtype)};
  }
  static std::vector<Floats> numbers(const Tensors& list) {
    std::vector<Floats> all;
    for (const Tensor& t : list) all.push_back(floats(cast(t, float32)));
    return all;
  }
  /// The largest difference, relative to the largest number.
  static double distance(const Floats& a, const Floats& b) {
    EXPECT_EQ(a.size(), b.size());
    double largest = 1e-30, worst = 0;
    for (size_t i = 0; i < a.size(); ++i) {
      largest = std::max(largest, std::fabs(double{a[i]}));
      const double error = std::fabs(double{a[i]} - double{b[i]});
      worst = std::isnan(error) ? INFINITY : std::max(worst, error);
    }
    return worst / largest;
  }

  uint32_t state_ = 5;
};

// Rows that are no multiple of anything, one block and many, wide and narrow channels.
const std::vector<Shape>& shapes() {
  static const std::vector<Shape> all = {
      {5, 24}, {3, 7, 7, 2048}, {61, 29, 31, 64}, {8, 56, 56, 256}, {40007, 8}};
  return all;
}

TEST_F(CudaNorm, WithReluGradientsHaveTheBitsOfSingleOps) {
  const DeviceScope scope("/GPU:0");
  const auto body = [](Tensor x, Tensor scale, Tensor offset, Tensor dy) -> Tensors {
    GradientTape tape;
    const Tensors by = {x, scale, offset};
    for (const Tensor& t : by) tape.watch(t);
    const Tensor y = nn::relu(nn::fused_batch_norm(x, scale, offset).y);
    Tensors all = {y};
    for (const auto& g : tape.gradient(y, by, {.output_gradients = {dy}})) {
      all.push_back(g.dense());
    }
    return all;
  };
  for (DType dtype : {float32, half, bf16}) {
    const auto compiled = function(body);
    for (const Shape& shape : shapes()) {
      const Tensors t = layer(shape, dtype);
      const auto want = numbers(body(t[0], t[1], t[2], t[3]));
      EXPECT_EQ(want, numbers(compiled(t[0], t[1], t[2], t[3])))
          << shape.debug_str() << " " << dtype_name(dtype);
    }
    EXPECT_NE(compiled.explain().find("Relu_BatchNormGrad"), std::string::npos);
  }
}

// What goes to the shortcut is dy where the result is positive, exactly.
TEST_F(CudaNorm, AShortcutGetsWhatReluLeaves) {
  const DeviceScope scope("/GPU:0");
  const auto body = [](Tensor x, Tensor scale, Tensor offset, Tensor dy,
                       Tensor side) -> Tensors {
    GradientTape tape;
    const Tensors by = {x, scale, offset, side};
    for (const Tensor& t : by) tape.watch(t);
    const Tensor y = nn::relu(nn::fused_batch_norm(x, scale, offset).y + side);
    Tensors all = {y};
    for (const auto& g : tape.gradient(y, by, {.output_gradients = {dy}})) {
      all.push_back(g.dense());
    }
    return all;
  };
  const auto compiled = function(body);
  for (const Shape& shape : shapes()) {
    const Tensors t = layer(shape, float32);
    const auto want = numbers(body(t[0], t[1], t[2], t[3], t[4]));
    const auto got = numbers(compiled(t[0], t[1], t[2], t[3], t[4]));
    EXPECT_EQ(want[0], got[0]) << shape.debug_str();
    EXPECT_EQ(want[4], got[4]) << shape.debug_str();
    for (const size_t k : {1, 2, 3}) {
      EXPECT_LE(distance(want[k], got[k]), 1e-4) << shape.debug_str() << " " << k;
    }
  }
  EXPECT_NE(compiled.explain().find("Relu_BatchNormGrad"), std::string::npos);
}

TEST_F(CudaNorm, GradientsOfTwoUsersAreAdded) {
  const DeviceScope scope("/GPU:0");
  const auto body = [](Tensor x, Tensor scale, Tensor offset, Tensor a,
                       Tensor b) -> Tensors {
    GradientTape tape;
    const Tensors by = {x, scale, offset};
    for (const Tensor& t : by) tape.watch(t);
    const Tensor y = nn::relu(nn::fused_batch_norm(x, scale, offset).y);
    Tensors all;
    const Tensor loss =
        reduce_sum(square(matmul(y, a))) + reduce_sum(square(matmul(y, b)));
    for (const auto& g : tape.gradient(loss, by)) all.push_back(g.dense());
    return all;
  };
  for (DType dtype : {float32, bf16}) {
    const auto compiled = function(body);
    for (const Shape& shape : {Shape{5, 24}, Shape{3001, 256}}) {
      const Tensors t = layer(shape, dtype);
      const Tensor a = values({shape[1], shape[1]}, dtype),
                   b = values({shape[1], shape[1]}, dtype);
      const auto want = numbers(body(t[0], t[1], t[2], a, b));
      const auto got = numbers(compiled(t[0], t[1], t[2], a, b));
      for (const size_t k : {0, 1, 2}) {
        EXPECT_LE(distance(want[k], got[k]), dtype == bf16 ? 3e-2 : 1e-3)
            << shape.debug_str() << " " << dtype_name(dtype) << " " << k;
      }
    }
    EXPECT_NE(compiled.explain().find("Add_Relu_BatchNormGrad"), std::string::npos);
  }
}

// The same bits every time, on memory that other work has used meanwhile.
TEST_F(CudaNorm, TheSameEveryTime) {
  const DeviceScope scope("/GPU:0");
  const Tensors t = layer({16, 56, 56, 64}, float32);
  const auto run = [&] {
    GradientTape tape;
    tape.watch(t[0]);
    const auto n = nn::fused_batch_norm(t[0], t[1], t[2]);
    const Tensor dx = tape.gradient(n.y, t[0], {.output_gradients = {t[3]}}).dense();
    return numbers({n.y, n.batch_mean, n.batch_variance, dx});
  };
  const auto first = run();
  for (int turn = 0; turn < 5; ++turn) EXPECT_EQ(first, run());
}

}  // namespace
}  // namespace tandem::testing
