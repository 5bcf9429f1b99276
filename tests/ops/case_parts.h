// What the case files of several families share: lists of dtypes, special numbers,
// results to fill in, inputs of fixed integers, and attributes as a case holds them.
#pragma once

#include <complex>
#include <limits>
#include <utility>
#include <vector>

#include "op/attrs.h"
#include "ops/case.h"

namespace tandem::testing {

using Complex = std::complex<double>;

inline constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
inline constexpr double kInf = std::numeric_limits<double>::infinity();

inline const std::vector<DType> kFloatTypes = {DType::kFloat32, DType::kFloat64,
                                               DType::kFloat16, DType::kBFloat16};
inline const std::vector<DType> kRealTypes = {
    DType::kFloat32, DType::kFloat64, DType::kFloat16, DType::kBFloat16,
    DType::kInt8,    DType::kInt16,   DType::kInt32,   DType::kInt64,
    DType::kUInt8,   DType::kUInt16,  DType::kUInt32,  DType::kUInt64};

inline Ref zeros_of(const Shape& shape) {
  return {shape, std::vector<Complex>(static_cast<size_t>(shape.num_elements())), {}};
}

/// Integers that are fixed: shapes, axes, paddings, rows.
inline In ints(const Shape& shape, std::vector<double> values,
               DType dtype = DType::kInt32) {
  return {.shape = shape, .fixed = std::move(values), .dtype = dtype};
}
inline In ints(std::vector<double> values, DType dtype = DType::kInt32) {
  const auto n = static_cast<int64_t>(values.size());
  return ints(Shape{n}, std::move(values), dtype);
}

template <class A>
Attrs owned(const A& attrs) {
  return Attrs(attrs_ref(attrs));
}

}  // namespace tandem::testing
