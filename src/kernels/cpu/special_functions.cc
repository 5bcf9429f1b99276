// Inverse error functions (Wichura's AS 241), Bessel functions and a few integrals.
#include "kernels/cpu/special_functions.h"

#include <cmath>
#include <limits>

namespace tandem::cpu {

namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kPi = 3.14159265358979323846;

// Coefficients from the lowest power.
template <int N>
double polynomial(const double (&c)[N], double x) {
  double r = c[N - 1];
  for (int i = N - 2; i >= 0; --i) r = r * x + c[i];
  return r;
}

// Normal quantile for p = 0.5 + q with `tail` = min(p, 1 - p), given apart so that
// neither is lost to rounding.
double normal_quantile(double q, double tail) {
  static constexpr double kA[] = {3.3871328727963666080e0,  1.3314166789178437745e+2,
                                  1.9715909503065514427e+3, 1.3731693765509461125e+4,
                                  4.5921953931549871457e+4, 6.7265770927008700853e+4,
                                  3.3430575583588128105e+4, 2.5090809287301226727e+3};
  static constexpr double kB[] = {1.0,
                                  4.2313330701600911252e+1,
                                  6.8718700749205790830e+2,
                                  5.3941960214247511077e+3,
                                  2.1213794301586595867e+4,
                                  3.9307895800092710610e+4,
                                  2.8729085735721942674e+4,
                                  5.2264952788528545610e+3};
  static constexpr double kC[] = {1.42343711074968357734e0,  4.63033784615654529590e0,
                                  5.76949722146069140550e0,  3.64784832476320460504e0,
                                  1.27045825245236838258e0,  2.41780725177450611770e-1,
                                  2.27238449892691845833e-2, 7.74545014278341407640e-4};
  static constexpr double kD[] = {1.0,
                                  2.05319162663775882187e0,
                                  1.67638483018380384940e0,
                                  6.89767334985100004550e-1,
                                  1.48103976427480074590e-1,
                                  1.51986665636164571966e-2,
                                  5.47593808499534494600e-4,
                                  1.05075007164441684324e-9};
  static constexpr double kE[] = {6.65790464350110377720e0,  5.46378491116411436990e0,
                                  1.78482653991729133580e0,  2.96560571828504891230e-1,
                                  2.65321895265761230930e-2, 1.24266094738807843860e-3,
                                  2.71155556874348757815e-5, 2.01033439929228813265e-7};
  static constexpr double kF[] = {1.0,
                                  5.99832206555887937690e-1,
                                  1.36929880922735805310e-1,
                                  1.48753612908506148525e-2,
                                  7.86869131145613259100e-4,
                                  1.84631831751005468180e-5,
                                  1.42151175831644588870e-7,
                                  2.04426310338993978564e-15};
  if (std::fabs(q) <= 0.425) {
    const double r = 0.180625 - q * q;
    return q * polynomial(kA, r) / polynomial(kB, r);
  }
  const double r = std::sqrt(-std::log(tail));
  const double size = r <= 5 ? polynomial(kC, r - 1.6) / polynomial(kD, r - 1.6)
                             : polynomial(kE, r - 5) / polynomial(kF, r - 5);
  return q < 0 ? -size : size;
}

// The unevaluated sum of two numbers, for series of so many terms that their roundings
// would be seen.
struct Pair {
  double high, low;
};
Pair fast_sum(double large, double small) {
  const double sum = large + small;
  return {sum, (large - sum) + small};
}
Pair square(double x) {
  const double p = x * x;
  return {p, std::fma(x, x, -p)};
}
Pair operator*(Pair a, Pair b) {
  const double p = a.high * b.high;
  return fast_sum(p, std::fma(a.high, b.high, -p) + (a.high * b.low + a.low * b.high));
}
Pair operator/(Pair a, double b) {
  const double q = a.high / b;
  return fast_sum(q, (std::fma(-q, b, a.high) + a.low) / b);
}
// |a| not below |b|.
Pair operator+(Pair a, Pair b) {
  const Pair s = fast_sum(a.high, b.high);
  return fast_sum(s.high, s.low + (a.low + b.low));
}
// exp(-x²), of which the rounding of x² would leave few digits for large x.
double exp_minus_square(double x) {
  const Pair s = square(x);
  return std::exp(-s.high) * (1 - s.low);
}

// sum over k of (x/2)^(2k) / (k! (k + order)!), all terms positive.
double bessel_i_series(int order, double x) {
  const Pair z = square(0.5 * x);
  Pair term{1, 0}, sum{1, 0};
  for (int k = 1; term.high > sum.high * 1e-17; ++k) {
    term = term * z / (static_cast<double>(k) * (k + order));
    sum = term.high > sum.high ? term + sum : sum + term;
  }
  return order == 0 ? sum.high : 0.5 * x * sum.high;
}
// Factor of the asymptotic expansions of I (sign -1) and K (sign 1) for large x.
double bessel_large(int order, double x, double sign) {
  const double mu = 4.0 * order * order;
  double term = 1, sum = 1;
  for (int k = 1; k < 60; ++k) {
    const double odd = 2.0 * k - 1;
    const double next = term * sign * (mu - odd * odd) / (8 * k * x);
    if (std::fabs(next) >= std::fabs(term)) break;
    term = next;
    sum += term;
    if (std::fabs(term) < 1e-17) break;
  }
  return sum;
}
constexpr double kLarge = 25;

double bessel_ie(int order, double x) {
  const double a = std::fabs(x);
  const double r = a < kLarge ? std::exp(-a) * bessel_i_series(order, a)
                              : bessel_large(order, a, -1) / std::sqrt(2 * kPi * a);
  return order == 1 && x < 0 ? -r : r;
}
// exp(x) K(x) is the integral of exp(-x (cosh t - 1)) cosh(order t) over t > 0. For such
// functions the trapezoid rule converges geometrically, and its terms are positive.
double bessel_k_integral(int order, double x) {
  constexpr double kStep = 0.125;
  double sum = 0.5, rest = 0;
  for (int i = 1; i < 1024; ++i) {
    const double half = std::sinh(0.5 * kStep * i);
    const double rise = 2 * half * half;  // cosh t - 1
    const double term = std::exp(-x * rise) * (order == 0 ? 1 : 1 + rise);
    const Pair s = fast_sum(sum, term);
    sum = s.high;
    rest += s.low;
    if (term < sum * 1e-18) break;
  }
  return (sum + rest) * kStep;
}
double bessel_ke(int order, double x) {
  if (std::isnan(x)) return kNan;
  if (x <= 0) return kInf;
  if (x == kInf) return 0;
  if (x > kLarge) return std::sqrt(kPi / (2 * x)) * bessel_large(order, x, 1);
  if (x > 0.5) return bessel_k_integral(order, x);
  return std::exp(x) * std::cyl_bessel_k(order, x);
}

}  // namespace

