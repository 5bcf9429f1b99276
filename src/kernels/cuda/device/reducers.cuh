// What reductions have in common: T (storage), one of the OP_ names, LOWEST and HIGHEST
// come before this text. A reducer has an accumulator A that elements are added to and
// that two halves are combined in.
typedef typename compute_of<T>::type C;

#if defined(OP_LOGSUMEXP)
typedef LogSum<C> A;
inline A initial() { return no_logs<C>(); }
inline A combine(A a, A b) { return combine_logs(a, b); }
inline A single(C x) { return {x, 1}; }
inline void finish(A a, i64, T* out, T*) { *out = put<T>(log_of(a)); }
#elif defined(OP_MOMENTS)
struct A {
  C mean, m2, n;
};
inline A initial() { return {0, 0, 0}; }
inline A combine(A a, A b) {
  if (b.n == 0) return a;
  if (a.n == 0) return b;
  const C n = a.n + b.n, d = b.mean - a.mean;
  // Between infinities of one sign lies no distance that is a number.
  const C mean =
      isfinite(d) ? a.mean + d * (b.n / n) : a.mean * (a.n / n) + b.mean * (b.n / n);
  // Multiplied in an order that overflows with the sum alone.
  return {mean, a.m2 + b.m2 + d * (a.n * b.n / n) * d, n};
}
/// What is no finite number varies by NaN, alone too.
inline A single(C x) { return {x, x - x, 1}; }
inline void finish(A a, i64, T* out, T* second) {
  // The mean of nothing is NaN, as is its variance.
  *out = put<T>(a.n == 0 ? a.mean / a.n : a.mean);
  *second = put<T>(a.m2 / a.n);
}
#else
// Sums and products of halfs in float, of the rest in their own type; integers wrap.
#if defined(OP_MEAN)
// Means of integers add up in 64 bits.
template <class V, bool integer, bool with_sign>
struct wide_of {
  typedef V type;
};
template <class V>
struct wide_of<V, true, true> {
  typedef i64 type;
};
template <class V>
struct wide_of<V, true, false> {
  typedef u64 type;
};
typedef typename wide_of<C, is_int<C>::value, is_signed_int<C>::value>::type A;
#elif defined(OP_EUCLIDEANNORM)
// Squares of integers add up in 64 bits too.
template <class V, bool integer>
struct squares_of {
  typedef V type;
};
template <class V>
struct squares_of<V, true> {
  typedef u64 type;
};
typedef typename squares_of<C, is_int<C>::value>::type A;
#else
typedef C A;
#endif
#if defined(OP_MAX)
inline A initial() { return LOWEST; }
inline A combine(A a, A b) { return (a > b || a != a) ? a : b; }
#elif defined(OP_MIN)
inline A initial() { return HIGHEST; }
inline A combine(A a, A b) { return (a < b || a != a) ? a : b; }
#elif defined(OP_PROD)
inline A initial() { return A(1); }
inline A combine(A a, A b) { return f_mul(a, b); }
#elif defined(OP_ANY)
inline A initial() { return false; }
inline A combine(A a, A b) { return a || b; }
#elif defined(OP_ALL)
inline A initial() { return true; }
inline A combine(A a, A b) { return a && b; }
#else
inline A initial() { return A(0); }
inline A combine(A a, A b) { return f_add(a, b); }
#endif
#if defined(OP_EUCLIDEANNORM) || defined(OP_L2LOSS)
inline A single(C x) { return f_mul((A)x, f_conj((A)x)); }
#else
inline A single(C x) { return (A)x; }
#endif
template <class V>
inline V divided(V sum, i64 n) {
  if constexpr (is_int<V>::value) {
    return n == 0 ? V(0) : sum / (V)n;
  } else if constexpr (is_cplx<V>::value) {
    typedef decltype(sum.re) R;
    return n == 0 ? V(0) : V(sum.re / (R)n, sum.im / (R)n);
  } else {
    return sum / (V)n;
  }
}
template <class V>
inline V root_of(V a) {
  if constexpr (is_int<V>::value) {
    return (V)sqrt((double)a);
  } else {
    return f_sqrt(a);
  }
}
inline void finish(A a, i64 n, T* out, T*) {
#if defined(OP_MEAN)
  *out = put<T>(divided(a, n));
#elif defined(OP_EUCLIDEANNORM)
  *out = put<T>(root_of(a));
#elif defined(OP_L2LOSS)
  *out = put<T>(a * A(0.5));
#else
  *out = put<T>(a);
#endif
}
#endif

// Through shared memory word by word: accumulators of any size.
inline A shuffled(A a, int by) {
  union {
    A value;
    u32 words[(sizeof(A) + 3) / 4];
  } from, to;
  for (int i = 0; i < (int)((sizeof(A) + 3) / 4); ++i) from.words[i] = 0;
  from.value = a;
  for (int i = 0; i < (int)((sizeof(A) + 3) / 4); ++i) {
    to.words[i] = __shfl_down_sync(0xffffffffu, from.words[i], by);
  }
  return to.value;
}
