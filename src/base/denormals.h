// Denormal numbers, those too small for full precision, slow arithmetic down a
// hundredfold on many processors: moments of an optimizer end there for weights that get
// no gradient. Plans run with them taken for zero, as TensorFlow's executor does. The
// mode belongs to a thread; teams of workers take over that of their caller.
#pragma once

#include <cstdint>

#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

namespace tandem {

/// The floating-point modes of this thread.
inline uint64_t float_modes() {
#if defined(__x86_64__)
  return _mm_getcsr();
#elif defined(__aarch64__)
  uint64_t modes = 0;
  asm volatile("mrs %0, fpcr" : "=r"(modes));
  return modes;
#else
  return 0;
#endif
}

inline void set_float_modes([[maybe_unused]] uint64_t modes) {
#if defined(__x86_64__)
  _mm_setcsr(static_cast<uint32_t>(modes));
#elif defined(__aarch64__)
  asm volatile("msr fpcr, %0" : : "r"(modes));
#endif
}

/// Denormals are zero on this thread while it lives, as operands and as results.
class FlushDenormals {
 public:
  FlushDenormals() : previous_(float_modes()) {
#if defined(__x86_64__)
    constexpr uint64_t kZero = 0x8040;  // flush to zero, denormals are zero
#elif defined(__aarch64__)
    constexpr uint64_t kZero = uint64_t{1} << 24;
#else
    constexpr uint64_t kZero = 0;
#endif
    if ((previous_ & kZero) != kZero) set_float_modes(previous_ | kZero);
  }
  FlushDenormals(const FlushDenormals&) = delete;
  FlushDenormals& operator=(const FlushDenormals&) = delete;
  ~FlushDenormals() { set_float_modes(previous_); }

 private:
  uint64_t previous_;
};

}  // namespace tandem
