#include "tensor/format_float.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <string_view>
#include <vector>

#include <fmt/format.h>

namespace tandem {

namespace {

constexpr int kPrecision = 8;  // NumPy's default print option
constexpr int kNoLimit = 1000;

/// digits[0].digits[1…] × 10^exponent
struct Decimal {
  std::string digits;
  int exponent = 0;
  int fraction() const { return static_cast<int>(digits.size()) - 1; }
};

/// Of text like "1e-05" or "1.25e+10".
Decimal parse(std::string_view text) {
  Decimal d;
  const size_t e = text.find('e');
  d.digits = text[0];
  if (e > 2) d.digits += text.substr(2, e - 2);
  const size_t exponent = e + (text[e + 1] == '+' ? 2 : 1);
  std::from_chars(text.data() + exponent, text.data() + text.size(), d.exponent);
  return d;
}

// The longest text is a double at fixed precision: 309 digits, the point, kPrecision
// more.
struct Printer {
  char chars[400];
  template <class... Args>
  std::string_view print(Args... args) {
    const auto end = std::to_chars(chars, chars + sizeof chars, args...).ptr;
    return {chars, static_cast<size_t>(end - chars)};
  }
};

/// The value rounded (half to even, exactly) to that many digits after the first.
Decimal rounded(double magnitude, int fraction) {
  Printer b;
  return parse(b.print(magnitude, std::chars_format::scientific, fraction));
}

/// The fewest digits that no other value of the dtype has, and of these the closest ones.
Decimal shortest(double magnitude, DType dtype) {
  Printer b;
  if (dtype == DType::kFloat64) {
    return parse(b.print(magnitude, std::chars_format::scientific));
  }
  if (dtype == DType::kFloat32) {
    return parse(b.print(static_cast<float>(magnitude), std::chars_format::scientific));
  }
  // to_chars knows no float16. Five significant digits always suffice, so try fewer
  // first. Below a power of two the neighbour is closer than above: a tie that rounds
  // down may be taken for that neighbour where the one rounded up is not, hence the
  // second try.
  for (int fraction = 0; fraction < 4; ++fraction) {
    for (double near : {magnitude, std::nextafter(magnitude, HUGE_VAL)}) {
      const auto text = b.print(near, std::chars_format::scientific, fraction);
      float back = 0;
      std::from_chars(text.data(), text.data() + text.size(), back);
      if (static_cast<double>(float16(back)) == magnitude) return parse(text);
    }
  }
  return rounded(magnitude, 4);
}

struct Parts {
  std::string whole, fraction;
};

/// Before and after the point, without sign; the fraction has no trailing zeros.
Parts positional(double magnitude, DType dtype, int max_fraction) {
  const Decimal d = shortest(magnitude, dtype);
  if (d.fraction() - d.exponent > max_fraction) {
    Printer b;
    const auto text = b.print(magnitude, std::chars_format::fixed, max_fraction);
    const size_t point = text.find('.');
    const auto fraction = text.substr(point + 1);
    const size_t last = fraction.find_last_not_of('0');
    return {std::string(text.substr(0, point)),
            std::string(fraction.substr(0, last + 1))};
  }
  if (d.exponent < 0) {
    return {"0", std::string(static_cast<size_t>(-d.exponent - 1), '0') + d.digits};
  }
  const auto whole = static_cast<size_t>(d.exponent) + 1;
  Parts p{d.digits.substr(0, whole), {}};
  p.whole.resize(whole, '0');
  if (d.digits.size() > whole) p.fraction = d.digits.substr(whole);
  return p;
}

/// `min_fraction` digits are printed even where fewer would do, from the exact value.
Decimal scientific(double magnitude, DType dtype, int min_fraction, int max_fraction) {
  Decimal d = shortest(magnitude, dtype);
  if (d.fraction() < min_fraction) return rounded(magnitude, min_fraction);
  if (d.fraction() > max_fraction) d = rounded(magnitude, max_fraction);
  while (d.fraction() > min_fraction && d.digits.back() == '0') d.digits.pop_back();
  return d;
}

int exponent_width(int exponent) { return std::abs(exponent) > 99 ? 3 : 2; }

std::string exponent_text(int exponent, int digits) {
  return fmt::format("e{}{:0{}}", exponent < 0 ? '-' : '+', std::abs(exponent), digits);
}

/// From where on NumPy prints an exponent, for scalars; arrays stop at 1e8.
double scalar_cutoff(DType dtype) {
  return dtype == DType::kFloat16 ? 1e3 : dtype == DType::kFloat32 ? 1e6 : 1e16;
}

const char* non_finite(double value) { return std::isnan(value) ? "nan" : "inf"; }

/// A scalar without its sign; `zero` is what follows the point of a whole number.
std::string scalar_magnitude(double magnitude, DType dtype, std::string_view zero) {
  if (!std::isfinite(magnitude)) return non_finite(magnitude);
  if (magnitude == 0 || (magnitude >= 1e-4 && magnitude < scalar_cutoff(dtype))) {
    const Parts p = positional(magnitude, dtype, kNoLimit);
    return p.whole + (p.fraction.empty() ? std::string(zero) : "." + p.fraction);
  }
  const Decimal d = shortest(magnitude, dtype);
  std::string s = d.digits.substr(0, 1);
  if (d.fraction() > 0) s += "." + d.digits.substr(1);
  return s + exponent_text(d.exponent, 2);
}

bool has_minus(double value) { return std::signbit(value) && !std::isnan(value); }

}  // namespace

struct FloatFormat::Range {
  double min = 0, max = 0;  // magnitudes of the finite values other than zero
};

FloatFormat::FloatFormat(std::span<const double> values, DType dtype, Plus plus)
    : dtype_(dtype), plus_(plus == Plus::kShow) {
  std::vector<double> finite;
  Range range;
  bool negative_infinity = false;
  for (double v : values) {
    if (std::isfinite(v)) {
      finite.push_back(v);
      if (v == 0) continue;
      const double magnitude = std::abs(v);
      range.max = std::max(range.max, magnitude);
      range.min = range.min == 0 ? magnitude : std::min(range.min, magnitude);
    } else {
      negative_infinity |= has_minus(v);
    }
  }
  if (!finite.empty()) {
    scientific_ = range.max > 0 && wants_exponent(range);
    if (scientific_) {
      measure_scientific(finite);
    } else {
      measure_positional(finite);
    }
  }
  if (finite.size() != values.size()) {
    const int width = plus_ || negative_infinity ? 4 : 3;
    left_ = std::max(left_, width - (right_ + 1));
  }
}

// The comparisons take place in the array's own precision, as NumPy's do.
bool FloatFormat::wants_exponent(const Range& range) const {
  const double cutoff = std::min(1e8, scalar_cutoff(dtype_));
  if (range.max >= cutoff) return true;
  switch (dtype_) {
    case DType::kFloat16: {
      const float16 ratio(static_cast<float>(range.max) / static_cast<float>(range.min));
      return range.min < static_cast<double>(float16(1e-4f)) || ratio > 1e3f;
    }
    case DType::kFloat32: {
      const auto min = static_cast<float>(range.min);
      return min < 1e-4f || static_cast<float>(range.max) / min > 1e3f;
    }
    default:
      return range.min < 1e-4 || range.max / range.min > 1e3;
  }
}

void FloatFormat::measure_scientific(std::span<const double> finite) {
  left_ = 1;
  for (double v : finite) {
    const Decimal d = scientific(std::abs(v), dtype_, 0, kPrecision);
    fraction_ = std::max(fraction_, d.fraction());
    exponent_digits_ = std::max(exponent_digits_, exponent_width(d.exponent));
    if (plus_ || has_minus(v)) left_ = 2;
  }
  right_ = fraction_ + 2 + exponent_digits_;
}

void FloatFormat::measure_positional(std::span<const double> finite) {
  for (double v : finite) {
    const Parts p = positional(std::abs(v), dtype_, kPrecision);
    const int sign = plus_ || has_minus(v) ? 1 : 0;
    left_ = std::max(left_, sign + static_cast<int>(p.whole.size()));
    right_ = std::max(right_, static_cast<int>(p.fraction.size()));
  }
}

std::string FloatFormat::operator()(double value) const {
  const char* sign = has_minus(value) ? "-" : plus_ ? "+" : "";
  const double magnitude = std::abs(value);
  if (!std::isfinite(value)) {
    return fmt::format("{:>{}}", fmt::format("{}{}", sign, non_finite(value)),
                       left_ + right_ + 1);
  }
  if (scientific_) {
    const Decimal d = scientific(magnitude, dtype_, fraction_, fraction_);
    return fmt::format("{:>{}}.{}{}", fmt::format("{}{}", sign, d.digits[0]), left_,
                       d.digits.substr(1), exponent_text(d.exponent, exponent_digits_));
  }
  const Parts p = positional(magnitude, dtype_, kPrecision);
  return fmt::format("{:>{}}.{:<{}}", sign + p.whole, left_, p.fraction, right_);
}

std::string float_scalar(double value, DType dtype) {
  return (has_minus(value) ? "-" : "") + scalar_magnitude(std::abs(value), dtype, ".0");
}

std::string complex_scalar(double real, double imaginary, DType part) {
  const auto text = [&](double v) { return scalar_magnitude(std::abs(v), part, ""); };
  const char* minus = has_minus(imaginary) ? "-" : "";
  if (real == 0 && !std::signbit(real)) return minus + text(imaginary) + "j";
  return fmt::format("({}{}{}{}j)", has_minus(real) ? "-" : "", text(real),
                     *minus ? minus : "+", text(imaginary));
}

std::string bfloat16_text(float value) {
  return std::isnan(value) ? "nan" : fmt::format("{:g}", value);
}

}  // namespace tandem
