// CRC-32C (Castagnoli), the checksum of checkpoints and of TFRecord and event files, by
// the processor's instruction where it has one. Any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace tandem {

/// The checksum of `bytes` after those that gave `before`.
uint32_t crc32c(std::string_view bytes, uint32_t before = 0);

/// The form that records store: a checksum of data that contains checksums is no longer
/// fooled by them.
inline uint32_t masked_crc32c(std::string_view bytes) {
  const uint32_t crc = crc32c(bytes);
  return ((crc >> 15) | (crc << 17)) + 0xa282ead8u;
}

}  // namespace tandem
