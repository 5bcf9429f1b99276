// Jacobians against central differences.
#include <gtest/gtest.h>

#include "support/alone.h"
#include "support/numeric.h"

namespace tandem {
namespace {

using testing::expect_close;
using testing::Function;
using testing::numeric_jacobian;
using testing::sample;

TEST(Jacobian, HasTheShapeOfTargetThenSource) {
  const Tensor x = sample({2, 3}, 1);
  const Tensor m = sample({3, 4}, 2);
  const Function f = [&](const Tensor& t) { return exp(matmul(t, m)); };
  GradientTape tape;
  tape.watch(x);
  const Tensor j = tape.jacobian(f(x), x);
  EXPECT_EQ(j.shape(), (Shape{2, 4, 2, 3}));
  expect_close(j, numeric_jacobian(f, x));
}

TEST(Jacobian, OfAVariable) {
  const Variable w(constant({1.0, 2.0}));
  GradientTape tape;
  const Tensor y = w.read() * w.read();
  expect_close(tape.jacobian(y, w), {2, 0, 0, 4});
}

TEST(Jacobian, OfAScalarIsTheGradient) {
  const Tensor x = sample({3}, 3);
  GradientTape tape;
  tape.watch(x);
  const Tensor j = tape.jacobian(reduce_sum(x * x), x);
  EXPECT_EQ(j.shape(), Shape{3});
  expect_close(j, testing::values(x * 2));
}

TEST(Jacobian, UsesUpATapeThatIsNotPersistent) {
  const Tensor x = constant({1.0}), other = constant({1.0});
  GradientTape tape;
  tape.watch(x);
  const Tensor y = x * x;
  EXPECT_FALSE(tape.jacobian(y, other).defined());
  EXPECT_THROW(tape.gradient(y, {x}), RuntimeStateError);
}

TEST(Jacobian, UnconnectedGivesNothingOrZeros) {
  const Tensor x = constant({1.0, 2.0}), other = constant({1.0, 2.0, 3.0});
  GradientTape tape({.persistent = true});
  tape.watch(x);
  tape.watch(other);
  const Tensor y = x * x;
  EXPECT_FALSE(tape.jacobian(y, other).defined());
  const Tensor zero = tape.jacobian(y, other, Unconnected::kZero);
  EXPECT_EQ(zero.shape(), (Shape{2, 3}));
  expect_close(zero, std::vector<double>(6, 0));
}

TEST(Jacobian, OfNothingIsEmpty) {
  const Tensor x = constant(std::vector<double>{}, {0, 2});
  GradientTape tape;
  tape.watch(x);
  EXPECT_EQ(tape.jacobian(x * x, x, Unconnected::kZero).shape(), (Shape{0, 2, 0, 2}));
}

TEST(BatchJacobian, KeepsExamplesApart) {
  const Tensor x = sample({3, 2}, 4);
  const Tensor m = sample({2, 4}, 5);
  const Function f = [&](const Tensor& t) { return tanh(matmul(t, m)); };
  GradientTape tape;
  tape.watch(x);
  const Tensor j = tape.batch_jacobian(f(x), x);
  ASSERT_EQ(j.shape(), (Shape{3, 4, 2}));
  const std::vector<double> full = numeric_jacobian(f, x);  // [3, 4, 3, 2]
  std::vector<double> expected;
  for (size_t b = 0; b < 3; ++b) {
    for (size_t i = 0; i < 4; ++i) {
      for (size_t k = 0; k < 2; ++k)
        expected.push_back(full[((b * 4 + i) * 3 + b) * 2 + k]);
    }
  }
  expect_close(j, expected);
}

TEST(BatchJacobian, WithMoreDimensions) {
  const Tensor x = sample({2, 2, 3}, 6);
  GradientTape tape;
  tape.watch(x);
  const Tensor y = reshape(x * x, Shape{2, 6});
  const Tensor j = tape.batch_jacobian(y, x);
  EXPECT_EQ(j.shape(), (Shape{2, 6, 2, 3}));
  expect_close(reduce_sum(j), {2 * reduce_sum(x).item<double>()});
}

TEST(BatchJacobian, NeedsEqualBatches) {
  const Tensor x = sample({2, 3}, 7);
  GradientTape tape({.persistent = true});
  tape.watch(x);
  EXPECT_ERROR(
      tape.batch_jacobian(reshape(x, Shape{3, 2}), x), ValueError,
      "Need first dimension of target shape ([3,2]) and source shape ([2,3]) to match.");
  EXPECT_THROW(tape.batch_jacobian(reduce_sum(x), x), ValueError);
}

}  // namespace
}  // namespace tandem
