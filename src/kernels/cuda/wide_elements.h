// Elements that are only moved may be moved several at once: how many, and the kernel for
// that beside the one for single elements. Made in prepare(); any thread.
#pragma once

#include "kernels/cuda/program.h"

namespace tandem::cuda {

/// How many elements of a run become one of up to 16 bytes: a power of two.
inline int64_t widest(size_t element, int64_t run) {
  int64_t times = 1;
  while (run > 0 && element * static_cast<size_t>(times) < 16 && run % (times * 2) == 0) {
    times *= 2;
  }
  return times;
}

/// A kernel for single elements and one for wide ones, which needs aligned addresses.
struct WideFunction {
  Function narrow, wide;
  size_t wide_bytes = 0;  // 0: there is none
  int64_t times = 1;

  /// `text(bytes)` is the program for elements of that size.
  template <class Text>
  static WideFunction find(const Signature& s, size_t element, int64_t run,
                           const char* entry, Text&& text) {
    WideFunction f;
    f.narrow = find_function(s.device, s.op->name, text(element), entry);
    f.times = widest(element, run);
    if (f.times > 1) {
      f.wide_bytes = element * static_cast<size_t>(f.times);
      f.wide = find_function(s.device, s.op->name, text(f.wide_bytes), entry);
    }
    return f;
  }
  bool fits(const void* in, const void* out) const {
    return wide_bytes && reinterpret_cast<uint64_t>(in) % wide_bytes == 0 &&
           reinterpret_cast<uint64_t>(out) % wide_bytes == 0;
  }
};

}  // namespace tandem::cuda
