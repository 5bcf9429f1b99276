// Coordinates for naive references of indexing and sorting.
#pragma once

#include <complex>
#include <functional>
#include <vector>

#include "ops/case_parts.h"

namespace tandem::testing {

using Coordinates = std::vector<int64_t>;

/// What is there and an update, to what is there then.
using Combine =
    std::function<std::complex<double>(std::complex<double>, std::complex<double>)>;

inline Coordinates coordinates(const Shape& shape, int64_t flat) {
  Coordinates at(static_cast<size_t>(shape.rank()));
  for (int d = shape.rank() - 1; d >= 0; --d) {
    at[static_cast<size_t>(d)] = flat % shape[d];
    flat /= shape[d];
  }
  return at;
}

inline size_t flat(const Shape& shape, const Coordinates& at) {
  int64_t i = 0;
  for (int d = 0; d < shape.rank(); ++d) i = i * shape[d] + at[static_cast<size_t>(d)];
  return static_cast<size_t>(i);
}

inline int64_t int_at(const Ref& r, size_t i) { return static_cast<int64_t>(r.re(i)); }

/// Integers from 0 to below `high`.
inline In index_in(Shape shape, double high, DType dtype = DType::kInt32) {
  return {.shape = shape, .low = 0, .high = high, .dtype = dtype};
}
inline In ints_in(std::vector<double> values, DType dtype = DType::kInt32) {
  return {
      .shape = {static_cast<int64_t>(values.size())}, .fixed = values, .dtype = dtype};
}
inline In scalar_in(double value, DType dtype = DType::kInt32) {
  return {.shape = {}, .fixed = {value}, .dtype = dtype};
}

}  // namespace tandem::testing
