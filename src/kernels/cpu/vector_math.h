// Math functions of our own, for those that glibc's libmvec gives with 2 to 4 ulp: their
// results are within 1 ulp (docs/precision.md has the table). Straight lines of
// arithmetic that loops turn into vectors; every instruction set gives the same bits,
// since each fused multiply-add is written out. Only for files compiled per ISA.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

namespace tandem::cpu::TANDEM_ISA::vm {

inline float fused(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
inline double fused(double a, double b, double c) { return __builtin_fma(a, b, c); }

/// c0 + c1 x + c2 x² + …, without a loop, which would keep the loop around it from
/// becoming vectors.
template <class T>
inline T polynomial(T, T c0) {
  return c0;
}
template <class T, class... Rest>
inline T polynomial(T x, T c0, Rest... c) {
  return fused(polynomial(x, c...), x, c0);
}

// The constants of a format. kRound: added to a number, it leaves the nearest whole
// number in the low bits.
template <class T>
struct Format;
template <>
struct Format<float> {
  using Int = int32_t;
  using Bits = uint32_t;
  static constexpr int kDigits = 23, kBias = 127;
  static constexpr float kRound = 0x1.8p23f;
  static constexpr float kLog2E = 0x1.715476p+0f;
  // log 2 in two parts; products of whole numbers with the first are exact.
  static constexpr float kLn2 = 0x1.62e4p-1f, kLn2Low = 0x1.7f7d1cp-20f;
  static constexpr float kExpMost = 90, kExpLeast = -105;
};
template <>
struct Format<double> {
  using Int = int64_t;
  using Bits = uint64_t;
  static constexpr int kDigits = 52, kBias = 1023;
  static constexpr double kRound = 0x1.8p52;
  static constexpr double kLog2E = 0x1.71547652b82fep+0;
  static constexpr double kLn2 = 0x1.62e42fefp-1, kLn2Low = 0x1.473de6af278edp-34;
  static constexpr double kExpMost = 712, kExpLeast = -747;
};

// (exp(r) - 1 - r) / r² for |r| up to log(2) / 2.
inline float exp_tail(float r) {
  return polynomial(r, 0.5f, 0x1.5554dcp-3f, 0x1.555518p-5f, 0x1.120be2p-7f,
                    0x1.6d117cp-10f);
}
inline double exp_tail(double r) {
  return polynomial(r, 0.5, 0x1.5555555555557p-3, 0x1.5555555555556p-5,
                    0x1.11111111100bep-7, 0x1.6c16c16c162c3p-10, 0x1.a01a01abf85abp-13,
                    0x1.a01a01a6e1e2ap-16, 0x1.71de01fdbf9cap-19, 0x1.27e4db46cdf51p-22,
                    0x1.af4e554377204p-26, 0x1.1f7340db9ef32p-29);
}

/// 2^kShift exp(x), which overflows and underflows only where the result does.
template <int kShift, class T>
inline T scaled_exp(T x) {
  using F = Format<T>;
  using Int = typename F::Int;
  using Bits = typename F::Bits;
  const T low = x < F::kExpLeast ? F::kExpLeast : x;
  const T c = low > F::kExpMost ? F::kExpMost : low;
  const T rounded = fused(c, F::kLog2E, F::kRound);
  const T n = rounded - F::kRound;
  const T high = fused(n, -F::kLn2, c), part = n * F::kLn2Low;
  const T r = high - part, rest = (high - r) - part;
  const T y = T(1) + (r + fused(r * r, exp_tail(r), rest));
  // By 2^n in two steps, so that subnormal results are rounded once.
  const T half = fused(n, T(0.5), F::kRound);
  const auto n1 = std::bit_cast<Bits>(half);
  const auto n2 = std::bit_cast<Bits>(rounded) - n1;
  const auto bias = static_cast<Bits>(Int{F::kBias});
  const auto shift = static_cast<Bits>(Int{kShift});
  return y * std::bit_cast<T>((n1 + bias) << F::kDigits) *
         std::bit_cast<T>((n2 + bias + shift) << F::kDigits);
}
template <class T>
inline T exp(T x) {
  return scaled_exp<0>(x);
}

template <class T>
inline T cosh(T x) {
  const T half = scaled_exp<-1>(std::fabs(x));
  return half + T(0.25) / half;
}

// log(x) of the numbers that are neither 0 nor negative nor infinite nor NaN is that of
// m 2^e with m around 1; here what it is for the others.
template <class T>
inline T log_of_any(T x, T log) {
  constexpr T kInfinite = std::numeric_limits<T>::infinity();
  const T positive = x < kInfinite ? log : x;
  const T some = x == T(0) ? -kInfinite : positive;
  return x < T(0) ? std::numeric_limits<T>::quiet_NaN() : some;
}
// e log 2 + f + tail, where |f| is not above log 2 / 2 unless e is 0.
template <class T>
inline T log_sum(T e, T f, T tail) {
  using F = Format<T>;
  const T whole = e * F::kLn2;
  const T sum = whole + f;
  return sum + (((whole - sum) + f) + fused(e, F::kLn2Low, tail));
}
inline float log(float x) {
  constexpr uint32_t kLeast = 0x3f3504f3;  // the root of 1/2
  const bool subnormal = x < 0x1p-126f;
  const float scaled = x * 0x1p23f;
  const auto bits = std::bit_cast<uint32_t>(subnormal ? scaled : x);
  const auto above = static_cast<int32_t>(bits - kLeast);
  const float m =
      std::bit_cast<float>(bits - (static_cast<uint32_t>(above) & 0xff800000));
  const float e = static_cast<float>(above >> 23) - (subnormal ? 23.0f : 0.0f);
  const float f = m - 1.0f, z = f * f;
  return log_of_any(
      x, log_sum(e, f,
                 fused(-0.5f, z,
                       f * z *
                           polynomial(f, 0x1.555554p-2f, -0x1.0000d0p-2f, 0x1.999f2ap-3f,
                                      -0x1.54cf5ap-3f, 0x1.23193cp-3f, -0x1.0a3bf6p-3f,
                                      0x1.02a688p-3f, -0x1.43e180p-4f))));
}
inline double log(double x) {
  // As the exponent comes with its bias, no shift of a negative number is needed, which
  // older instruction sets do not have.
  constexpr uint64_t kLeast = 0x3fe6a09e667f3bcdull;  // the root of 1/2
  constexpr uint64_t kOne = 0x3ff0000000000000ull;
  const bool subnormal = x < 0x1p-1022;
  const double scaled = x * 0x1p54;
  const auto bits = std::bit_cast<uint64_t>(subnormal ? scaled : x);
  const uint64_t biased = (bits - kLeast + kOne) >> 52;
  const double m = std::bit_cast<double>(bits - (biased << 52) + kOne);
  const double e = std::bit_cast<double>(biased | std::bit_cast<uint64_t>(0x1p52)) -
                   (subnormal ? 0x1p52 + 1023 + 54 : 0x1p52 + 1023);
  const double f = m - 1, half = 0.5 * f * f;
  const double s = f / (2 + f), w = s * s;
  const double r =
      w * polynomial(w, 0x1.5555555555558p-1, 0x1.9999999995204p-2, 0x1.2492492e09d4dp-2,
                     0x1.c71c62c639fdep-3, 0x1.7462bd8f7796ep-3, 0x1.39fd392179a95p-3,
                     0x1.2b6688a387e03p-3);
  return log_of_any(x, log_sum(e, f, fused(s, half + r, -half)));
}

// An angle less the nearest multiple of pi/2, to twice the precision, and which multiple
// (in the low bits). For |x| up to kFarAngle.
inline constexpr double kFarAngle = 0x1p30;
struct Angle {
  double r, low;
  uint64_t quarter;
};
inline double sum_error(double a, double b, double sum) {
  const double b2 = sum - a;
  return (a - (sum - b2)) + (b - b2);
}
inline Angle reduced(double x) {
  constexpr double kHalfPi = 0x1.921fb54442d18p+0, kHalfPi2 = 0x1.1a62633145c07p-54,
                   kHalfPi3 = -0x1.f1976b7ed8fbcp-110, k2OverPi = 0x1.45f306dc9c883p-1;
  constexpr double kRound = Format<double>::kRound;
  const double rounded = fused(x, k2OverPi, kRound);
  const double n = rounded - kRound;
  const double p = n * kHalfPi, p_low = fused(n, kHalfPi, -p);
  const double a = x - p;  // exact
  const double b = a - p_low, b_error = sum_error(a, -p_low, b);
  const double q = n * kHalfPi2, q_low = fused(n, kHalfPi2, -q);
  const double d = b - q, d_error = sum_error(b, -q, d);
  const double rest = (b_error + d_error) - fused(n, kHalfPi3, q_low);
  const double r = d + rest;
  return {r, (d - r) + rest, std::bit_cast<uint64_t>(rounded)};
}

// Sine and cosine of r + low, |r| up to pi/4, each as a number and what is to be added.
struct Halves {
  double high, tail;
};
inline Halves sine(double r, double low) {
  const double z = r * r;
  return {r, fused(r * z,
                   polynomial(z, -0x1.5555555555555p-3, 0x1.1111111111110p-7,
                              -0x1.a01a01a01984bp-13, 0x1.71de3a5444193p-19,
                              -0x1.ae6453e1ed29dp-26, 0x1.612158d39590bp-33,
                              -0x1.ab01958dd08f7p-41),
                   fused(-0.5 * z, low, low))};
}
inline Halves cosine(double r, double low) {
  const double z = r * r, half = 0.5 * z, w = 1 - half;
  return {w, ((1 - w) - half) +
                 fused(z * z,
                       polynomial(z, 0x1.5555555555555p-5, -0x1.6c16c16c1690ap-10,
                                  0x1.a01a019f3910ap-16, -0x1.27e4f9fc2b4bcp-22,
                                  0x1.1eeb4c6e0c1c7p-29, -0x1.906960d0b1271p-37),
                       -r * low)};
}
inline double with_sign_of_bit_1(double value, uint64_t quarter) {
  return std::bit_cast<double>(std::bit_cast<uint64_t>(value) ^ (quarter & 2) << 62);
}

inline double sin(double x) {
  const Angle a = reduced(x);
  const Halves s = sine(a.r, a.low), c = cosine(a.r, a.low);
  const bool odd = a.quarter & 1;
  const double high = odd ? c.high : s.high, tail = odd ? c.tail : s.tail;
  const double value = with_sign_of_bit_1(high + tail, a.quarter);
  return x == 0 ? x : value;
}
inline double cos(double x) {
  const Angle a = reduced(x);
  const Halves s = sine(a.r, a.low), c = cosine(a.r, a.low);
  const bool odd = a.quarter & 1;
  const double high = odd ? s.high : c.high, tail = odd ? s.tail : c.tail;
  return with_sign_of_bit_1(high + tail, a.quarter + (a.quarter & 1));
}
inline double tan(double x) {
  const Angle a = reduced(x);
  const Halves s = sine(a.r, a.low), c = cosine(a.r, a.low);
  const bool odd = a.quarter & 1;
  const Halves over = odd ? c : s, under = odd ? s : c;
  const double y = over.high + over.tail, d = under.high + under.tail;
  const double y_low = (over.high - y) + over.tail;
  const double d_low = (under.high - d) + under.tail;
  const double q = y / d;
  const double left = fused(-q, d_low, fused(-q, d, y) + y_low);
  const double value = q + left / d;
  const double signed_value = odd ? -value : value;
  return x == 0 ? x : signed_value;
}
/// By way of double, which makes one rounding of it.
inline float tan(float x) {
  constexpr double kHalfPi = 0x1.921fb54442d18p+0, kHalfPi2 = 0x1.1a62633145c07p-54,
                   k2OverPi = 0x1.45f306dc9c883p-1;
  constexpr double kRound = Format<double>::kRound;
  const double wide = x;
  const double rounded = fused(wide, k2OverPi, kRound), n = rounded - kRound;
  const double r = fused(-n, kHalfPi2, fused(-n, kHalfPi, wide)), z = r * r;
  const double s = fused(r * z,
                         polynomial(z, -0x1.5555555443c1dp-3, 0x1.11110db01c12ep-7,
                                    -0x1.a013537ad1f92p-13, 0x1.6da31da3b91b3p-19),
                         r);
  const double c = fused(z * z,
                         polynomial(z, 0x1.55555554fa091p-5, -0x1.6c16bf2acaeb2p-10,
                                    0x1.a0158c56c1d30p-16, -0x1.2512552dc5bb7p-22),
                         fused(-0.5, z, 1.0));
  const bool odd = std::bit_cast<uint64_t>(rounded) & 1;
  const double over = odd ? -c : s, under = odd ? s : c;
  const float value = static_cast<float>(over / under);
  return x == 0 ? x : value;
}

// (asin(x) - x) / x³ of z = x², up to 1/4.
inline double asin_tail(double z) {
  return polynomial(z, 0x1.5555555555556p-3, 0x1.3333333332ec4p-4, 0x1.6db6db6e3292ep-5,
                    0x1.f1c71c1d4aa0dp-6, 0x1.6e8bb1d89492bp-6, 0x1.1c4d343fa57f6p-6,
                    0x1.c9cf3759fd8ffp-7, 0x1.78246f32d075cp-7, 0x1.524ea8b3aad31p-7,
                    0x1.653a8f8cfd43cp-8, 0x1.1d661531b222ep-6, -0x1.e7a24f548c99fp-7,
                    0x1.d78189767524ep-6);
}
// asin of |x| up to 1/2; else asin of the root of (1 - |x|) / 2, of which acos(|x|) is
// twice. The root is only as good as its last bit, hence `tail`.
struct Arc {
  double high, tail;
  bool steep;
};
inline Arc arc(double x) {
  const double size = std::fabs(x);
  const bool steep = size > 0.5;
  const double z = steep ? 0.5 * (1 - size) : size * size;
  const double root = std::sqrt(z);
  const double missing = fused(-root, root, z) / (2 * root);
  const double high = steep ? root : size;
  const double root_tail = root > 0 ? missing : 0.0;
  return {high, fused(high * z, asin_tail(z), steep ? root_tail : 0.0), steep};
}
inline constexpr double kQuarterTurn = 0x1.921fb54442d18p+0;
inline constexpr double kQuarterTurnLow = 0x1.1a62633145c07p-54;

inline double asin(double x) {
  const Arc a = arc(x);
  const double twice = 2 * a.high, top = kQuarterTurn - twice;
  const double rest =
      sum_error(kQuarterTurn, -twice, top) + fused(-2.0, a.tail, kQuarterTurnLow);
  const double high = a.steep ? top : a.high, tail = a.steep ? rest : a.tail;
  return std::copysign(high + tail, x);
}
inline double acos(double x) {
  const Arc a = arc(x);
  const bool negative = x < 0;
  // Flat: pi/2 ∓ asin; steep: twice the arc, or pi less it.
  const double sign = negative ? 1.0 : -1.0;
  const double base = a.steep ? (negative ? 2 * kQuarterTurn : 0.0) : kQuarterTurn;
  const double base_low =
      a.steep ? (negative ? 2 * kQuarterTurnLow : 0.0) : kQuarterTurnLow;
  const double times = a.steep ? -2 * sign : sign;
  const double part = times * a.high, sum = base + part;
  return sum + (sum_error(base, part, sum) + fused(times, a.tail, base_low));
}

/// The root of x² + y²; by way of double, where no square overflows.
inline float hypot(float x, float y) {
  constexpr float kInfinite = std::numeric_limits<float>::infinity();
  const double a = x, b = y;
  const float value = static_cast<float>(std::sqrt(fused(a, a, b * b)));
  const bool infinite = (std::fabs(x) == kInfinite) | (std::fabs(y) == kInfinite);
  return infinite ? kInfinite : value;
}
/// The larger is brought near 1 where its square would overflow or vanish.
inline double hypot(double x, double y) {
  constexpr double kInfinite = std::numeric_limits<double>::infinity();
  const double a = std::fabs(x), b = std::fabs(y);
  const double most = a > b ? a : b, least = a > b ? b : a;
  const bool large = most > 0x1p500, small = most < 0x1p-400;
  const double scale = large ? 0x1p-600 : (small ? 0x1p600 : 1.0);
  const double back = large ? 0x1p600 : (small ? 0x1p-600 : 1.0);
  const double h = most * scale, l = least * scale;
  // Where both are of one size, (h - l)² + 2hl has one rounding of weight, h² + l² two.
  const double apart = h - l;
  const double far = fused(h, h, l * l), close = fused(2 * l, h, apart * apart);
  const double value = std::sqrt(2 * l < h ? far : close) * back;
  const bool infinite = (a == kInfinite) | (b == kInfinite);
  return infinite ? kInfinite : value;
}

}  // namespace tandem::cpu::TANDEM_ISA::vm
