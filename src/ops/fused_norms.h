// Batch normalisation with its end: a tensor that is added to the result, and relu, in
// one op. Graph passes make it after gradients were taken, so it has none. The result is
// that of the separate ops; in half precision it is rounded once instead of after each
// step.
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

}  // namespace tandem
