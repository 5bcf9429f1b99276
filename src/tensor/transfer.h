// Moving tensors between devices: allocates on the target, enqueues the counted copy, and
// ties the lifetimes together. Any thread.
#pragma once

#include "device/device.h"
#include "tandem/tensor.h"

namespace tandem {

struct TensorImpl;

/// The tensor on `target`; asynchronous unless both are host devices. The same tensor
/// when it is there already. Strings move only between host devices.
Tensor copy_to_device(const Tensor& tensor, Device& target);

/// A tensor on `target`, which is no host, with the contents of host memory at `data`;
/// they may change as soon as it returns. At most one copy of them is made on the host.
Tensor copy_host_data(Device& target, DType dtype, const Shape& shape, const void* data);

/// The same contents in memory of their own on the device they are on, in stream order:
/// for a variable that others still read. Waits on the host only where it copies there.
Tensor duplicate(const TensorImpl& tensor, Device& device);

}  // namespace tandem