double erfinv(double x) {
  const double size = std::fabs(x);
  if (!(size <= 1)) return kNan;
  if (size == 1) return std::copysign(kInf, x);
  return normal_quantile(x / 2, (1 - size) / 2) * 0.70710678118654752440;
}
double ndtri(double p) {
  if (!(p >= 0 && p <= 1)) return kNan;
  if (p == 0) return -kInf;
  if (p == 1) return kInf;
  return normal_quantile(p - 0.5, p < 0.5 ? p : 1 - p);
}

double bessel_i0e(double x) { return bessel_ie(0, x); }
double bessel_i1e(double x) { return bessel_ie(1, x); }
double bessel_k0e(double x) { return bessel_ke(0, x); }
double bessel_k1e(double x) { return bessel_ke(1, x); }

double bessel_y0_near_zeros(double x, double y) {
  // The zeros, as sums of two numbers, and the slopes there.
  static constexpr double kZeros[][3] = {
      {0.89357696627916749, 2.6596231539720385e-17, 0.87942080249719479},
      {3.957678419314858, -1.0764340697562706e-16, -0.40254267177502423},
      {7.0860510603017728, -8.8352857230854081e-17, 0.30009761491047521},
      {10.222345043496418, -7.9673950503088094e-16, -0.24970123751468479},
      {13.361097473872764, -6.6261094937125287e-16, 0.21835829659767134},
      {16.50092244152809, 1.0187464212445755e-15, -0.19646493789501676},
      {19.641309700887941, -1.3738085245174177e-15, 0.18006317633754418},
      {22.782028047291558, 1.5905927758681248e-15, -0.16718449805101074},
      {25.922957653180923, -2.254067267232836e-16, 0.15672492885024078},
      {29.064030252728397, 9.2519163791200692e-16, -0.14801107561113566},
      {32.205204116493277, 3.240071558384457e-15, 0.14060577650750067},
      {35.346452305214321, -1.7946483769852148e-16, -0.13421122603883404}};
  if (!(std::fabs(y) < 0.05) || x > 36.5) return y;
  const double* zero = kZeros[static_cast<int>(x / kPi + 0.25)];
  const double z = zero[0], d = (x - z) - zero[1];
  // Taylor's series, whose coefficients follow from x y'' + y' + x y = 0.
  double before = 0, last = zero[2], next = -last / (2 * z);
  double power = d * d, sum = next * power;
  for (int n = 1; n < 14; ++n) {
    const double coefficient =
        -((n + 1) * (n + 1) * next + z * last + before) / (z * (n + 2) * (n + 1));
    before = last;
    last = next;
    next = coefficient;
    power *= d;
    sum += next * power;
  }
  return zero[2] * d + sum;
}

