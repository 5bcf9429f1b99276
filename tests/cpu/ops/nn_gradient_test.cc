// Gradients of nn functions whose ops have outputs that are not differentiated, and
// second derivatives: tapes against differences.
#include <cmath>
#include <functional>
#include <random>

#include <gtest/gtest.h>

#include "tandem/tandem.h"

namespace tandem {
namespace {

using Tensors = std::vector<Tensor>;
using Function = std::function<Tensor(const Tensors&)>;

Tensor uniform_tensor(const Shape& shape, double low = -1, double high = 1) {
  static std::mt19937_64 random(17);
  std::uniform_real_distribution<double> uniform(low, high);
  std::vector<double> values(static_cast<size_t>(shape.num_elements()));
  for (double& v : values) v = uniform(random);
  return constant(values, shape);
}

Tensor moved(const Tensor& x, size_t element, double by) {
  std::vector<double> values = x.to_vector<double>();
  values[element] += by;
  return constant(values, x.shape());
}

// A scalar that weighs every element of t differently.
Tensor weigh(const Tensor& t) {
  std::vector<double> w(static_cast<size_t>(t.num_elements()));
  for (size_t i = 0; i < w.size(); ++i) w[i] = std::sin(static_cast<double>(i) + 1);
  return reduce_sum(t * constant(w, t.shape()));
}

void expect_gradient(const Function& f, const Tensors& inputs, double tolerance = 1e-6) {
  GradientTape tape;
  for (const Tensor& x : inputs) tape.watch(x);
  const std::vector<Gradient> grads = tape.gradient(
      f(inputs), inputs, GradientOptions{.unconnected = Unconnected::kZero});
  for (size_t k = 0; k < inputs.size(); ++k) {
    const std::vector<double> got = grads[k].dense().to_vector<double>();
    for (size_t e = 0; e < got.size(); e += got.size() / 12 + 1) {
      Tensors up = inputs, down = inputs;
      up[k] = moved(inputs[k], e, 1e-6);
      down[k] = moved(inputs[k], e, -1e-6);
      const double expected = (f(up).item<double>() - f(down).item<double>()) / 2e-6;
      ASSERT_NEAR(got[e], expected, tolerance * std::max(1.0, std::abs(expected)))
          << "input " << k << " element " << e;
    }
  }
}

// The gradient of a weighted sum of f's gradients.
Function gradient_of(const Function& f) {
  return [f](const Tensors& inputs) {
    GradientTape tape;
    for (const Tensor& x : inputs) tape.watch(x);
    const std::vector<Gradient> grads = tape.gradient(
        f(inputs), inputs, GradientOptions{.unconnected = Unconnected::kZero});
    Tensor sum = constant(0.0);
    for (const Gradient& g : grads) sum = sum + weigh(g.dense());
    return sum;
  };
}

TEST(NnGradient, BatchNormInTraining) {
  for (const auto format : {nn::DataFormat::kNHWC, nn::DataFormat::kNCHW}) {
    const Function f = [format](const Tensors& in) {
      return weigh(nn::fused_batch_norm(in[0], in[1], in[2], {}, {},
                                        {.epsilon = 0.01, .data_format = format})
                       .y);
    };
    const Tensors inputs = {uniform_tensor({2, 3, 2, 3}), uniform_tensor({3}),
                            uniform_tensor({3})};
    expect_gradient(f, inputs);
    expect_gradient(gradient_of(f), inputs, 1e-5);
  }
}

TEST(NnGradient, BatchNormInInference) {
  const Tensor mean = uniform_tensor({3}), variance = uniform_tensor({3}, 0.5, 1);
  const Function f = [&](const Tensors& in) {
    return weigh(nn::fused_batch_norm(in[0], in[1], in[2], mean, variance,
                                      {.epsilon = 0.01, .is_training = false})
                     .y);
  };
  const Tensors inputs = {uniform_tensor({4, 2, 3}), uniform_tensor({3}),
                          uniform_tensor({3})};
  expect_gradient(f, inputs);
  expect_gradient(gradient_of(f), inputs, 1e-5);
}

TEST(NnGradient, LayerNormTwice) {
  const Function f = [](const Tensors& in) {
    return weigh(square(nn::layer_normalization(in[0], in[1], in[2], {.epsilon = 0.01})));
  };
  const Tensors inputs = {uniform_tensor({3, 5}), uniform_tensor({5}),
                          uniform_tensor({5})};
  expect_gradient(f, inputs);
  expect_gradient(gradient_of(f), inputs, 1e-5);
}

TEST(NnGradient, LayerNormOverLeadingAxis) {
  const Function f = [](const Tensors& in) {
    return weigh(nn::layer_normalization(in[0], in[1], in[2], {.axis = {0, 2}}));
  };
  expect_gradient(
      f, {uniform_tensor({3, 2, 4}), uniform_tensor({3, 4}), uniform_tensor({3, 4})});
}

TEST(NnGradient, ConvolutionTwice) {
  const Function f = [](const Tensors& in) {
    return weigh(square(
        nn::conv2d(in[0], in[1], {.strides = {2}, .padding = nn::Padding::kSame})));
  };
  const Tensors inputs = {uniform_tensor({1, 5, 4, 2}), uniform_tensor({3, 2, 2, 3})};
  expect_gradient(f, inputs);
  expect_gradient(gradient_of(f), inputs, 1e-5);
}

TEST(NnGradient, PoolsTwice) {
  const Function f = [](const Tensors& in) {
    const nn::PoolAttrs attrs{
        .ksize = {2}, .strides = {1}, .padding = nn::Padding::kSame};
    return weigh(square(nn::max_pool2d(in[0], attrs)) * nn::avg_pool2d(in[0], attrs));
  };
  const Tensors inputs = {uniform_tensor({1, 4, 4, 2})};
  expect_gradient(f, inputs);
  expect_gradient(gradient_of(f), inputs, 1e-5);
}

TEST(NnGradient, SoftmaxAndLossesTwice) {
  const Tensor labels = nn::softmax(uniform_tensor({3, 4}));
  const Function f = [&](const Tensors& in) {
    return weigh(nn::softmax(in[0], {0})) + weigh(square(nn::log_softmax(in[0]))) +
           weigh(square(nn::softmax_cross_entropy(labels, in[0]))) +
           weigh(square(nn::sparse_softmax_cross_entropy(
               constant(std::vector<int32_t>{0, 3, 1}), in[0])));
  };
  expect_gradient(f, {uniform_tensor({3, 4})});
  expect_gradient(gradient_of(f), {uniform_tensor({3, 4})}, 1e-5);
}

TEST(NnGradient, Attention) {
  const Tensor mask = constant(std::vector<bool>{true, true, false, true, true, false},
                               Shape{1, 1, 2, 3});
  const Function f = [&](const Tensors& in) {
    return weigh(nn::scaled_dot_product_attention(in[0], in[1], in[2], mask, in[3]));
  };
  expect_gradient(f, {uniform_tensor({2, 2, 4, 3}), uniform_tensor({2, 3, 2, 3}),
                      uniform_tensor({2, 3, 2, 5}), uniform_tensor({4, 1, 3})});
  const Tensors inputs = {uniform_tensor({1, 2, 2, 3}), uniform_tensor({1, 3, 2, 3}),
                          uniform_tensor({1, 3, 2, 2}), uniform_tensor({2, 1, 3})};
  expect_gradient(gradient_of(f), inputs, 1e-5);
}

TEST(NnGradient, AttentionCausalHeadsFirst) {
  const Function f = [&](const Tensors& in) {
    return weigh(nn::scaled_dot_product_attention(in[0], in[1], in[2], {}, {},
                                                  {.causal = true, .heads_first = true}));
  };
  const Tensors inputs = {uniform_tensor({1, 2, 4, 3}), uniform_tensor({1, 2, 4, 3}),
                          uniform_tensor({1, 2, 4, 3})};
  expect_gradient(f, inputs);
  expect_gradient(gradient_of(f), inputs, 1e-5);
}

TEST(NnGradient, Lstm) {
  const Tensor mask =
      constant(std::vector<bool>{false, true, true, true, false, true}, Shape{2, 3});
  for (const bool masked : {false, true}) {
    const Function f = [&](const Tensors& in) {
      const nn::LstmResult r =
          nn::lstm(in[0], in[1], in[2], in[3], in[4], in[5], masked ? mask : Tensor(),
                   {.go_backwards = masked});
      return weigh(r.sequence) + weigh(square(r.h)) + weigh(r.c);
    };
    expect_gradient(
        f, {uniform_tensor({2, 3, 2}), uniform_tensor({2, 12}), uniform_tensor({3, 12}),
            uniform_tensor({12}), uniform_tensor({2, 3}), uniform_tensor({2, 3})});
  }
}

TEST(NnGradient, Gru) {
  const Tensor mask =
      constant(std::vector<bool>{false, true, true, true, false, true}, Shape{2, 3});
  for (const bool masked : {false, true}) {
    const Function f = [&](const Tensors& in) {
      const nn::GruResult r = nn::gru(in[0], in[1], in[2], in[3], in[4],
                                      masked ? mask : Tensor(), {.go_backwards = masked});
      return weigh(r.sequence) + weigh(square(r.h));
    };
    expect_gradient(
        f, {uniform_tensor({2, 3, 2}), uniform_tensor({2, 9}), uniform_tensor({3, 9}),
            uniform_tensor({2, 9}), uniform_tensor({2, 3})});
  }
}

TEST(NnGradient, FunctionsOfOtherOps) {
  const Function f = [](const Tensors& in) {
    const nn::Moments m = nn::moments(in[0], {.axis = {0, 1}});
    return weigh(nn::sigmoid_cross_entropy(in[1], in[0])) +
           weigh(nn::weighted_cross_entropy(in[1], in[0], constant(2.0))) +
           weigh(nn::log_poisson_loss(in[1], in[0], true)) + weigh(m.variance) +
           weigh(nn::l2_normalize(in[0], {1})) +
           weigh(nn::batch_normalization(in[0], m.mean, m.variance, m.mean, m.variance,
                                         0.1));
  };
  expect_gradient(f, {uniform_tensor({2, 3, 2}), uniform_tensor({2, 3, 2}, 0.1, 0.9)});
}

TEST(NnGradient, LocalResponseNormalization) {
  const Function f = [](const Tensors& in) {
    return weigh(nn::local_response_normalization(
        in[0], {.depth_radius = 1, .bias = 1.5, .alpha = 0.5, .beta = 0.75}));
  };
  expect_gradient(f, {uniform_tensor({1, 2, 2, 5})});
}

}  // namespace
}  // namespace tandem
