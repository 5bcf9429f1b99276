#include "kernels/cpu/fused_expand.h"

#include <algorithm>
#include <cstring>

#include "kernels/cpu/bytes16.h"

namespace tandem::cpu {

namespace {

template <class F>
void by_size(size_t size, F&& f) {
  switch (size) {
    case 1:
      return f(uint8_t{});
    case 2:
      return f(uint16_t{});
    case 4:
      return f(uint32_t{});
    case 8:
      return f(uint64_t{});
    default:
      return f(Bytes16{});
  }
}

template <class T>
void repeat_elements(const T* in, T* out, int64_t n, int64_t width) {
  // Short runs: whole vectors, whose ends the next run writes over.
  constexpr int64_t kWide = 64 / static_cast<int64_t>(sizeof(T));
  if (width <= kWide) {
    for (int64_t r = 0; r < n; ++r, out += width) {
      const T value = in[r];
      for (int64_t j = 0; j < kWide; ++j) out[j] = value;
    }
    return;
  }
  for (int64_t r = 0; r < n; ++r, out += width) std::fill_n(out, width, in[r]);
}

}  // namespace

void expand_fill(const void* in, void* out, int64_t n, size_t size) {
  by_size(size, [&]<class T>(T) {
    std::fill_n(static_cast<T*>(out), n, *static_cast<const T*>(in));
  });
}

void expand_repeat(const void* in, void* out, int64_t n, int64_t width, size_t size) {
  by_size(size, [&]<class T>(T) {
    repeat_elements(static_cast<const T*>(in), static_cast<T*>(out), n, width);
  });
}

void expand_tile(const void* in, void* out, int64_t n, int64_t bytes) {
  auto* to = static_cast<std::byte*>(out);
  for (int64_t r = 0; r < n; ++r, to += bytes) {
    std::memcpy(to, in, static_cast<size_t>(bytes));
  }
}

}  // namespace tandem::cpu
