// The cross entropy as training wants it: with its gradient scaled, and from logits in
// half precision, of which what is computed in float32 is never written. A graph pass
// makes it after gradients were taken, so it has none. Results are those of the separate
// ops up to rounding.
#pragma once

#include "op/op_def.h"

namespace tandem {

/// FusedSparseCrossEntropy: features [rows, classes] in half precision or float32, class
/// numbers, and optionally a float32 scale of the gradient, one number or one for each
/// row; the float32 loss of each row, and the gradient times the scale in the features'
/// dtype.
struct FusedSparseCrossEntropyAttrs {
  /// Whether the gradient is wanted; else it is empty.
  bool gradient = true;
  TANDEM_ATTRS(FusedSparseCrossEntropyAttrs, gradient)
};
inline constexpr int kLossScale = 2;  // the input

}  // namespace tandem
