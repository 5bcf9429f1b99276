// Batch normalisation with its end: a tensor that is added to the result, and relu, in
// one op; and its gradient with that of relu. Graph passes make them after gradients were
// taken, so they have none. Results are those of the separate ops; in half precision they
// are rounded once instead of after each step.
#pragma once

#include <string>

#include "op/op_def.h"
#include "tandem/ops/nn_norm.h"

namespace tandem {

/// FusedBatchNormEx: inputs of FusedBatchNormV3 and, optionally, side_input of x's shape;
/// outputs as there.
struct FusedBatchNormExAttrs {
  double epsilon = 1e-4;
  double exponential_avg_factor = 1;
  nn::DataFormat data_format = nn::DataFormat::kNHWC;
  bool is_training = true;
  /// "Relu" or empty.
  std::string activation = "Relu";
  TANDEM_ATTRS(FusedBatchNormExAttrs, epsilon, exponential_avg_factor, data_format,
               is_training, activation)

  nn::FusedBatchNormAttrs norm() const {
    return {epsilon, exponential_avg_factor, data_format, is_training};
  }
};
inline constexpr int kNormSide = 5;  // the input that is added

/// FusedBatchNormGradEx: inputs of FusedBatchNormGradV3; then, optionally, relu's result
/// or, where it came from nothing but the normalisation, the offset, from which it is
/// found again; and a tensor that is added to y_backprop. Outputs as there, and what is
/// left of the gradient before the normalisation, for a shortcut.
struct FusedBatchNormGradExAttrs {
  double epsilon = 1e-4;
  nn::DataFormat data_format = nn::DataFormat::kNHWC;
  bool is_training = true;
  /// Whether side_input_backprop is wanted; else it is empty. With more_backprop it is.
  bool side = false;
  TANDEM_ATTRS(FusedBatchNormGradExAttrs, epsilon, data_format, is_training, side)

  nn::FusedBatchNormAttrs norm() const {
    return {.epsilon = epsilon, .data_format = data_format, .is_training = is_training};
  }
};
inline constexpr int kNormGradY = 6, kNormGradOffset = 7, kNormGradMore = 8;  // inputs
inline constexpr int kNormGradSide = 5;                                       // output

}  // namespace tandem
