// The functions of elementwise expressions, as f_name, for every type they are computed
// in: float, double, cplx and the integers. float16 and bfloat16 compute as float. The
// results are those of the CPU's kernels, to rounding.

// ---- Complex arithmetic
// ----------------------------------------------------------------
#define CPLX         \
  template <class R> \
  inline cplx<R>
CPLX operator+(cplx<R> x, cplx<R> y) { return {x.re + y.re, x.im + y.im}; }
CPLX operator-(cplx<R> x, cplx<R> y) { return {x.re - y.re, x.im - y.im}; }
CPLX operator-(cplx<R> x) { return {-x.re, -x.im}; }
CPLX operator*(cplx<R> x, cplx<R> y) {
  return {x.re * y.re - x.im * y.im, x.re * y.im + x.im * y.re};
}
/// An infinity as 1 and what is finite as 0, both with their sign: the direction of a
/// number that is infinite.
template <class R>
inline R direction(R x) {
  return copysign(isinf(x) ? R(1) : R(0), x);
}
CPLX directions(cplx<R> x) { return {direction(x.re), direction(x.im)}; }
// Scaled by the larger part, so that squares do not overflow.
CPLX scaled_quotient(cplx<R> x, cplx<R> y) {
  if (fabs(y.re) >= fabs(y.im)) {
    const R r = y.im / y.re, d = y.re + y.im * r;
    if (y.re == 0 && y.im == 0) return {x.re / y.re, x.im / y.re};
    return {(x.re + x.im * r) / d, (x.im - x.re * r) / d};
  }
  const R r = y.re / y.im, d = y.im + y.re * r;
  return {(x.re * r + x.im) / d, (x.im * r - x.re) / d};
}
// As C99 says it (Annex G): a number with an infinite part is infinite, and divided by it
// what is finite is 0, whatever the other part.
CPLX operator/(cplx<R> x, cplx<R> y) {
  const cplx<R> q = scaled_quotient(x, y);
  if (q.re == q.re || q.im == q.im || (y.re == 0 && y.im == 0)) return q;
  const bool infinite = isinf(x.re) || isinf(x.im);
  const bool by_infinite = isinf(y.re) || isinf(y.im);
  R by;
  if (infinite && isfinite(y.re) && isfinite(y.im)) {
    x = directions(x);
    by = R(kInfinity);
  } else if (by_infinite && isfinite(x.re) && isfinite(x.im)) {
    y = directions(y);
    by = R(0);
  } else {
    return q;
  }
  return {by * (x.re * y.re + x.im * y.im), by * (x.im * y.re - x.re * y.im)};
}
template <class R>
inline bool operator==(cplx<R> x, cplx<R> y) {
  return x.re == y.re && x.im == y.im;
}
template <class R>
inline bool operator!=(cplx<R> x, cplx<R> y) {
  return !(x == y);
}

// ---- float and double
// ------------------------------------------------------------------
#define FN1(name, f32, f64)                         \
  inline float f_##name(float x) { return f32(x); } \
  inline double f_##name(double x) { return f64(x); }
#define FN2(name, f32, f64)                                     \
  inline float f_##name(float x, float y) { return f32(x, y); } \
  inline double f_##name(double x, double y) { return f64(x, y); }
