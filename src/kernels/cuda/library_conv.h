// Which convolutions NVIDIA's libraries take, for kernels that compete with theirs. Any
// thread.
#pragma once

#include "kernels/cuda/conv_case.h"

namespace tandem::cuda {

/// cuDNN is there, and the convolution is large enough for it: what its plans cost to
/// build and start is paid back.
bool cudnn_takes(const ConvCase& c);
/// So large, with so many channels, that our own tiles need not be tried beside it.
bool library_is_far_better(const ConvCase& c);

}  // namespace tandem::cuda
