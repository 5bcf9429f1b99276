// Second derivatives through nested tapes: the Hessian of w·f(x) times a direction,
// against central differences of the first gradient.
#include <string>

#include <gtest/gtest.h>

#include "support/numeric.h"

namespace tandem {
namespace {

using testing::Function;
using testing::sample;

struct Case {
  std::string name;
  Function f;
  Shape shape;
  double low = -1, high = 1;
};

std::vector<Case> cases() {
  const auto m = [] { return sample({3, 2}, 90); };
  return {
      {"square", [](const Tensor& x) { return square(x); }, {4}},
      {"exp", [](const Tensor& x) { return exp(x); }, {4}},
      {"log", [](const Tensor& x) { return log(x); }, {4}, 0.5, 2},
      {"sqrt", [](const Tensor& x) { return sqrt(x); }, {4}, 0.5, 2},
      {"tanh", [](const Tensor& x) { return tanh(x); }, {4}},
      {"sigmoid", [](const Tensor& x) { return sigmoid(x); }, {4}},
      {"pow", [](const Tensor& x) { return pow(x, x); }, {4}, 0.5, 2},
      {"divide", [](const Tensor& x) { return 1.0 / x + x / (x * x + 1); }, {4}, 0.5, 2},
      {"broadcast", [](const Tensor& x) { return x * reshape(x, Shape{3, 1}); }, {3}},
      {"maximum", [](const Tensor& x) { return maximum(x * x, x); }, {6}},
      {"where",
       [](const Tensor& x) { return where(greater(x, zeros_like(x)), x * x, exp(x)); },
       {6}},
      {"matmul", [m](const Tensor& x) { return matmul(x * x, m()); }, {2, 3}},
      {"matmul with itself",
       [](const Tensor& x) { return matmul(x, x, {.transpose_b = true}); },
       {2, 3}},
      {"transpose",
       [](const Tensor& x) { return transpose(x) * reshape(x, Shape{3, 2}); },
       {2, 3}},
      {"concat",
       [](const Tensor& x) { return concat({x * x, exp(x)}, {.axis = 1}); },
       {2, 3}},
      {"slice",
       [](const Tensor& x) {
         return exp(slice(x, {0, 1}, {2, 2})) * slice(x, {0, 0}, {2, 2});
       },
       {2, 3}},
      {"stack", [](const Tensor& x) { return stack({x * x, x}, {.axis = 1}) * 2; }, {4}},
      {"gather",
       [](const Tensor& x) { return exp(gather(x, constant({1, 0, 1}))); },
       {3, 2}},
      {"pad", [](const Tensor& x) { return exp(pad(x * x, {{1, 0}})); }, {3}},
      {"tile", [](const Tensor& x) { return exp(tile(x, {2})) * tile(x, {2}); }, {3}},
      {"reduce_sum",
       [](const Tensor& x) { return exp(reduce_sum(x, {.axis = {0}})); },
       {2, 3}},
      {"reduce_mean",
       [](const Tensor& x) { return square(reduce_mean(x * x, {.axis = {1}})); },
       {2, 3}},
      {"reduce_prod",
       [](const Tensor& x) { return reduce_prod(x, {.axis = {1}}); },
       {2, 3},
       0.5,
       2},
      {"reduce_max",
       [](const Tensor& x) { return exp(reduce_max(x, {.axis = {1}})); },
       {2, 3}},
      {"softmax", [](const Tensor& x) { return nn::softmax(x); }, {2, 3}},
      {"log_softmax", [](const Tensor& x) { return nn::log_softmax(x); }, {2, 3}},
      {"sparse cross-entropy",
       [](const Tensor& x) {
         return nn::sparse_softmax_cross_entropy(constant({2, 0}), x);
       },
       {2, 3}},
      {"relu", [](const Tensor& x) { return nn::relu(x) * x; }, {6}},
      {"inv",
       [](const Tensor& x) { return linalg::inv(x + eye(2, float64) * 3); },
       {2, 2}},
      {"det",
       [](const Tensor& x) { return linalg::det(x + eye(3, float64) * 3); },
       {3, 3}},
      {"cholesky",
       [](const Tensor& x) {
         return linalg::cholesky(matmul(x, x, {.transpose_b = true}) + eye(2, float64));
       },
       {2, 2}},
  };
}

class SecondDerivative : public ::testing::TestWithParam<Case> {};

TEST_P(SecondDerivative, MatchesDifferencesOfTheFirst) {
  const Case& c = GetParam();
  const Tensor x = sample(c.shape, 11, c.low, c.high);
  const Tensor direction = sample(c.shape, 12);
  const Tensor weights = sample(c.f(x).shape(), 13);
  const Function first = [&](const Tensor& at) {
    GradientTape tape;
    tape.watch(at);
    return tape.gradient(c.f(at) * weights, {at})[0].dense();
  };
  testing::expect_close(
      first(x),
      testing::numeric_jacobian(
          [&](const Tensor& at) { return reduce_sum(c.f(at) * weights); }, x),
      1e-5);
  GradientTape outer;
  outer.watch(x);
  const Tensor g = first(x);
  const auto [hessian] = outer.gradient(
      g, {x}, {.unconnected = Unconnected::kZero, .output_gradients = {direction}});
  testing::expect_close(hessian, testing::numeric_directional(first, x, direction), 1e-5);
}

INSTANTIATE_TEST_SUITE_P(Ops, SecondDerivative, ::testing::ValuesIn(cases()),
                         [](const auto& tested) {
                           std::string name = tested.param.name;
                           for (char& ch : name) {
                             if (!std::isalnum(static_cast<unsigned char>(ch))) ch = '_';
                           }
                           return name;
                         });

}  // namespace
}  // namespace tandem
