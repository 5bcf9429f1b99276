#include "tandem/train/losses.h"

#include <fmt/format.h>

#include "tandem/error.h"
#include "tandem/ops.h"

namespace tandem::losses {

namespace {

/// Keras's fuzz factor, which keeps logarithms of probabilities finite.
constexpr double kEpsilon = 1e-7;

Tensor reduce(Tensor per_sample, Reduction reduction, const Tensor& weight) {
  if (weight.defined()) {
    per_sample = multiply(per_sample, cast(weight, per_sample.dtype()));
  }
  switch (reduction) {
    case Reduction::kMean:
      return reduce_mean(per_sample);
    case Reduction::kSum:
      return reduce_sum(per_sample);
    case Reduction::kNone:
      break;
  }
  return per_sample;
}

/// Targets in the dtype of the predictions. Of [b…] and [b…, 1] the former gets the
/// latter's shape, so that nothing broadcasts by accident.
struct Pair {
  Tensor targets, predictions;
};
Pair match(const char* loss, const Tensor& given, const Tensor& predictions) {
  Pair p{cast(given, predictions.dtype()), predictions};
  const int t = p.targets.rank(), n = predictions.rank();
  if (t < 0 || n < 0) return p;
  if (n == t + 1 && predictions.dim(-1) == 1) p.targets = expand_dims(p.targets, -1);
  if (t == n + 1 && p.targets.dim(-1) == 1) p.targets = squeeze(p.targets, {{-1}});
  if (!p.targets.shape().compatible_with(predictions.shape())) {
    throw ValueError(
        fmt::format("{}: targets and predictions must have the same shape. Received: "
                    "target shape {}, "
                    "prediction shape {}",
                    loss, given.shape().str(), predictions.shape().str()));
  }
  return p;
}

Tensor clip_probabilities(const Tensor& p) {
  return clip_by_value(p, kEpsilon, 1 - kEpsilon);
}

Tensor mean_of_last(const Tensor& x) {
  return x.rank() == 0 ? x : reduce_mean(x, {.axis = {-1}});
}

}  // namespace

Tensor sparse_categorical_crossentropy(const Tensor& targets, const Tensor& predictions,
                                       const CrossentropyOptions& o) {
  if (o.label_smoothing != 0) {
    throw ValueError(
        "sparse_categorical_crossentropy: label smoothing needs probabilities as "
        "targets. "
        "Use categorical_crossentropy with one_hot targets.");
  }
  Tensor labels = is_integer(targets.dtype()) ? targets : cast(targets, DType::kInt64);
  if (labels.rank() == predictions.rank() && labels.rank() > 0 && labels.dim(-1) == 1) {
    labels = squeeze(labels, {{-1}});
  }
  // The softmax of log-probabilities is the probabilities, scaled to a sum of 1.
  const Tensor logits =
      o.from_logits ? predictions : log(clip_probabilities(predictions));
  return reduce(nn::sparse_softmax_cross_entropy(labels, logits), o.reduction,
                o.sample_weight);
}

Tensor categorical_crossentropy(const Tensor& given, const Tensor& predictions,
                                const CrossentropyOptions& o) {
  auto [targets, output] = match("categorical_crossentropy", given, predictions);
  if (o.label_smoothing != 0) {
    const int64_t classes = output.dim(-1);
    if (classes < 0) {
      throw ValueError(
          "categorical_crossentropy: label smoothing needs a known number of classes.");
    }
    targets = targets * (1 - o.label_smoothing) +
              o.label_smoothing / static_cast<double>(classes);
  }
  if (o.from_logits) {
    return reduce(nn::softmax_cross_entropy(targets, output), o.reduction,
                  o.sample_weight);
  }
  const Tensor p = output / reduce_sum(output, {.axis = {-1}, .keepdims = true});
  return reduce(-reduce_sum(targets * log(clip_probabilities(p)), {.axis = {-1}}),
                o.reduction, o.sample_weight);
}

Tensor binary_crossentropy(const Tensor& given, const Tensor& predictions,
                           const CrossentropyOptions& o) {
  auto [targets, output] = match("binary_crossentropy", given, predictions);
  if (o.label_smoothing != 0) {
    targets = targets * (1 - o.label_smoothing) + 0.5 * o.label_smoothing;
  }
  Tensor elements;
  if (o.from_logits) {
    elements = nn::sigmoid_cross_entropy(targets, output);
  } else {
    const Tensor p = clip_probabilities(output);
    elements = -(targets * log(p) + (1 - targets) * log(1 - p));
  }
  return reduce(mean_of_last(elements), o.reduction, o.sample_weight);
}

Tensor mean_squared_error(const Tensor& given, const Tensor& predictions,
                          const LossOptions& o) {
  const auto [targets, output] = match("mean_squared_error", given, predictions);
  return reduce(mean_of_last(squared_difference(output, targets)), o.reduction,
                o.sample_weight);
}

Tensor mean_absolute_error(const Tensor& given, const Tensor& predictions,
                           const LossOptions& o) {
  const auto [targets, output] = match("mean_absolute_error", given, predictions);
  return reduce(mean_of_last(abs(output - targets)), o.reduction, o.sample_weight);
}

Tensor huber(const Tensor& given, const Tensor& predictions, const HuberOptions& o) {
  const auto [targets, output] = match("huber", given, predictions);
  const Tensor error = output - targets;
  const Tensor size = abs(error);
  const Tensor elements = where(size <= o.delta, 0.5 * square(error),
                                o.delta * size - 0.5 * o.delta * o.delta);
  return reduce(mean_of_last(elements), o.reduction, o.sample_weight);
}

}  // namespace tandem::losses
