#include "run/call_inputs.h"

#include <cstring>

#include <fmt/format.h>

#include "base/log.h"
#include "device/runtime.h"
#include "tandem/control_flow.h"
#include "tandem/device.h"

namespace tandem {

void check_input(const OpDef& op, const TensorImpl* impl, size_t i) {
  if (!impl) {
    if (op.input_def(static_cast<int>(i)).optional) return;
    throw InvalidArgumentError(
        fmt::format("{}: input #{} is not a tensor. Give it a value.", op.name, i));
  }
  if (impl->symbolic) {
    throw TypeError(fmt::format(
        "{}: input #{}, a symbolic tensor of shape {} and dtype {}, is out of scope and "
        "cannot be used here: it belongs to a function that is traced and has no value "
        "outside. Return it from the function.",
        op.name, i, impl->shape.str(), dtype_name(impl->dtype)));
  }
  if (impl->dtype == DType::kResource && !op.input_def(static_cast<int>(i)).resource) {
    throw InvalidArgumentError(fmt::format(
        "{}: input #{} is a variable's handle, not a tensor. Read the variable.", op.name,
        i));
  }
  if (impl->ghost && !op.input_def(static_cast<int>(i)).shape_only) {
    throw InternalError(fmt::format(
        "{}: input #{} was kept for its shape only; its gradient must not read it",
        op.name, i));
  }
}

Tensor host_input(const Tensor& t) {
  const TensorImpl& impl = *t.impl();
  if (impl.device->is_host() || !impl.host_value) return t.to_host();
  Tensor host = make_tensor(Runtime::get().cpu(), impl.dtype, impl.shape);
  const size_t size = dtype_size(impl.dtype);
  auto* p = static_cast<std::byte*>(host.impl()->data());
  // Little-endian: the low bytes of the 64-bit value are the narrower integer.
  for (int64_t v : *impl.host_value) {
    std::memcpy(p, &v, size);
    p += size;
  }
  return host;
}

void throw_no_host_memory(const OpDef& op) {
  throw ResourceExhaustedError(fmt::format(
      "{}: the host's memory does not suffice for what the call asks for. Check the "
      "sizes.",
      op.name));
}

void check_copy_allowed(const OpDef& op, size_t i, const TensorImpl& t, Device& target) {
  const CopyPolicy policy = config::get_device_policy();
  if (policy == CopyPolicy::kSilent) return;
  if (policy == CopyPolicy::kSilentForInt32 && t.dtype == DType::kInt32) return;
  if (policy == CopyPolicy::kWarn) {
    logging::warn(fmt::format("{}: input #{} ({}, {}) is copied from {} to {}", op.name,
                              i, dtype_name(t.dtype), t.shape.debug_str(),
                              t.device->full_name(), target.full_name()));
    return;
  }
  throw InvalidArgumentError(fmt::format(
      "Tensors on conflicting devices: cannot compute {} as input #{} was expected to be "
      "on {} but "
      "is actually on {} (operation running on {}). Tensors can be copied explicitly "
      "using "
      ".to(device), or transparently with set_device_policy('silent').",
      op.name, i, target.full_name(), t.device->full_name(), target.full_name()));
}

}  // namespace tandem
