// Gamma and beta functions: asymptotic series after recurrence, power series and
// continued fractions (as in Moshier's Cephes). Derivatives with respect to the shape go
// through dual numbers.
#include <cmath>
#include <limits>

#include <math.h>

#include "kernels/cpu/special_functions.h"

namespace tandem::cpu {

namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kEpsilon = std::numeric_limits<double>::epsilon() / 2;
constexpr double kPi = 3.14159265358979323846;
constexpr int kMaxSteps = 5000;

// A value with its derivative.
struct Dual {
  double v = 0, d = 0;
  Dual(double value, double derivative = 0) : v(value), d(derivative) {}
  friend Dual operator+(Dual a, Dual b) { return {a.v + b.v, a.d + b.d}; }
  friend Dual operator-(Dual a, Dual b) { return {a.v - b.v, a.d - b.d}; }
  friend Dual operator*(Dual a, Dual b) { return {a.v * b.v, a.d * b.v + a.v * b.d}; }
  friend Dual operator/(Dual a, Dual b) {
    const double q = a.v / b.v;
    return {q, (a.d - q * b.d) / b.v};
  }
};
double value(double x) { return x; }
double value(Dual x) { return x.v; }
double derivative(double) { return 0; }
double derivative(Dual x) { return x.d; }
double exp_of(double x) { return std::exp(x); }
Dual exp_of(Dual x) { return {std::exp(x.v), std::exp(x.v) * x.d}; }
double lgamma_of(double x) { return lgamma(x); }
Dual lgamma_of(Dual x) { return {lgamma(x.v), digamma(x.v) * x.d}; }

// x^a exp(-x) / gamma(a)
template <class N>
N power_factor(N a, double x) {
  return exp_of(a * N(std::log(x)) - N(x) - lgamma_of(a));
}

// Lower function by its power series; for x <= 1 or x <= a.
template <class N>
N igamma_series(N a, double x) {
  N r = a, c = 1, sum = 1;
  for (int i = 0; i < kMaxSteps; ++i) {
    r = r + N(1);
    c = c * (N(x) / r);
    sum = sum + c;
    if (std::fabs(value(c)) <= kEpsilon * std::fabs(value(sum)) &&
        std::fabs(derivative(c)) <= kEpsilon * std::fabs(derivative(sum))) {
      break;
    }
  }
  return sum / a * power_factor(a, x);
}

// Upper function by its continued fraction; for x > 1 and x > a.
template <class N>
N igammac_fraction(N a, double x) {
  constexpr double kBig = 4503599627370496.0;
  N y = N(1) - a, z = N(x + 1) + y, c = 0;
  N p2 = 1, q2 = x, p1 = x + 1, q1 = z * N(x), answer = p1 / q1;
  for (int i = 0; i < kMaxSteps; ++i) {
    c = c + N(1);
    y = y + N(1);
    z = z + N(2);
    const N yc = y * c;
    const N p = p1 * z - p2 * yc, q = q1 * z - q2 * yc;
    double change = 1, slope_change = 0;
    if (value(q) != 0) {
      const N next = p / q;
      change = std::fabs((value(answer) - value(next)) / value(next));
      slope_change = std::fabs(derivative(answer) - derivative(next));
      answer = next;
    }
    p2 = p1;
    p1 = p;
    q2 = q1;
    q1 = q;
    if (std::fabs(value(p)) > kBig) {
      const N shrink = 1 / kBig;
      p2 = p2 * shrink;
      p1 = p1 * shrink;
      q2 = q2 * shrink;
      q1 = q1 * shrink;
    }
    if (change <= kEpsilon &&
        slope_change <= kEpsilon * (1 + std::fabs(derivative(answer))))
      break;
  }
  return answer * power_factor(a, x);
}

bool outside(double a, double x) { return !(a > 0) || !(x >= 0); }

// Continued fraction of the incomplete beta function (modified Lentz).
double beta_fraction(double a, double b, double x) {
  constexpr double kTiny = 1e-300;
  const auto guard = [](double v) { return std::fabs(v) < kTiny ? kTiny : v; };
  double c = 1, d = 1 / guard(1 - (a + b) * x / (a + 1)), h = d;
  for (int m = 1; m < kMaxSteps; ++m) {
    const double even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
    d = 1 / guard(1 + even * d);
    c = guard(1 + even / c);
    h *= d * c;
    const double odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
    d = 1 / guard(1 + odd * d);
    c = guard(1 + odd / c);
    h *= d * c;
    if (std::fabs(d * c - 1) <= 2 * kEpsilon) break;
  }
  return h;
}

}  // namespace

double lgamma(double x) {
  int sign;  // lgamma itself writes a global
  return ::lgamma_r(x, &sign);
}

// Around its root a difference of logarithm and sums would have few digits: a polynomial
// times the distance from the root.
double digamma_at_root(double x) {
  constexpr double kRoot = 1.4616321449683622, kRootLow = 9.549995429965697e-17;
  constexpr double c[] = {
      0.9676722454476212,    -0.4427631689835921,   0.2584997609556507,
      -0.16394270544242384,  0.10782405069138053,   -0.07219956125305375,
      0.04880428814664038,   -0.033161126772774274, 0.022597649552993187,
      -0.015424752186194726, 0.010538735067853251,  -0.007204887267650512,
      0.004928209379340783,  -0.003364800517633079, 0.0022841535201202985,
      -0.001611084026818045, 0.0012428563261438477, -0.0006880363794472452};
  const double d = (x - kRoot) - kRootLow;
  double sum = 0;
  for (int i = 17; i >= 0; --i) sum = sum * d + c[i];
  return d * sum;
}

