// Connectionist temporal classification: the loss of label sequences that are not aligned
// with their inputs, and the decoders. Logits are [time, batch, classes].
#pragma once

#include "tandem/ops/attrs.h"
#include "tandem/tensor.h"

namespace tandem::nn {

struct CtcAttrs {
  /// The class that stands for no label; a negative one counts from the end.
  int64_t blank_index = 0;
  TANDEM_ATTRS(CtcAttrs, blank_index)
};
/// -log p(labels | logits) of each example [batch]. `labels` [batch, width] are padded
/// behind `label_length`; both lengths are [batch].
Tensor ctc_loss(const Tensor& logits, const Tensor& labels, const Tensor& logit_length,
                const Tensor& label_length, CtcAttrs attrs = {});

struct CtcDecoded {
  /// int64 [paths, batch, time], padded with -1.
  Tensor labels;
  /// [batch, paths].
  Tensor score;
};

struct CtcGreedyAttrs {
  bool merge_repeated = true;
  int64_t blank_index = -1;
  TANDEM_ATTRS(CtcGreedyAttrs, merge_repeated, blank_index)
};
/// The best class of each step; the score is minus the sum of their logits.
CtcDecoded ctc_greedy_decode(const Tensor& logits, const Tensor& logit_length,
                             CtcGreedyAttrs attrs = {});

struct CtcBeamAttrs {
  int64_t beam_width = 100;
  int64_t top_paths = 1;
  TANDEM_ATTRS(CtcBeamAttrs, beam_width, top_paths)
};
/// The most probable label sequences, best first; the last class is the blank. The score
/// is the logarithm of the probability.
CtcDecoded ctc_beam_decode(const Tensor& logits, const Tensor& logit_length,
                           CtcBeamAttrs attrs = {});

}  // namespace tandem::nn