FN1(exp, expf, exp)
FN1(expm1, expm1f, expm1)
FN1(log, logf, log)
FN1(log1p, log1pf, log1p)
FN1(sin, sinf, sin)
FN1(cos, cosf, cos)
FN1(tan, tanf, tan)
FN1(asin, asinf, asin)
FN1(acos, acosf, acos)
FN1(atan, atanf, atan)
FN1(sinh, sinhf, sinh)
FN1(cosh, coshf, cosh)
FN1(tanh, tanhf, tanh)
FN1(asinh, asinhf, asinh)
FN1(acosh, acoshf, acosh)
FN1(atanh, atanhf, atanh)
FN1(erf, erff, erf)
FN1(erfc, erfcf, erfc)
FN1(floor, floorf, floor)
FN1(ceil, ceilf, ceil)
FN1(rint, rintf, rint)
FN1(round, rintf, rint)
FN1(sqrt, sqrtf, sqrt)
FN1(abs, fabsf, fabs)
FN2(atan2, atan2f, atan2)
FN2(nextafter, nextafterf, nextafter)
FN2(hypot, hypotf, hypot)
inline bool f_isnan(float x) { return x != x; }
inline bool f_isnan(double x) { return x != x; }
inline bool f_isinf(float x) { return isinf(x); }
inline bool f_isinf(double x) { return isinf(x); }
inline bool f_isfinite(float x) { return isfinite(x); }
inline bool f_isfinite(double x) { return isfinite(x); }
#undef FN1
#undef FN2

// ---- Arithmetic that integers do their own way
// -------------------------------------------
template <class T>
inline T f_add(T x, T y) {
  if constexpr (is_int<T>::value) {
    typedef typename uint_of<sizeof(T)>::type U;
    return (T)(U)((U)x + (U)y);
  } else {
    return x + y;
  }
}
template <class T>
inline T f_sub(T x, T y) {
  if constexpr (is_int<T>::value) {
    typedef typename uint_of<sizeof(T)>::type U;
    return (T)(U)((U)x - (U)y);
  } else {
    return x - y;
  }
}
template <class T>
inline T f_mul(T x, T y) {
  if constexpr (is_int<T>::value) {
    // At least 32 bits: products of 16-bit numbers overflow int.
    typedef typename uint_of<(sizeof(T) < 4 ? 4 : sizeof(T))>::type U;
    return (T)((U)x * (U)y);
  } else {
    return x * y;
  }
}
template <class T>
inline T f_neg(T x) {
  if constexpr (is_int<T>::value) {
    return f_sub(T(0), x);
  } else {
    return -x;
  }
}
template <class T>
inline T f_square(T x) {
  return f_mul(x, x);
}
template <class T>
inline T f_squareddifference(T x, T y) {
  const T d = f_sub(x, y);
  if constexpr (is_cplx<T>::value) {
    return T(d.re * d.re + d.im * d.im);
  } else {
    return f_mul(d, d);
  }
}
template <class T>
inline T f_maximum(T x, T y) {
  return (x > y || x != x) ? x : y;
}
template <class T>
inline T f_minimum(T x, T y) {
  return (x < y || x != x) ? x : y;
}
inline i8 f_abs(i8 x) { return x < 0 ? f_neg(x) : x; }
inline i16 f_abs(i16 x) { return x < 0 ? f_neg(x) : x; }
inline i32 f_abs(i32 x) { return x < 0 ? f_neg(x) : x; }
inline i64 f_abs(i64 x) { return x < 0 ? f_neg(x) : x; }
inline i8 f_round(i8 x) { return x; }
inline i16 f_round(i16 x) { return x; }
inline i32 f_round(i32 x) { return x; }
inline i64 f_round(i64 x) { return x; }
template <class T>
inline T f_sign(T x) {
  if constexpr (is_int<T>::value) {
    return (T)((x > 0) - (x < 0));
  } else {
    return x != x ? x : (T)(x > 0) - (T)(x < 0);
  }
}
CPLX f_sign(cplx<R> x) {
  const R size = f_hypot(x.re, x.im);
  return size == 0 ? cplx<R>(0) : cplx<R>(x.re / size, x.im / size);
}

