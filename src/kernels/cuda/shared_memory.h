// Shared memory that a block may ask for, by the GPU's architecture. Pure.
#pragma once

#include <cstddef>

namespace tandem::cuda {

/// In bytes, for a kernel that was given leave to (program.h, `shared_bytes`).
constexpr size_t shared_memory_limit(int arch) {
  constexpr size_t kKiB = 1024;
  switch (arch) {
    case 75:
      return 64 * kKiB;
    case 80:
    case 87:
      return 163 * kKiB;
    case 90:
    case 100:
    case 103:
      return 227 * kKiB;
    default:
      return 99 * kKiB;
  }
}

}  // namespace tandem::cuda
