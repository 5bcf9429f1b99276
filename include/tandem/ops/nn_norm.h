// Normalisation: batch, layer, local response, L2, and the moments behind them.
#pragma once

#include "tandem/ops/attrs.h"
#include "tandem/ops/nn_conv.h"
#include "tandem/tensor.h"

namespace tandem::nn {

struct FusedBatchNormAttrs {
  double epsilon = 1e-4;
  /// 1: the returned moments are the batch's; f < 1: (1 - f) * given + f * batch.
  double exponential_avg_factor = 1;
  DataFormat data_format = DataFormat::kNHWC;
  bool is_training = true;
  TANDEM_ATTRS(FusedBatchNormAttrs, epsilon, exponential_avg_factor, data_format,
               is_training)
};
struct FusedBatchNorm {
  Tensor y;
  Tensor batch_mean;
  Tensor batch_variance;  // unbiased in training
};
/// Batch normalisation over all dimensions but the channels. `mean` and `variance` are
/// the running moments (may be undefined in training with exponential_avg_factor 1).
FusedBatchNorm fused_batch_norm(const Tensor& x, const Tensor& scale,
                                const Tensor& offset, const Tensor& mean = {},
                                const Tensor& variance = {},
                                const FusedBatchNormAttrs& attrs = {});

/// (x - mean) / sqrt(variance + epsilon) * scale + offset, broadcasting; scale and offset
/// may be undefined.
Tensor batch_normalization(const Tensor& x, const Tensor& mean, const Tensor& variance,
                           const Tensor& offset, const Tensor& scale, double epsilon);

struct LayerNormAttrs {
  Ints axis = {-1};
  double epsilon = 1e-3;
  TANDEM_ATTRS(LayerNormAttrs, axis, epsilon)
};
/// Normalises over `axis` and applies gamma and beta, whose shape is that of these axes
/// in increasing order; either may be undefined.
Tensor layer_normalization(const Tensor& x, const Tensor& gamma = {},
                           const Tensor& beta = {}, LayerNormAttrs attrs = {});

struct Moments {
  Tensor mean;
  Tensor variance;
};
struct MomentsAttrs {
  Ints axis = {};
  bool keepdims = false;
};
/// Mean and (population) variance over axes.
Moments moments(const Tensor& x, MomentsAttrs attrs);
/// Moments from sufficient statistics: counts, sums of (x - shift) and of (x - shift)^2.
/// `shift` may be undefined.
Moments normalize_moments(const Tensor& counts, const Tensor& mean_ss,
                          const Tensor& variance_ss, const Tensor& shift = {});

/// x / sqrt(max(sum(x^2), epsilon)) over axes.
Tensor l2_normalize(const Tensor& x, const Ints& axis = {-1}, double epsilon = 1e-12);

struct LrnAttrs {
  int64_t depth_radius = 5;
  double bias = 1;
  double alpha = 1;
  double beta = 0.5;
  TANDEM_ATTRS(LrnAttrs, depth_radius, bias, alpha, beta)
};
/// x / (bias + alpha * sum of squares over 2 * depth_radius + 1 channels) ^ beta; x is
/// [b, h, w, c].
Tensor local_response_normalization(const Tensor& x, LrnAttrs attrs = {});

}  // namespace tandem::nn
