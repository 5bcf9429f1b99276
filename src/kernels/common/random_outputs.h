// What the random kernels of every platform agree on: which outputs they make, and what
// they say to an empty range. Pure; any thread.
#pragma once

#include <string>

#include <fmt/format.h>

#include "op/kernel.h"

namespace tandem {

inline bool floating_output(const Signature& s) { return is_floating(s.out().dtype); }

/// Numbers are made of 32-bit words: narrower integers have no kernel.
inline bool wide_integer_output(const Signature& s) {
  return is_integer(s.out().dtype) && dtype_size(s.out().dtype) >= 4;
}

template <class T>
std::string empty_range_text(T low, T high) {
  return fmt::format("Need minval < maxval, got {} >= {}", low, high);
}

}  // namespace tandem
