// Where an eager op runs: the thread's device scope, soft placement, and TensorFlow's
// rule when nobody says (first device by priority that has a kernel). Scopes are
// thread-local.
#pragma once

#include <string>

#include "device/device.h"
#include "device/spec.h"
#include "op/kernel.h"

namespace tandem {

/// The merged specification of the scopes of this thread; null outside any scope.
const DeviceSpec* current_device_spec();

/// The device the current scope names, when it names exactly one existing device; null
/// when there is no constraint on it. Cached per scope: two loads on the hot path.
Device* scoped_device();

/// A number for the current scope: 0 without one, else equal for equal merged
/// specifications. Part of the key of eager calls.
uint64_t scope_key();

/// The device for an op with this signature and its reason. Throws InvalidArgumentError
/// with TensorFlow's words when the scope cannot be satisfied and soft placement is off.
struct Placement {
  Device* device;
  const char* reason;  // "scope", "soft placement", "only kernel", "priority", "resource"
};
Placement place_eager(const Signature& signature);

/// The device on which constants and host data become tensors now.
Device& constant_device(DType dtype);

}  // namespace tandem
