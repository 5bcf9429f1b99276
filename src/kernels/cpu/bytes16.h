// The type by which kernels that only move elements do so with those of 16 bytes
// (complex128), beside the unsigned integers for smaller ones. A plain value; any thread.
#pragma once

#include <cstdint>

namespace tandem::cpu {

struct Bytes16 {
  uint64_t low, high;
};

}  // namespace tandem::cpu
