#include "device/cuda/streaming_copy.h"

#include <cstdint>
#include <cstring>

#ifdef __SSE2__
#include <emmintrin.h>
#endif

namespace tandem::cuda {

#ifdef __SSE2__
namespace {

constexpr size_t kLine = 64;
constexpr size_t kPage = 4096;
/// So many run side by side: a core's prefetchers follow one stream per page.
constexpr size_t kPages = 4;

/// `to` is aligned to a line.
void copy_line(std::byte* to, const std::byte* from) {
  const auto* const in = reinterpret_cast<const __m128i*>(from);
  auto* const out = reinterpret_cast<__m128i*>(to);
  const __m128i a = _mm_loadu_si128(in), b = _mm_loadu_si128(in + 1),
                c = _mm_loadu_si128(in + 2), d = _mm_loadu_si128(in + 3);
  _mm_stream_si128(out, a);
  _mm_stream_si128(out + 1, b);
  _mm_stream_si128(out + 2, c);
  _mm_stream_si128(out + 3, d);
}

}  // namespace

void streaming_copy(std::byte* to, const std::byte* from, size_t bytes) {
  constexpr size_t kGroup = kPages * kPage;
  if (bytes < 2 * kGroup) {
    std::memcpy(to, from, bytes);
    return;
  }
  const size_t head = (kLine - reinterpret_cast<uintptr_t>(to) % kLine) % kLine;
  std::memcpy(to, from, head);
  size_t at = head;
  for (; at + kGroup <= bytes; at += kGroup) {
    for (size_t line = 0; line < kPage; line += kLine) {
      for (size_t page = 0; page < kGroup; page += kPage) {
        copy_line(to + at + page + line, from + at + page + line);
      }
    }
  }
  std::memcpy(to + at, from + at, bytes - at);
  _mm_sfence();
}
#else
void streaming_copy(std::byte* to, const std::byte* from, size_t bytes) {
  std::memcpy(to, from, bytes);
}
#endif

}  // namespace tandem::cuda
