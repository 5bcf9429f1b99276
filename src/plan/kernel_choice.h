// Which kernel serves a node: the only one, the default, or, where several fit, the one
// that was measured to be fastest on this machine. Measurements are kept in the cost
// store, so that each is made once. Any thread.
#pragma once

#include <optional>
#include <string>

#include "device/device.h"
#include "op/kernel.h"

namespace tandem {

struct KernelChoice {
  const Kernel* kernel = nullptr;
  Ref<Prepared> prepared;
  std::string why;
};

/// Throws NotFoundError when no kernel fits. `measure`: candidates are timed when the
/// store does not know them; never when the signature asks for determinism.
KernelChoice choose_kernel(const Signature& signature, Device& device, bool measure);

/// Microseconds of the default kernel with the signature's threads, measured once; null
/// without `measure` and where it is not worth it.
std::optional<double> kernel_us(const Signature& signature, Device& device, bool measure);

}  // namespace tandem
