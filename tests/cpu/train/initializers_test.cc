// First values: bounds, spread, orthogonality, and that seeds decide them.
#include "reference.h"
#include "tandem/train.h"

namespace tandem {
namespace {

double variance_of(const Tensor& t) { return reduce_variance(t).item<float>(); }

TEST(Initializers, GlorotFollowsTheFans) {
  const double dense_limit = std::sqrt(6.0 / 300);
  const Tensor dense = initializers::glorot_uniform({100, 200}, 5);
  EXPECT_LE(reduce_max(abs(dense)).item<float>(), dense_limit);
  EXPECT_NEAR(variance_of(dense) / (dense_limit * dense_limit / 3), 1, 0.05);
  // A 3×3 window counts nine times on both sides.
  const double filter_limit = std::sqrt(6.0 / (9 * 96));
  const Tensor filters = initializers::glorot_uniform({3, 3, 32, 64}, 5);
  EXPECT_LE(reduce_max(abs(filters)).item<float>(), filter_limit);
  EXPECT_NEAR(variance_of(filters) / (filter_limit * filter_limit / 3), 1, 0.05);
}

TEST(Initializers, HeNormalHasItsVarianceAfterTheCut) {
  const Tensor w = initializers::he_normal({200, 300}, 7);
  EXPECT_NEAR(variance_of(w) / (2.0 / 200), 1, 0.05);
}

TEST(Initializers, OrthogonalIs) {
  for (const Shape& shape : {Shape{4, 7}, Shape{7, 4}, Shape{5, 5}, Shape{2, 3, 4}}) {
    const Tensor w = reshape(initializers::orthogonal(shape, 3), {-1, shape.dim(-1)});
    const bool wide = w.dim(0) < w.dim(1);
    const Tensor product = matmul(w, w, {.transpose_a = !wide, .transpose_b = wide});
    const Tensor error = reduce_max(abs(product - eye(product.dim(0))));
    EXPECT_LT(error.item<float>(), 1e-5) << shape.str();
  }
  EXPECT_THROW(initializers::orthogonal({3}), ValueError);
}

TEST(Initializers, ConstantInEveryFloat) {
  for (DType dtype : {half, bf16, float32, float64}) {
    const Tensor t = initializers::constant({2, 2}, 0.5, dtype);
    EXPECT_EQ(t.dtype(), dtype);
    EXPECT_EQ(cast(t, float32).to_vector<float>(), (std::vector<float>{.5, .5, .5, .5}));
  }
  EXPECT_EQ(initializers::constant({}, 3, int64).item<int64_t>(), 3);
}

TEST(Initializers, SeedsDecide) {
  random::set_seed(1);
  const auto first = initializers::uniform({8}, 0.05, 9).to_vector<float>();
  EXPECT_NE(initializers::uniform({8}, 0.05, 10).to_vector<float>(), first);
  random::set_seed(1);
  EXPECT_EQ(initializers::uniform({8}, 0.05, 9).to_vector<float>(), first);
}

}  // namespace
}  // namespace tandem