// Division of integers: a zero divisor is reported through `fail` (1), and a negative
// exponent (2).
template <class T>
inline T int_quotient(T x, T y) {
  if constexpr (is_signed_int<T>::value) {
    if (y == T(-1)) return f_neg(x);
  }
  return (T)(x / y);
}
template <class T>
inline T f_truncatediv(T x, T y, int& fail) {
  if constexpr (is_int<T>::value) {
    if (y == 0) return fail = 1, T(0);
    return int_quotient(x, y);
  } else {
    return (T)trunc(x / y);
  }
}
template <class T>
inline T f_truncatemod(T x, T y, int& fail) {
  if constexpr (is_int<T>::value) {
    if (y == 0) return fail = 1, T(0);
    return f_sub(x, f_mul(int_quotient(x, y), y));
  } else {
    return (T)fmod(x, y);
  }
}
template <class T>
inline T f_floordiv(T x, T y, int& fail) {
  if constexpr (is_int<T>::value) {
    if (y == 0) return fail = 1, T(0);
    const T q = int_quotient(x, y), r = f_sub(x, f_mul(q, y));
    if constexpr (is_signed_int<T>::value) {
      return (T)(q - ((r != 0) & ((r < 0) != (y < 0))));
    }
    return q;
  } else {
    return (T)floor(x / y);
  }
}
template <class T>
inline T f_floormod(T x, T y, int& fail) {
  const T r = f_truncatemod(x, y, fail);
  if constexpr (is_int<T>::value && !is_signed_int<T>::value) return r;
  return (r != 0 && (r < 0) != (y < 0)) ? (T)(r + y) : r;
}
inline float f_pow(float x, float y, int&) { return powf(x, y); }
inline double f_pow(double x, double y, int&) { return pow(x, y); }
template <class T>
inline T int_pow(T x, T y, int& fail) {
  if (y < 0) return fail = 2, T(0);
  T base = x, result = 1;
  for (u64 e = (u64)y; e; e >>= 1) {
    if (e & 1) result = f_mul(result, base);
    base = f_mul(base, base);
  }
  return result;
}
inline i8 f_pow(i8 x, i8 y, int& fail) { return int_pow(x, y, fail); }
inline i16 f_pow(i16 x, i16 y, int& fail) { return int_pow(x, y, fail); }
inline i32 f_pow(i32 x, i32 y, int& fail) { return int_pow(x, y, fail); }
inline i64 f_pow(i64 x, i64 y, int& fail) { return int_pow(x, y, fail); }

// ---- Bits
// --------------------------------------------------------------------------------
template <class T>
inline T f_bitwiseand(T x, T y) {
  return (T)(x & y);
}
template <class T>
inline T f_bitwiseor(T x, T y) {
  return (T)(x | y);
}
template <class T>
inline T f_bitwisexor(T x, T y) {
  return (T)(x ^ y);
}
template <class T>
inline T f_invert(T x) {
  return (T)~x;
}
template <class T>
inline int shift_count(T y) {
  const int most = sizeof(T) * 8 - 1;
  if (y < T(0)) return 0;
  return y > T(most) ? most : (int)y;
}
template <class T>
inline T f_leftshift(T x, T y) {
  typedef typename uint_of<sizeof(T)>::type U;
  return (T)(U)((u64)(U)x << shift_count(y));
}
template <class T>
inline T f_rightshift(T x, T y) {
  return (T)(x >> shift_count(y));
}
template <class T>
inline u8 f_populationcount(T x) {
  return (u8)__popcll((u64)(typename uint_of<sizeof(T)>::type)x);
}

