// Floating-point numbers as NumPy 2.4 and Python print them. Values are passed as double,
// which holds every float16 and float32 exactly, together with the dtype they came from:
// that decides which digits tell a value from its neighbours. Pure functions, any thread.
#pragma once

#include <span>
#include <string>

#include "tandem/dtype.h"

namespace tandem {

/// The common layout of all numbers of one array (NumPy's FloatingFormat with default
/// options).
class FloatFormat {
 public:
  enum class Plus { kHide, kShow };  // whether numbers that are not negative get a '+'

  /// `dtype` is float16, float32 or float64.
  FloatFormat(std::span<const double> values, DType dtype, Plus plus = Plus::kHide);

  /// One of the values, padded to the width that all of them have.
  std::string operator()(double value) const;

 private:
  struct Range;
  bool wants_exponent(const Range& range) const;
  void measure_scientific(std::span<const double> finite);
  void measure_positional(std::span<const double> finite);

  DType dtype_;
  bool plus_;
  bool scientific_ = false;
  int left_ = 0;             // columns before the decimal point
  int right_ = 0;            // columns after it
  int fraction_ = 0;         // digits after the point, when scientific
  int exponent_digits_ = 2;  // when scientific
};

/// str() of a NumPy scalar of that dtype: "3.0", "1e+06". With float64 also Python's
/// repr().
std::string float_scalar(double value, DType dtype);
/// The same for a complex number whose parts have that (real) dtype: "(1+2j)", "2j".
std::string complex_scalar(double real, double imaginary, DType part);
/// A bfloat16 in any place, as ml_dtypes prints it: "1", "1.10156".
std::string bfloat16_text(float value);

}  // namespace tandem
