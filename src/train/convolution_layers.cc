// Layers over images: convolution and batch normalisation.
#include <fmt/format.h>

#include "tandem/ops.h"
#include "tandem/train/initializers.h"
#include "tandem/train/layers.h"
#include "train/compute_dtype.h"

namespace tandem::layers {

Conv2D::Conv2D(int64_t inputs, int64_t filters, Size kernel_size, Conv2DOptions options)
    : attrs{.strides = options.strides,
            .padding = options.padding,
            .explicit_paddings = options.explicit_paddings,
            .dilations = options.dilations},
      activation(std::move(options.activation)) {
  if (options.groups < 1 || inputs % options.groups || filters % options.groups) {
    throw ValueError(
        fmt::format("Conv2D: {} input channels and {} filters cannot be cut into {} "
                    "groups. Use a number that divides both.",
                    inputs, filters, options.groups));
  }
  const Shape shape{kernel_size.height, kernel_size.width, inputs / options.groups,
                    filters};
  kernel = Variable(initializers::glorot_uniform(shape, options.seed),
                    {.name = options.name + "/kernel"});
  if (options.use_bias) {
    bias =
        Variable(initializers::constant({filters}, 0), {.name = options.name + "/bias"});
  }
}

Tensor Conv2D::operator()(const Tensor& x) const {
  Tensor y = nn::conv2d(x, as_input(kernel, x), attrs);
  if (bias.defined()) y = nn::bias_add(y, as_input(bias, x));
  return activation ? activation(y) : y;
}

std::vector<Variable> Conv2D::variables() const {
  if (!bias.defined()) return {kernel};
  return {kernel, bias};
}

BatchNorm::BatchNorm(int64_t channels, BatchNormOptions options)
    : gamma(initializers::constant({channels}, 1), {.name = options.name + "/gamma"}),
      beta(initializers::constant({channels}, 0), {.name = options.name + "/beta"}),
      moving_mean(initializers::constant({channels}, 0),
                  {.name = options.name + "/moving_mean", .trainable = false}),
      moving_variance(initializers::constant({channels}, 1),
                      {.name = options.name + "/moving_variance", .trainable = false}),
      momentum(options.momentum),
      epsilon(options.epsilon) {}

namespace {

/// The fused op wants images.
Tensor as_image(const Tensor& x) {
  return x.rank() == 4 ? x : reshape(x, {-1, 1, 1, x.dim(-1)});
}

/// (n - 1) / n for n values per channel: what turns the fused op's unbiased variance into
/// the batch's own, which Keras's moving average follows.
Tensor bias_factor(const Tensor& x, const Tensor& channels) {
  if (x.shape().is_known()) {
    const auto n = static_cast<double>(x.num_elements() / x.dim(-1));
    return scalar((n - 1) / n, channels.dtype());
  }
  const Tensor n =
      cast(size(x), channels.dtype()) / cast(size(channels), channels.dtype());
  return (n - 1) / n;
}

}  // namespace

Tensor BatchNorm::operator()(const Tensor& x, bool training) const {
  if (!training) {
    const auto result =
        nn::fused_batch_norm(as_image(x), gamma, beta, moving_mean, moving_variance,
                             {.epsilon = epsilon, .is_training = false});
    return x.rank() == 4 ? result.y : reshape_like(result.y, x);
  }
  const auto result =
      nn::fused_batch_norm(as_image(x), gamma, beta, {}, {}, {.epsilon = epsilon});
  const Tensor variance = result.batch_variance * bias_factor(x, result.batch_variance);
  Variable mean_average = moving_mean, variance_average = moving_variance;
  mean_average.assign(mean_average * momentum + result.batch_mean * (1 - momentum));
  variance_average.assign(variance_average * momentum + variance * (1 - momentum));
  return x.rank() == 4 ? result.y : reshape_like(result.y, x);
}

std::vector<Variable> BatchNorm::variables() const { return {gamma, beta}; }

std::vector<Variable> BatchNorm::state() const {
  return {gamma, beta, moving_mean, moving_variance};
}

}  // namespace tandem::layers
