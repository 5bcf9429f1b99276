// What the CPU's special functions (embedded after this text, in double precision) need
// of the standard library, and their names in expressions.
namespace std {
inline double fabs(double x) { return ::fabs(x); }
inline double exp(double x) { return ::exp(x); }
inline double log(double x) { return ::log(x); }
inline double log1p(double x) { return ::log1p(x); }
inline double sqrt(double x) { return ::sqrt(x); }
inline double floor(double x) { return ::floor(x); }
inline double tan(double x) { return ::tan(x); }
inline double pow(double x, double y) { return ::pow(x, y); }
inline double fmod(double x, double y) { return ::fmod(x, y); }
inline double fma(double x, double y, double z) { return ::fma(x, y, z); }
inline double sinh(double x) { return ::sinh(x); }
inline double copysign(double x, double y) { return ::copysign(x, y); }
inline bool isnan(double x) { return x != x; }
inline bool isinf(double x) { return ::fabs(x) > 1.7976931348623157e308; }
template <class T>
struct numeric_limits;
template <>
struct numeric_limits<double> {
  static constexpr double quiet_NaN() { return kNotANumber; }
  static constexpr double infinity() { return kInfinity; }
  static constexpr double epsilon() { return 2.220446049250313e-16; }
};
// K of order 0 and 1 for 0 < x <= 25: the integral of exp(-x cosh t) cosh(n t) by the
// trapezoid rule, which converges geometrically for such functions. Near 0, where the
// integral is long, the first terms of the series.
inline double cyl_bessel_k(double order, double x) {
  if (x < 1e-5) {
    const double half = 0.5 * x,
                 log_half = ::log(x) - 0.69314718055994530942 + 0.57721566490153286061;
    return order == 0 ? half * half - log_half * (1 + half * half)
                      : 1 / x + half * (log_half - 0.5);
  }
  const double h = 1.0 / 64;
  double sum = 0.5 * ::exp(-x);
  for (int i = 1; i < 2048; ++i) {
    const double t = i * h, term = ::exp(-x * ::cosh(t)) * (order == 0 ? 1.0 : ::cosh(t));
    sum += term;
    if (term < 1e-19 * sum) break;
  }
  return sum * h;
}
// Ei for x > 0: power series, asymptotic expansion from 40 on.
inline double expint(double x) {
  if (x < 40) {
    double term = 1, sum = 0;
    for (int k = 1; k < 200; ++k) {
      term *= x / k;
      sum += term / k;
      if (term / k < 1e-17 * sum) break;
    }
    return 0.57721566490153286061 + ::log(x) + sum;
  }
  double term = 1, sum = 1;
  for (int k = 1; k < 60; ++k) {
    const double next = term * k / x;
    if (next >= term || next < 1e-18) break;
    term = next;
    sum += term;
  }
  return ::exp(x) / x * sum;
}
}  // namespace std
inline double lgamma_r(double x, int*) { return ::lgamma(x); }
