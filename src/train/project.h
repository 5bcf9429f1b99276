// The matrix product that dense layers and attention share.
#pragma once

#include "tandem/tensor.h"

namespace tandem::layers {

/// x [b…, inputs] · kernel [inputs, units]. One matrix product over all leading
/// dimensions together, so that the kernel's gradient is one product too.
Tensor project(const Tensor& x, const Tensor& kernel);

}  // namespace tandem::layers