double digamma(double x) {
  if (std::isnan(x) || x == -kInf) return kNan;
  if (x == kInf) return kInf;
  double reflection = 0;
  if (x <= 0) {
    if (x == std::floor(x)) return kNan;
    // psi(x) = psi(1 - x) - pi / tan(pi x), with the argument of tan reduced first.
    const double fraction = x - std::floor(x + 0.5);
    reflection = kPi / std::tan(kPi * fraction);
    x = 1 - x;
  }
  if (x >= 1.2 && x <= 1.76) return digamma_at_root(x) - reflection;
  double shift = 0;
  while (x < 10) {
    shift += 1 / x;
    x += 1;
  }
  const double z = 1 / (x * x);
  const double series =
      z * (1.0 / 12 -
           z * (1.0 / 120 -
                z * (1.0 / 252 -
                     z * (1.0 / 240 - z * (1.0 / 132 - z * (691.0 / 32760 - z / 12))))));
  return std::log(x) - 0.5 / x - series - shift - reflection;
}

// For x > 1 and q that is no whole number below 1; a step for each unit from q to 9.
static double zeta_sum(double x, double q) {
  // (2k)! / B2k, the coefficients of the Euler-Maclaurin sum.
  static constexpr double kA[] = {12.0,
                                  -720.0,
                                  30240.0,
                                  -1209600.0,
                                  47900160.0,
                                  -1.8924375803183791606e9,
                                  7.47242496e10,
                                  -2.950130727918164224e12,
                                  1.1646782814350067249e14,
                                  -4.5979787224074726105e15,
                                  1.8152105401943546773e17,
                                  -7.1661652561756670113e18};
  double a = q, b = std::pow(q, -x), sum = b;
  for (int i = 0; i < 9 || a <= 9; ++i) {
    a += 1;
    b = std::pow(a, -x);
    sum += b;
    if (a > 9 && std::fabs(b) < kEpsilon * std::fabs(sum)) return sum;
  }
  sum += b * a / (x - 1) - 0.5 * b;
  double factor = 1, k = 0;
  for (const double coefficient : kA) {
    factor *= x + k;
    b /= a;
    const double term = factor * b / coefficient;
    sum += term;
    if (std::fabs(term) < kEpsilon * std::fabs(sum)) break;
    k += 1;
    factor *= x + k;
    b /= a;
    k += 1;
  }
  return sum;
}

double zeta(double x, double q) {
  if (std::isnan(x) || std::isnan(q)) return kNan;
  if (x == 1) return kInf;
  if (x < 1) return kNan;
  if (q <= 0) {
    if (q == std::floor(q)) {
      return x == std::floor(x) && std::fmod(x, 2) == 0 ? kInf : kNan;
    }
    if (x != std::floor(x)) return kNan;
  }
  if (q == kInf || x == kInf) return q > 1 ? 0 : q == 1 ? 1 : kInf;
  if (q >= -kMaxSteps) return zeta_sum(x, q);
  // The terms below zero are the first ones of another sum: no step for each.
  const double fraction = q - std::floor(q);
  const double sign = std::fmod(x, 2) == 0 ? 1 : -1;
  return zeta_sum(x, fraction) + sign * zeta_sum(x, 1 - fraction) -
         sign * zeta_sum(x, 1 - q);
}

double polygamma(double n, double x) {
  if (std::isnan(n) || std::isnan(x) || n != std::floor(n) || n < 0) return kNan;
  if (n == 0) return digamma(x);
  const double size = std::exp(lgamma(n + 1)) * zeta(n + 1, x);
  return std::fmod(n, 2) == 0 ? -size : size;
}

double igamma(double a, double x) {
  if (x == 0) return 0;  // as in TensorFlow, whatever a is
  if (outside(a, x)) return kNan;
  if (x == kInf) return a == kInf ? kNan : 1;
  if (a == kInf) return 0;
  return x > 1 && x > a ? 1 - igammac_fraction(a, x) : igamma_series(a, x);
}
double igammac(double a, double x) {
  if (outside(a, x)) return kNan;
  if (x == 0) return 1;
  if (x == kInf) return a == kInf ? kNan : 0;
  if (a == kInf) return 1;
  return x > 1 && x > a ? igammac_fraction(a, x) : 1 - igamma_series(a, x);
}
double igamma_grad_a(double a, double x) {
  if (outside(a, x)) return kNan;
  if (x == 0 || x == kInf || a == kInf) return 0;
  const Dual da{a, 1};
  return x > 1 && x > a ? -igammac_fraction(da, x).d : igamma_series(da, x).d;
}

double betainc(double a, double b, double x) {
  if (!(a > 0) || !(b > 0) || !(x >= 0 && x <= 1)) return kNan;
  if (x == 0 || x == 1) return x;
  const double front = std::exp(lgamma(a + b) - lgamma(a) - lgamma(b) + a * std::log(x) +
                                b * std::log1p(-x));
  if (x < (a + 1) / (a + b + 2)) return front * beta_fraction(a, b, x) / a;
  return 1 - front * beta_fraction(b, a, 1 - x) / b;
}

}  // namespace tandem::cpu