// ---- Complex functions
// ---------------------------------------------------------------------
template <class R>
inline R f_real(cplx<R> x) {
  return x.re;
}
template <class R>
inline R f_imag(cplx<R> x) {
  return x.im;
}
template <class R>
inline R f_complexabs(cplx<R> x) {
  return f_hypot(x.re, x.im);
}
template <class R>
inline R f_angle(cplx<R> x) {
  return f_atan2(x.im, x.re);
}
CPLX f_complex(R re, R im) { return {re, im}; }
template <class T>
inline T f_conj(T x) {
  return x;
}
CPLX f_conj(cplx<R> x) { return {x.re, -x.im}; }
// What follows gives what C99's Annex G says for zeros, infinities and NaNs, as the CPU's
// kernels do.
/// Above it powers of e may not fit their type, though a small part of one does.
template <class R>
inline R large_power() {
  return sizeof(R) == 4 ? R(80) : R(700);
}
/// by e^x times a part of a number of size 1; 0 times what overflows is 0.
template <class R>
inline R power_times(R by, R x, R part) {
  if (part == 0) return part;
  const R half = f_exp(x / 2);
  return by * half * part * half;
}
/// Numbers whose squares, or sums with another one, may not fit.
template <class R>
inline R very_large() {
  return sizeof(R) == 4 ? R(1e37) : R(1e307);
}
template <class R>
inline R very_small() {
  return sizeof(R) == 4 ? R(1e-36) : R(1e-305);
}
/// What brings a finite number's parts between the two: 1 for most, an even power of 2.
template <class R>
inline R scale_of(cplx<R> z) {
  const R size = f_maximum(f_abs(z.re), f_abs(z.im));
  return size > very_large<R>()   ? R(0.0625)
         : size < very_small<R>() ? R(1152921504606846976.0)
                                  : R(1);
}
CPLX f_exp(cplx<R> x) {
  if (x.im == 0) return {f_exp(x.re), x.im};
  if (!f_isfinite(x.im)) {
    if (f_isinf(x.re) && x.re < 0) return {0, 0};
    const R none = x.im - x.im;
    return {f_isinf(x.re) ? x.re : none, none};
  }
  const R along = f_cos(x.im), across = f_sin(x.im);
  if (x.re > large_power<R>()) {
    return {power_times(R(1), x.re, along), power_times(R(1), x.re, across)};
  }
  const R e = f_exp(x.re);
  return {e * along, e * across};
}
CPLX f_log(cplx<R> x) {
  const R by = scale_of(x), size = f_hypot(x.re * by, x.im * by);
  return {by == 1 ? f_log(size) : f_log(size) - f_log(by), f_atan2(x.im, x.re)};
}
CPLX f_expm1(cplx<R> z) {
  const R half = f_sin(z.im / 2), e = f_expm1(z.re);
  return {e * f_cos(z.im) - 2 * half * half, (e + 1) * f_sin(z.im)};
}
CPLX f_log1p(cplx<R> z) {
  const R a = z.re, b = z.im;
  if (f_abs(a) > R(0.5) || f_abs(b) > R(0.5)) return f_log(cplx<R>(1 + a, b));
  return {R(0.5) * f_log1p(a * (2 + a) + b * b), f_atan2(b, 1 + a)};
}
CPLX f_sqrt(cplx<R> z) {
  if (z.re == 0 && z.im == 0) return {0, z.im};
  if (f_isinf(z.im)) return {R(kInfinity), z.im};
  if (f_isinf(z.re)) {
    const R other = z.im - z.im;  // 0, or the NaN that the other part is
    if (z.re > 0) return {z.re, other == 0 ? copysign(R(0), z.im) : other};
    return {f_abs(other), copysign(R(kInfinity), z.im)};
  }
  const R by = scale_of(z), root = f_sqrt(by);
  const R re = z.re * by, im = z.im * by;
  const R w = f_sqrt((f_hypot(re, im) + f_abs(re)) / 2);
  if (re >= 0) return {w / root, im / (2 * w) / root};
  return {f_abs(im) / (2 * w) / root, copysign(w / root, im)};
}
template <class T>
inline T f_rsqrt(T x) {
  return T(1) / f_sqrt(x);
}
CPLX f_sinh(cplx<R> z) {
  if (z.im == 0) return {f_sinh(z.re), z.im};
  if (!f_isfinite(z.im)) {
    const R none = z.im - z.im;
    return {z.re == 0 ? z.re : f_isinf(z.re) ? f_abs(z.re) : none, none};
  }
  const R along = f_cos(z.im), across = f_sin(z.im), size = f_abs(z.re);
  if (size > large_power<R>()) {
    return {power_times(copysign(R(0.5), z.re), size, along),
            power_times(R(0.5), size, across)};
  }
  return {f_sinh(z.re) * along, f_cosh(z.re) * across};
}
CPLX f_cosh(cplx<R> z) {
  if (z.im == 0) return {f_cosh(z.re), copysign(R(1), z.re) * z.im};
  if (!f_isfinite(z.im)) {
    const R none = z.im - z.im;
    return {f_isinf(z.re) ? f_abs(z.re) : none, z.re == 0 ? R(0) : none};
  }
  const R along = f_cos(z.im), across = f_sin(z.im), size = f_abs(z.re);
  if (size > large_power<R>()) {
    return {power_times(R(0.5), size, along),
            power_times(copysign(R(0.5), z.re), size, across)};
  }
  return {f_cosh(z.re) * along, f_sinh(z.re) * across};
}
CPLX f_tanh(cplx<R> z) {
  if (z.im == 0) return {f_tanh(z.re), z.im};
  if (!f_isfinite(z.im)) {
    if (f_isinf(z.re)) return {copysign(R(1), z.re), 0};
    const R none = z.im - z.im;
    return {z.re == 0 ? z.re : none, none};
  }
  if (f_abs(z.re) > 20) {
    const R e = f_exp(-2 * f_abs(z.re));
    return {copysign(R(1), z.re), 4 * e * f_sin(z.im) * f_cos(z.im)};
  }
  const R t = f_tan(z.im), sh = f_sinh(z.re), ch = f_cosh(z.re);
  // sinh cosh (1 + t²) / (1 + sinh² (1 + t²)) and t / (1 + sinh² (1 + t²)).
  const R beta = 1 + t * t, d = 1 + beta * sh * sh;
  return {beta * ch * sh / d, t / d};
}
CPLX times_i(cplx<R> z) { return {-z.im, z.re}; }
CPLX over_i(cplx<R> z) { return {z.im, -z.re}; }
CPLX f_sin(cplx<R> z) {
  const cplx<R> s = over_i(f_sinh(times_i(z)));
  return f_isinf(z.im) && !f_isfinite(z.re) ? cplx<R>(s.re, R(kInfinity)) : s;
}
CPLX f_cos(cplx<R> z) { return f_cosh(times_i(z)); }
CPLX f_tan(cplx<R> z) { return over_i(f_tanh(times_i(z))); }
template <class R>
inline bool has_infinity(cplx<R> z) {
  return f_isinf(z.re) || f_isinf(z.im);
}
template <class R>
inline bool all_finite(cplx<R> z) {
  return f_isfinite(z.re) && f_isfinite(z.im);
}
/// An infinity where z has one, else the NaN that it has: the size of what is not finite.
template <class R>
inline R size_beyond(cplx<R> z) {
  return has_infinity(z) ? R(kInfinity) : R(kNotANumber);
}
// Kahan's forms: square roots of 1 - z and 1 + z keep the branch cuts and the accuracy.
CPLX f_asinh(cplx<R> z) {
  if (!all_finite(z)) {
    const bool real = f_isnan(z.re) && z.im == 0;
    return {copysign(size_beyond(z), z.re), real ? z.im : f_atan2(z.im, f_abs(z.re))};
  }
  const cplx<R> a = f_sqrt(cplx<R>(1 + z.im, -z.re)), b = f_sqrt(cplx<R>(1 - z.im, z.re));
  return {f_asinh(a.re * b.im - b.re * a.im), f_atan2(z.im, (a * b).re)};
}
CPLX f_asin(cplx<R> z) { return over_i(f_asinh(times_i(z))); }
CPLX f_acos(cplx<R> z) {
  if (!all_finite(z)) {
    const R angle = z.re == 0 && !has_infinity(z) ? R(1.57079632679489661923)
                                                  : f_atan2(f_abs(z.im), z.re);
    return {angle, -copysign(size_beyond(z), z.im)};
  }
  const cplx<R> a = f_sqrt(cplx<R>(1 - z.re, -z.im)), b = f_sqrt(cplx<R>(1 + z.re, z.im));
  return {2 * f_atan2(a.re, b.re), f_asinh(b.re * a.im - b.im * a.re)};
}
CPLX f_acosh(cplx<R> z) {
  if (!all_finite(z)) {
    const R angle =
        z.re == 0 && !has_infinity(z) ? R(1.57079632679489661923) : f_atan2(z.im, z.re);
    return {size_beyond(z), angle};
  }
  const cplx<R> a = f_sqrt(cplx<R>(z.re - 1, z.im)), b = f_sqrt(cplx<R>(z.re + 1, z.im));
  return {f_asinh(a.re * b.re + a.im * b.im), 2 * f_atan2(a.im, b.re)};
}
// It is odd: left of 0 the logarithm would be that of a number near 0, known as its
// difference from 1 alone.
CPLX f_atanh(cplx<R> z) {
  const R x = f_abs(z.re), y = z.im;
  const R right = R(1.57079632679489661923);
  if (has_infinity(z)) {
    return {copysign(R(0), z.re), f_isnan(y) ? y : copysign(right, y)};
  }
  const R large = sizeof(R) == 4 ? R(1e9) : R(1e18);
  if (x > large || f_abs(y) > large) {
    // Re(1 / z), without squares that overflow.
    const R size = f_hypot(x / 2, y / 2);
    return {copysign(x / size / size / 4, z.re),
            f_isnan(size) ? size : copysign(right, y)};
  }
  const bool near_1 = x == 1 && f_abs(y) < R(1e-10);  // where squares are lost
  const R re = near_1 ? R(0.5) * (R(0.69314718055994530942) - f_log(f_abs(y)))
                      : R(0.25) * f_log1p(4 * x / ((1 - x) * (1 - x) + y * y));
  const R im = R(0.5) * f_atan2(2 * y, (1 - x) * (1 + x) - y * y);
  return {copysign(x == 0 ? x : re, z.re), im};
}
CPLX f_atan(cplx<R> z) { return over_i(f_atanh(times_i(z))); }
/// As C99 multiplies: a product with an infinite number is infinite unless the other is
/// 0.
CPLX full_product(cplx<R> x, cplx<R> y) {
  const cplx<R> p = x * y;
  if (p.re == p.re || p.im == p.im || (!has_infinity(x) && !has_infinity(y))) return p;
  // NaNs beside an infinity count as 0.
  const auto number = [](R v) { return v == v ? v : copysign(R(0), v); };
  const auto part = [&](cplx<R> v) {
    return has_infinity(v) ? directions(v) : cplx<R>(number(v.re), number(v.im));
  };
  const cplx<R> d = part(x) * part(y);
  return {R(kInfinity) * d.re, R(kInfinity) * d.im};
}
CPLX f_pow(cplx<R> x, cplx<R> y, int&) { return f_exp(full_product(y, f_log(x))); }
#undef CPLX

