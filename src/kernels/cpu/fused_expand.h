// Writing out elements for a whole block: what fused programs do where a block function
// wants one operand element per result. Any thread.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tandem::cpu {

/// n copies of one element of `size` bytes.
void expand_fill(const void* in, void* out, int64_t n, size_t size);
/// `width` copies of each of n elements. May write up to 64 bytes beyond the end.
void expand_repeat(const void* in, void* out, int64_t n, int64_t width, size_t size);
/// n copies of `bytes` bytes.
void expand_tile(const void* in, void* out, int64_t n, int64_t bytes);

}  // namespace tandem::cpu
