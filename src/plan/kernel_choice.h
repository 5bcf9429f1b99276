// Which kernel serves a node: the only one, the default, or, where several fit, the one
// that was measured to be fastest on this machine. Measurements are kept in the cost
// store, so that each is made once. Any thread.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "device/device.h"
#include "op/kernel.h"
#include "op/kernel_builds.h"

namespace tandem {

struct KernelChoice {
  const Kernel* kernel = nullptr;
  Ref<Prepared> prepared;
  std::string why;
};

/// A candidate that will have to be timed, prepared ahead: the device may compile its
/// kernels meanwhile. Nothing is prepared where the store knows the time, and where an
/// equal step is prepared already (`asked`, which all steps of a plan share).
struct KernelTrial {
  Ref<Prepared> prepared;
  KernelBuilds builds;
};
/// By candidate; empty where nothing is timed.
using KernelTrials = std::vector<KernelTrial>;
KernelTrials prepare_trials(const Signature& signature, Device& device, bool measure,
                            std::set<std::string>& asked);

/// Throws NotFoundError when no kernel fits. `measure`: candidates are timed when the
/// store does not know them; never when the signature asks for determinism.
KernelChoice choose_kernel(const Signature& signature, Device& device, bool measure,
                           const KernelTrials& trials = {});

/// Microseconds of the default kernel with the signature's threads, measured once; null
/// without `measure` and where it is not worth it.
std::optional<double> kernel_us(const Signature& signature, Device& device, bool measure);

}  // namespace tandem
