// Losses with Keras's formulas: one value per sample (mean over the last axis, or the
// cross entropy over classes), then reduced over samples.
#pragma once

#include "tandem/tensor.h"

namespace tandem::losses {

enum class Reduction {
  kMean,  // over all samples; Keras's sum_over_batch_size
  kSum,
  kNone,  // one value per sample
};

struct LossOptions {
  Reduction reduction = Reduction::kMean;
  /// Multiplies the value of each sample; the mean still counts every sample once. May be
  /// undefined.
  Tensor sample_weight = {};
};

struct CrossentropyOptions {
  /// Predictions are logits instead of probabilities.
  bool from_logits = false;
  /// Moves targets toward equal probabilities by this share.
  double label_smoothing = 0;
  Reduction reduction = Reduction::kMean;
  Tensor sample_weight = {};
};

/// Targets [b…] (or [b…, 1]) are class numbers, predictions [b…, classes]. Label
/// smoothing needs probabilities as targets and is refused.
Tensor sparse_categorical_crossentropy(const Tensor& targets, const Tensor& predictions,
                                       const CrossentropyOptions& options = {});
/// Targets are probabilities [b…, classes].
Tensor categorical_crossentropy(const Tensor& targets, const Tensor& predictions,
                                const CrossentropyOptions& options = {});
/// Independent probabilities, mean over the last axis.
Tensor binary_crossentropy(const Tensor& targets, const Tensor& predictions,
                           const CrossentropyOptions& options = {});

Tensor mean_squared_error(const Tensor& targets, const Tensor& predictions,
                          const LossOptions& options = {});
Tensor mean_absolute_error(const Tensor& targets, const Tensor& predictions,
                           const LossOptions& options = {});

struct HuberOptions {
  /// Quadratic for errors up to it, linear beyond.
  double delta = 1;
  Reduction reduction = Reduction::kMean;
  Tensor sample_weight = {};
};
Tensor huber(const Tensor& targets, const Tensor& predictions,
             const HuberOptions& options = {});

}  // namespace tandem::losses
