// What the CTC kernels share: rows of logits as log-probabilities, and checks of lengths.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "op/kernel.h"

namespace tandem::cpu {

struct CtcSizes {
  int64_t time = 0, batch = 0, classes = 0, blank = 0;
};

inline CtcSizes ctc_sizes(const Signature& s, int64_t blank) {
  const Shape& x = s.in(0).shape;
  return {x[0], x[1], x[2], blank < 0 ? blank + x[2] : blank};
}

inline constexpr double kNever = -std::numeric_limits<double>::infinity();

/// log(exp(a) + exp(b)).
inline double log_add(double a, double b) {
  if (a < b) std::swap(a, b);
  return b == kNever ? a : a + std::log1p(std::exp(b - a));
}

/// log_softmax of a row.
template <class T>
void log_probabilities(const T* row, int64_t n, double* out) {
  double most = kNever, sum = 0;
  for (int64_t i = 0; i < n; ++i) most = std::max(most, static_cast<double>(row[i]));
  for (int64_t i = 0; i < n; ++i) sum += std::exp(static_cast<double>(row[i]) - most);
  const double shift = most + std::log(sum);
  for (int64_t i = 0; i < n; ++i) out[i] = static_cast<double>(row[i]) - shift;
}

/// Throws when an example is said to be longer than there are steps.
inline void check_lengths(const char* op, const int32_t* lengths, int64_t n,
                          int64_t limit, const char* of) {
  for (int64_t i = 0; i < n; ++i) {
    if (lengths[i] >= 0 && lengths[i] <= limit) continue;
    throw FailedPreconditionError(
        fmt::format("{}: {}({}) <= {} is wanted, and not below 0, but it is {}. Give "
                    "lengths of at most the padded size.",
                    op, of, i, limit, lengths[i]));
  }
}

}  // namespace tandem::cpu
