// What the cases of elementwise ops share: references by broadcasting a scalar function,
// and short builders.
#pragma once

#include <cmath>
#include <functional>

#include "op/infer.h"
#include "ops/case_parts.h"

namespace tandem::testing {

using Function1 = std::function<Complex(Complex)>;
using Function2 = std::function<Complex(Complex, Complex)>;
using Function3 = std::function<Complex(Complex, Complex, Complex)>;
using Real1 = std::function<double(double)>;
using Real2 = std::function<double(double, double)>;

inline const std::vector<DType> kComplexTypes = {DType::kComplex64, DType::kComplex128};
inline const std::vector<DType> kIntTypes = {
    DType::kInt32, DType::kInt64,  DType::kInt8,   DType::kInt16,
    DType::kUInt8, DType::kUInt16, DType::kUInt32, DType::kUInt64};
inline const std::vector<DType> kSignedTypes = {DType::kInt32, DType::kInt64,
                                                DType::kInt8, DType::kInt16};

/// Element `i` of a tensor of shape `out` as an index into one of shape `in` that
/// broadcasts to it.
inline size_t broadcast_index(size_t i, const Shape& out, const Shape& in) {
  int64_t rest = static_cast<int64_t>(i), index = 0, stride = 1;
  for (int d = out.rank() - 1, s = in.rank() - 1; d >= 0; --d, --s) {
    const int64_t at = rest % out[d];
    rest /= out[d];
    if (s < 0) continue;
    if (in[s] != 1) index += at * stride;
    stride *= in[s];
  }
  return static_cast<size_t>(index);
}

inline Reference each(Function1 f) {
  return [f](const std::vector<Ref>& in, DType) {
    Ref out{in[0].shape, {}, {}};
    for (Complex v : in[0].values) out.values.push_back(f(v));
    return std::vector<Ref>{out};
  };
}
inline Reference each_real(Real1 f) {
  return each([f](Complex x) { return Complex(f(x.real())); });
}
inline Reference each(Function3 f) {
  return [f](const std::vector<Ref>& in, DType) {
    Ref out;
    broadcast_shapes(in[0].shape, in[1].shape, &out.shape);
    if (in.size() > 2) broadcast_shapes(Shape(out.shape), in[2].shape, &out.shape);
    for (size_t i = 0; i < static_cast<size_t>(out.n()); ++i) {
      const auto at = [&](size_t k) {
        return in[k].values[broadcast_index(i, out.shape, in[k].shape)];
      };
      out.values.push_back(f(at(0), at(1), in.size() > 2 ? at(2) : Complex()));
    }
    return std::vector<Ref>{out};
  };
}
inline Reference each(Function2 f) {
  return each(Function3([f](Complex x, Complex y, Complex) { return f(x, y); }));
}
inline Reference each_real(Real2 f) {
  return each(
      Function2([f](Complex x, Complex y) { return Complex(f(x.real(), y.real())); }));
}

/// A unary case on [3, 37] numbers from [low, high), which has vector ends.
inline OpCase unary_case(const char* op, double low, double high, Real1 f,
                         std::vector<DType> dtypes = kFloatTypes) {
  OpCase c;
  c.op = op;
  c.inputs = {{.shape = {3, 37}, .low = low, .high = high}};
  c.dtypes = std::move(dtypes);
  c.reference = each_real(f);
  return c;
}
/// The same for complex numbers, values only.
inline OpCase complex_case(const char* op, double low, double high, Function1 f) {
  OpCase c;
  c.op = op;
  c.name = "complex";
  c.inputs = {{.shape = {5, 3}, .low = low, .high = high}};
  c.dtypes = kComplexTypes;
  c.reference = each(f);
  c.tolerance = 2e-5;
  c.check_gradient = false;
  return c;
}
/// Fixed inputs: corner values.
inline OpCase fixed_case(const char* op, const char* name,
                         std::vector<std::vector<double>> inputs,
                         std::vector<double> expected,
                         std::vector<DType> dtypes = {DType::kFloat32, DType::kFloat64}) {
  OpCase c;
  c.op = op;
  c.name = name;
  for (auto& v : inputs) {
    c.inputs.push_back({.shape = {static_cast<int64_t>(v.size())}, .fixed = v});
  }
  c.dtypes = std::move(dtypes);
  c.check_gradient = false;
  c.reference = [expected](const std::vector<Ref>&, DType) {
    Ref out{{static_cast<int64_t>(expected.size())}, {}, {}};
    for (double v : expected) out.values.push_back(v);
    return std::vector<Ref>{out};
  };
  return c;
}

void add_activation_cases(CaseList& cases);
void add_elementwise_cast_cases(CaseList& cases);
void add_elementwise_compare_cases(CaseList& cases);
void add_elementwise_math_cases(CaseList& cases);
void add_elementwise_special_cases(CaseList& cases);

}  // namespace tandem::testing
