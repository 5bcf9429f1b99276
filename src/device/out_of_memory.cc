#include "device/out_of_memory.h"

#include <fmt/format.h>

#include "tandem/error.h"

namespace tandem {

std::string format_bytes(int64_t bytes) {
  static constexpr const char* kUnits[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB"};
  double value = static_cast<double>(bytes);
  size_t unit = 0;
  while (value >= 1024 && unit + 1 < std::size(kUnits)) {
    value /= 1024;
    ++unit;
  }
  return unit == 0 ? fmt::format("{}B", bytes)
                   : fmt::format("{:.2f}{}", value, kUnits[unit]);
}

void throw_out_of_memory(const OutOfMemory& what) {
  std::string text = fmt::format(
      "OOM when allocating tensor with {} bytes ({}) on {} by allocator {}: limit {}, in "
      "use {}",
      what.asked, format_bytes(what.asked), what.device, what.allocator,
      format_bytes(what.limit), format_bytes(what.in_use));
  if (what.largest_free >= 0) {
    text += fmt::format(", largest free block {}", format_bytes(what.largest_free));
  }
  if (what.given >= 0) {
    text += fmt::format(
        ", the GPU gave no more than {}: other programs or libraries hold the rest",
        format_bytes(what.given));
  }
  throw ResourceExhaustedError(text + ". " + what.remedy);
}

}  // namespace tandem
