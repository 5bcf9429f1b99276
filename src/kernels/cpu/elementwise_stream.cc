// Stores that go past the caches.
#include <cstddef>

#ifdef __AVX2__
#include <immintrin.h>
#endif

#include "kernels/cpu/elementwise_families.h"

namespace tandem::cpu::TANDEM_ISA {

namespace {

#ifdef __AVX2__
void stream(void* destination, const void* source, int64_t bytes) {
  auto* to = static_cast<std::byte*>(destination);
  const auto* from = static_cast<const std::byte*>(source);
  for (int64_t i = 0; i < bytes; i += 64) {
#ifdef __AVX512F__
    _mm512_stream_si512(reinterpret_cast<__m512i*>(to + i), _mm512_loadu_si512(from + i));
#else
    const auto* in = reinterpret_cast<const __m256i*>(from + i);
    auto* out = reinterpret_cast<__m256i*>(to + i);
    _mm256_stream_si256(out, _mm256_loadu_si256(in));
    _mm256_stream_si256(out + 1, _mm256_loadu_si256(in + 1));
#endif
  }
  // What is streamed becomes visible to other threads in order with later stores.
  _mm_sfence();
}
#endif

}  // namespace

void add_stream([[maybe_unused]] BlockTable& table) {
#ifdef __AVX2__
  table.set_stream(stream);
#endif
}

}  // namespace tandem::cpu::TANDEM_ISA