// ---- Gradients of activations
// ---------------------------------------------------------------
template <class T>
inline T f_silugrad(T g, T x, T beta) {
  const T bx = beta * x, s = T(1) / (T(1) + f_exp(-bx));
  return g * (s * (T(1) + bx * (T(1) - s)));
}
template <class T>
inline T f_gelugrad(T g, T x, bool approximate) {
  if (approximate) {
    const T square = x * x;
    const T inner = T(0.79788456080286535588) * (x + T(0.044715) * x * square);
    const T th = f_tanh(inner);
    const T slope = T(0.79788456080286535588) * (T(1) + T(3 * 0.044715) * square);
    return g * (T(0.5) * (T(1) + th) + T(0.5) * x * (T(1) - th * th) * slope);
  }
  const T cdf = T(0.5) * f_erfc(-x * T(0.70710678118654752440));
  const T pdf = T(0.39894228040143267794) * f_exp(T(-0.5) * x * x);
  return g * (cdf + x * pdf);
}

// ---- Casts
// ----------------------------------------------------------------------------------- Out
// of range and NaN give the smallest integer, as the CPU's instructions do.
inline i32 float_to_i32(double x) {
  return x > -2147483649.0 && x < 2147483648.0 ? (i32)x : (i32)0x80000000u;
}
inline i64 float_to_i64(double x) {
  return x >= -9223372036854775808.0 && x < 9223372036854775808.0
             ? (i64)x
             : (i64)0x8000000000000000ull;
}
// `From` is the storage type: float32 narrows by its low bits, other floats saturate.
template <class From, class To>
inline To f_cast(typename compute_of<From>::type x) {
  typedef typename compute_of<From>::type C;
  typedef typename compute_of<To>::type R;
  if constexpr (is_cplx<C>::value && is_cplx<R>::value) {
    return put<To>(R(x));
  } else if constexpr (is_cplx<C>::value) {
    typedef decltype(x.re) P;
    return f_cast<P, To>(x.re);
  } else if constexpr (is_cplx<R>::value) {
    return put<To>(R((decltype(R().re))x));
  } else if constexpr (same_type<To, bool>::value) {
    return x != 0;
  } else if constexpr (is_float<C>::value && is_int<R>::value) {
    if constexpr (sizeof(To) <= 2) {
      const i32 wide = float_to_i32(x);
      if constexpr (same_type<From, float>::value) {
        return (To)wide;
      } else {
        const i32 low = is_signed_int<To>::value ? -(1 << (sizeof(To) * 8 - 1)) : 0;
        const i32 high = is_signed_int<To>::value ? (1 << (sizeof(To) * 8 - 1)) - 1
                                                  : (1 << sizeof(To) * 8) - 1;
        return (To)(wide < low ? low : wide > high ? high : wide);
      }
    } else if constexpr (sizeof(To) == 4) {
      if constexpr (is_signed_int<To>::value) return float_to_i32(x);
      const bool upper = x >= C(2147483648.0) && x < C(4294967296.0);
      return (To)float_to_i32(upper ? x - C(2147483648.0) : x) +
             (upper ? 0x80000000u : 0u);
    } else {
      if constexpr (is_signed_int<To>::value) return float_to_i64(x);
      const bool upper = x >= C(9223372036854775808.0) && x < C(18446744073709551616.0);
      return (To)float_to_i64(upper ? x - C(9223372036854775808.0) : x) +
             (upper ? 0x8000000000000000ull : 0ull);
    }
  } else if constexpr (is_int<C>::value && is_float<R>::value &&
                       !same_type<R, To>::value) {
    return put<To>((float)x);
  } else {
    return put<To>((R)x);
  }
}
// Drops the bits that the target does not have instead of rounding.
template <class From, class To>
inline To f_cast_truncate(typename compute_of<From>::type x) {
  if constexpr (same_type<From, float>::value && sizeof(To) == 2 && !is_int<To>::value) {
    const int dropped = same_type<To, bf16>::value ? 16 : 13;
    const float m = __uint_as_float(__float_as_uint(x) & ~0u << dropped);
    return f_cast<From, To>(x != x ? x : m);
  } else if constexpr (same_type<From, double>::value &&
                       (same_type<To, float>::value || same_type<To, f16>::value ||
                        same_type<To, bf16>::value)) {
    const int dropped = same_type<To, float>::value  ? 29
                        : same_type<To, bf16>::value ? 45
                                                     : 42;
    const double m = __longlong_as_double(__double_as_longlong(x) & ~0ll << dropped);
    return f_cast<From, To>(x != x ? x : m);
  } else {
    return f_cast<From, To>(x);
  }
}
