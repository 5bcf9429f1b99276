#include "tandem/precision.h"

#include <atomic>

#include "base/flags.h"

namespace tandem::config {

namespace {

std::atomic<bool>& allowed() {
  static std::atomic<bool> value{env_bool("TANDEM_TF32", true)};
  return value;
}

}  // namespace

void enable_tensor_float_32_execution(bool enabled) {
  allowed().store(enabled, std::memory_order_relaxed);
}

bool tensor_float_32_execution_enabled() {
  return allowed().load(std::memory_order_relaxed);
}

}  // namespace tandem::config
