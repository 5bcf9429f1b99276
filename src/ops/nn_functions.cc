// Functions of the nn family that are written with other ops.
#include <cmath>
#include <numbers>

#include <fmt/format.h>

#include "ops/random_draw.h"
#include "tandem/ops.h"

namespace tandem::nn {

// ---- Normalisation ----

Tensor batch_normalization(const Tensor& x, const Tensor& mean, const Tensor& variance,
                           const Tensor& offset, const Tensor& scale, double epsilon) {
  Tensor factor = rsqrt(variance + epsilon);
  if (scale.defined()) factor = factor * scale;
  const Tensor shift =
      offset.defined() ? offset - mean * factor : negative(mean * factor);
  // Moments are often float32 while x has half the precision.
  const auto like_x = [&](const Tensor& t) {
    return t.dtype() == x.dtype() ? t : cast(t, x.dtype());
  };
  return x * like_x(factor) + like_x(shift);
}

Moments moments(const Tensor& x, MomentsAttrs attrs) {
  const bool is_half = x.dtype() == DType::kFloat16 || x.dtype() == DType::kBFloat16;
  const Tensor y = is_half ? cast(x, DType::kFloat32) : x;
  const ReduceAttrs kept{
      .axis = attrs.axis, .keepdims = true, .no_axes = attrs.axis.empty()};
  Tensor mean = reduce_mean(y, kept);
  Tensor variance = reduce_mean(square(y - mean), kept);
  if (!attrs.keepdims && !attrs.axis.empty()) {
    mean = squeeze(mean, {attrs.axis});
    variance = squeeze(variance, {attrs.axis});
  }
  if (is_half) return {cast(mean, x.dtype()), cast(variance, x.dtype())};
  return {mean, variance};
}

Moments normalize_moments(const Tensor& counts, const Tensor& mean_ss,
                          const Tensor& variance_ss, const Tensor& shift) {
  const Tensor divisor = 1.0 / counts;
  const Tensor shifted = mean_ss * divisor;
  return {shift.defined() ? shifted + shift : shifted,
          variance_ss * divisor - square(shifted)};
}

Tensor l2_normalize(const Tensor& x, const Ints& axis, double epsilon) {
  const ReduceAttrs kept{.axis = axis, .keepdims = true};
  if (is_complex(x.dtype())) {
    const DType real_type = real_dtype(x.dtype());
    const Tensor length = abs(x);
    const Tensor factor =
        rsqrt(maximum(reduce_sum(square(length), kept), scalar(epsilon, real_type)));
    return x * cast(factor, x.dtype());
  }
  return x * rsqrt(maximum(reduce_sum(square(x), kept), scalar(epsilon, x.dtype())));
}

Tensor local_response_normalization(const Tensor& input, LrnAttrs attrs) {
  const Tensor x =
      input.shape().has_rank() ? input : ensure_shape(input, Shape({-1, -1, -1, -1}));
  if (x.shape().has_rank() && x.rank() != 4) {
    throw InvalidArgumentError(
        fmt::format("LRN: in must be 4-dimensional: {}", x.shape().debug_str()));
  }
  if (attrs.depth_radius < 0 || attrs.depth_radius >= INT32_MAX) {
    throw InvalidArgumentError(fmt::format(
        "LRN: depth_radius = {} must be at least 0 and less than {}. Give the number of "
        "neighbours on each side.",
        attrs.depth_radius, INT32_MAX));
  }
  // Sums over neighbouring channels: a convolution with ones along the channels. No more
  // neighbours than there are channels.
  const Tensor channels = slice(shape(x, {DType::kInt64}), {3}, {1});
  const Tensor taps =
      minimum(channels * scalar(2L, DType::kInt64) + scalar(1L, DType::kInt64),
              scalar(2 * static_cast<long>(attrs.depth_radius) + 1, DType::kInt64));
  const Tensor window =
      fill(concat({taps, constant(std::vector<int64_t>{1, 1})}, {.axis = 0}),
           scalar(1.0, x.dtype()));
  const Tensor line = reshape(
      square(x), concat({constant(std::vector<int32_t>{-1}), slice(shape(x), {3}, {1}),
                         constant(std::vector<int32_t>{1})},
                        {.axis = 0}));
  const Tensor sums = conv1d(line, window, {.padding = Padding::kSame});
  const Tensor base = reshape_like(sums, x) * attrs.alpha + attrs.bias;
  return x * pow(base, scalar(-attrs.beta, x.dtype()));
}

// ---- Losses ----

namespace {
void check_same_shape(const char* op, const Tensor& logits, const Tensor& labels) {
  if (logits.shape().compatible_with(labels.shape())) return;
  throw ValueError(
      fmt::format("{}: `logits` and `labels` must have the same shape, received "
                  "({} vs {}).",
                  op, logits.shape().str(), labels.shape().str()));
}
}  // namespace

Tensor sigmoid_cross_entropy(const Tensor& labels, const Tensor& logits) {
  check_same_shape("sigmoid_cross_entropy", logits, labels);
  // max(x, 0) - x z + log(1 + exp(-|x|)), whose gradient at 0 is 1/2 - z.
  const Tensor zero = zeros_like(logits);
  const Tensor positive = logits >= zero;
  const Tensor clipped = where(positive, logits, zero);
  const Tensor neg_abs = where(positive, negative(logits), logits);
  return clipped - logits * labels + log1p(exp(neg_abs));
}

Tensor weighted_cross_entropy(const Tensor& labels, const Tensor& logits,
                              const Tensor& pos_weight) {
  check_same_shape("weighted_cross_entropy", logits, labels);
  const Tensor weight = 1.0 + (pos_weight - 1.0) * labels;
  return (1.0 - labels) * logits +
         weight * (log1p(exp(negative(abs(logits)))) + relu(negative(logits)));
}

Tensor log_poisson_loss(const Tensor& targets, const Tensor& log_input,
                        bool compute_full_loss) {
  check_same_shape("log_poisson_loss", log_input, targets);
  Tensor result = exp(log_input) - log_input * targets;
  if (!compute_full_loss) return result;
  const Tensor stirling =
      targets * log(targets) - targets + 0.5 * log(2.0 * std::numbers::pi * targets);
  const Tensor zero = zeros_like(targets), one = ones_like(targets);
  const Tensor small = logical_and(targets >= zero, targets <= one);
  return result + where(small, zero, stirling);
}

// ---- Dropout ----

namespace {

Shape decision_shape(const Tensor& x, const Ints& noise_shape) {
  if (noise_shape.empty()) return x.shape();
  Shape result(std::span<const int64_t>{noise_shape});
  if (!x.shape().has_rank() || result.rank() != x.rank()) return result;
  for (int i = 0; i < result.rank(); ++i) {
    if (result[i] < 0) result.set(i, x.shape()[i]);
  }
  return result;
}

void check_dropout(const Tensor& x, double rate) {
  if (!(rate >= 0 && rate < 1)) {
    throw ValueError(
        fmt::format("dropout: `rate` must be a scalar tensor or a float in the range [0, "
                    "1). Received: "
                    "rate={}",
                    rate));
  }
  if (!is_floating(x.dtype())) {
    throw ValueError(
        fmt::format("dropout: `x.dtype` must be a floating point tensor as `x` "
                    "will be scaled. Received: x.dtype={}",
                    dtype_name(x.dtype())));
  }
}

Tensor apply_dropout(const Tensor& x, const Tensor& uniform, double rate) {
  const Tensor kept = uniform >= scalar(rate, uniform.dtype());
  return where(kept, x * (1 / (1 - rate)), zeros_like(x));
}

}  // namespace

Tensor dropout(const Tensor& x, DropoutAttrs attrs) {
  check_dropout(x, attrs.rate);
  if (attrs.rate == 0) return x;
  const Shape decisions = decision_shape(x, attrs.noise_shape);
  if (decisions.is_known()) {
    return apply_dropout(
        x, random::uniform(decisions, {.dtype = x.dtype(), .seed = attrs.seed}),
        attrs.rate);
  }
  // A traced call with unknown dimensions: the numbers take x's shape when it runs.
  if (!attrs.noise_shape.empty()) {
    throw InvalidArgumentError(
        fmt::format("dropout: noise_shape {} needs the dimensions of x, which are {}",
                    decisions.str(), x.shape().str()));
  }
  return apply_dropout(
      x, random::uniform_like(x, draw_for("Dropout", attrs.seed, x, 256)), attrs.rate);
}

Tensor stateless_dropout(const Tensor& x, random::Seed2 seed, DropoutAttrs attrs) {
  check_dropout(x, attrs.rate);
  if (attrs.rate == 0) return x;
  const Shape decisions = decision_shape(x, attrs.noise_shape);
  return apply_dropout(
      x, random::stateless_uniform(decisions, seed, {.dtype = x.dtype()}), attrs.rate);
}

}  // namespace tandem::nn
