#include "plan/copy_policy.h"

#include <fmt/format.h>

#include "base/log.h"
#include "tandem/error.h"

namespace tandem {

void check_planned_copy(CopyPolicy policy, const Node& node, int input,
                        const ValueInfo& value, const Device& from, const Device& to) {
  if (policy == CopyPolicy::kSilent) return;
  if (policy == CopyPolicy::kSilentForInt32 && value.dtype == DType::kInt32) return;
  if (node.is_op("Identity") && !node.device.empty()) return;
  const std::string op = node.op ? node.op->name : "control flow";
  const std::string what =
      input >= 0 ? fmt::format("input #{}", input) : std::string("its result");
  const std::string text =
      fmt::format("{} ({}{})", what, dtype_name(value.dtype), value.shape.debug_str());
  if (policy == CopyPolicy::kWarn) {
    logging::warn(fmt::format("{} ({}): {} is copied from {} to {} in every call", op,
                              node.name, text, from.full_name(), to.full_name()));
    return;
  }
  throw InvalidArgumentError(fmt::format(
      "Tensors on conflicting devices: cannot plan {} ({}) as {} was expected to be on "
      "{} "
      "but is actually on {}. Copy it where it is needed with identity() in a device "
      "scope, pass the argument on that device, or allow copies with "
      "set_device_policy('silent').",
      op, node.name, text, to.full_name(), from.full_name()));
}

}  // namespace tandem
