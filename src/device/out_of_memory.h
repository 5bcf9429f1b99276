// The one text for "out of memory", the same for every device.
#pragma once

#include <cstdint>
#include <string>

namespace tandem {

struct OutOfMemory {
  std::string device;     // full name
  std::string allocator;  // "GPU_0_emulated"
  int64_t asked = 0;      // bytes
  int64_t in_use = 0;
  int64_t limit = 0;
  int64_t largest_free = -1;  // largest block that could be had now; -1: does not apply
  /// All that the device could get, where others hold the rest; -1: does not apply.
  int64_t given = -1;
  std::string remedy;  // one sentence
};

/// Throws ResourceExhaustedError.
[[noreturn]] void throw_out_of_memory(const OutOfMemory& what);

/// "1.5GiB"
std::string format_bytes(int64_t bytes);

}  // namespace tandem
