// Copies of memory that is not read again soon: past the caches, and several pages at a
// time, which one core does about one and a half times as fast as memcpy. Any thread.
#pragma once

#include <cstddef>

namespace tandem::cuda {

/// The ranges do not overlap. When it returns, the GPU may read what was written.
void streaming_copy(std::byte* to, const std::byte* from, size_t bytes);

}  // namespace tandem::cuda
