// Softmax and the losses on top of it.
#pragma once

#include <optional>

#include "tandem/ops/attrs.h"
#include "tandem/tensor.h"

namespace tandem::nn {

struct SoftmaxAttrs {
  int64_t axis = -1;
  TANDEM_ATTRS(SoftmaxAttrs, axis)
};
Tensor softmax(const Tensor& logits, AxisAttrs attrs = {-1});
Tensor log_softmax(const Tensor& logits, AxisAttrs attrs = {-1});

/// Loss of each row of probabilities `labels` against `logits`; classes along `axis`.
Tensor softmax_cross_entropy(const Tensor& labels, const Tensor& logits,
                             AxisAttrs attrs = {-1});
/// Losses of integer labels [b…] against logits [b…, classes]. A label outside [0,
/// classes) is an InvalidArgumentError.
Tensor sparse_softmax_cross_entropy(const Tensor& labels, const Tensor& logits);
/// Elementwise loss of independent probabilities, without overflow for large logits.
Tensor sigmoid_cross_entropy(const Tensor& labels, const Tensor& logits);
/// The same with positive labels counted `pos_weight` times.
Tensor weighted_cross_entropy(const Tensor& labels, const Tensor& logits,
                              const Tensor& pos_weight);
/// exp(log_input) - log_input * targets, plus Stirling's approximation when asked for.
Tensor log_poisson_loss(const Tensor& targets, const Tensor& log_input,
                        bool compute_full_loss = false);

}  // namespace tandem::nn
