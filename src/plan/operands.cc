#include "plan/operands.h"

#include <fmt/format.h>

#include "base/flags.h"
#include "device/operand_address.h"

namespace tandem {

namespace {

// Figures of a fast GPU: on a slower one copies cost more, and less is given away.
constexpr double kCopyBytesPerNs = 3900;  // read and written
constexpr double kCopyStartNs = 1500;
constexpr double kTellNs = 1000;  // on the calling thread
// On threads of the host a copy of less than this costs less than the task that tells
// them.
constexpr int64_t kFromOnHost = 256 * 1024;

std::string count(int64_t kernels) {
  return fmt::format("{} kernel{}", kernels, kernels == 1 ? "" : "s");
}

}  // namespace

Binding choose_binding(int64_t bytes, int64_t kernels, bool native) {
  if (bytes == 0) return {false, "empty"};
  const int64_t from = env_int("TANDEM_BIND_FROM_BYTES", native ? 0 : kFromOnHost);
  if (bytes < from) return {false, "small"};
  if (bytes > operand_address::kMostBytes) return {false, "too large to be bound"};
  // The copy itself must be told, too.
  const double copy = kCopyStartNs + 2 * static_cast<double>(bytes) / kCopyBytesPerNs;
  const double tell = kTellNs * static_cast<double>(kernels - 1);
  if (tell > copy) {
    return {false, fmt::format("telling {} an address takes longer", count(kernels))};
  }
  return {true, "told to " + count(kernels)};
}

}  // namespace tandem