double dawsn(double x) {
  const double a = std::fabs(x);
  double r;
  if (a < 10) {
    // x sum (-2x²)^k / (2k+1)!! loses digits to cancellation; this form has positive
    // terms only: exp(-x²) sum x^(2k+1) / (k! (2k+1)).
    const Pair s = square(a);
    Pair power{a, 0}, sum{a, 0};
    for (int k = 1; power.high > sum.high * 1e-18; ++k) {
      power = power * s / k;
      const Pair term = power / (2.0 * k + 1);
      sum = term.high > sum.high ? term + sum : sum + term;
      if (term.high < sum.high * 1e-18) break;
    }
    r = exp_minus_square(a) * sum.high;
  } else {
    double term = 1, sum = 1;
    for (int k = 1; k < 40; ++k) {
      const double next = term * (2 * k - 1) / (2 * a * a);
      if (next >= term || next < 1e-18) break;
      term = next;
      sum += term;
    }
    r = std::isinf(a) ? 0 : sum / (2 * a);
  }
  return std::isnan(x) ? kNan : std::copysign(r, x);
}

double expint(double x) {
  if (std::isnan(x) || x < 0) return kNan;
  if (x == 0) return -kInf;
  if (x == kInf) return kInf;
  return std::expint(x);
}

double spence(double x) {
  if (!(x >= 0)) return kNan;
  constexpr double kSixth = kPi * kPi / 6;
  if (x == 0) return kSixth;
  if (x == kInf) return -kInf;
  // Li2(1 - x), moved into |z| <= 1/2 by its functional equations.
  const auto series = [](double z) {
    double power = z, sum = z;
    for (int k = 2; k < 100 && std::fabs(power) > 1e-18 * std::fabs(sum); ++k) {
      power *= z;
      sum += power / (static_cast<double>(k) * k);
    }
    return sum;
  };
  if (x > 2) {
    const double l = std::log(x);
    return -0.5 * l * l - spence(1 / x);
  }
  if (x < 0.5) return kSixth - std::log(x) * std::log1p(-x) - series(x);
  if (x <= 1.5) return series(1 - x);
  const double l = std::log(x);
  return -0.5 * l * l - series(1 - 1 / x);
}

}  // namespace tandem::cpu
