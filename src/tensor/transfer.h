// Moving tensors between devices: allocates on the target, enqueues the counted copy, and
// ties the lifetimes together. Any thread.
#pragma once

#include "device/device.h"
#include "tandem/tensor.h"

namespace tandem {

/// The tensor on `target`; asynchronous unless both are host devices. The same tensor
/// when it is there already. Strings move only between host devices.
Tensor copy_to_device(const Tensor& tensor, Device& target);

}  // namespace tandem
