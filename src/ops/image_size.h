// Heights and widths of images [b, h, w, c] as ops that resize them need them. Any
// thread.
#pragma once

#include "op/op_def.h"

namespace tandem {

/// The shape of `images` with height and width replaced by the values of input i.
Shape with_size(InferContext& c, const Shape& images, int i);
/// Height and width of input i.
Tensor size_of(const GradContext& c, int i);

}  // namespace tandem
