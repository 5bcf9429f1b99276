// Reductions over any axes. Before this text: T (storage), KEPT and REDUCED (numbers of
// dimensions), one of the OP_ names, and I. A reducer has an accumulator A that elements
// are added to and that two halves are combined in; how work is cut depends on sizes
// alone, so results are the same bits every time.
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
  return {a.mean + d * (b.n / n), a.m2 + b.m2 + d * d * (a.n * b.n / n), n};
}
inline A single(C x) { return {x, 0, 1}; }
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
inline A single(C x) { return f_mul(x, f_conj(x)); }
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

// Words: in, out, second, workspace, outputs, count, parts, then dims and steps of the
// kept dimensions and of the reduced ones, outermost first.
struct Args {
  u64 w[7 + 2 * KEPT + 2 * REDUCED + 1];
};
inline i64 offset(const u64* dims, int rank, I at) {
  i64 sum = 0;
#pragma unroll
  for (int d = rank - 1; d >= 0; --d) {
    I c = at;
    if (d > 0) {
      const I size = (I)dims[d];
      c = at % size;
      at /= size;
    }
    sum += (i64)c * (i64)dims[rank + d];
  }
  return sum;
}
inline void store(const Args& a, A sum, i64 part, i64 o) {
  const i64 outputs = (i64)a.w[4], parts = (i64)a.w[6];
  if (parts > 1) {
    ((A*)a.w[3])[part * outputs + o] = sum;
  } else {
    finish(sum, (i64)a.w[5], (T*)a.w[1] + o, (T*)a.w[2] + o);
  }
}

/// The innermost dimension is reduced: one block per output and part.
extern "C" __global__ void __launch_bounds__(256) reduce_rows(const Args a) {
  __shared__ __align__(16) unsigned char space[8 * sizeof(A)];
  A* const partial = (A*)space;
  const T* in = (const T*)a.w[0];
  const i64 outputs = (i64)a.w[4], count = (i64)a.w[5], parts = (i64)a.w[6];
  const i64 share = (count + parts - 1) / parts;
  for (i64 job = blockIdx.x; job < outputs * parts; job += gridDim.x) {
    const i64 o = job % outputs, part = job / outputs;
    const T* from = in + offset(a.w + 7, KEPT, (I)o);
    const i64 begin = part * share, limit = begin + share;
    const i64 end = limit < count ? limit : count;
    A sum = initial();
    for (i64 r = begin + threadIdx.x; r < end; r += blockDim.x) {
      sum = combine(sum, single(get(from[offset(a.w + 7 + 2 * KEPT, REDUCED, (I)r)])));
    }
    for (int by = 16; by > 0; by /= 2) sum = combine(sum, shuffled(sum, by));
    if (threadIdx.x % 32 == 0) partial[threadIdx.x / 32] = sum;
    __syncthreads();
    if (threadIdx.x == 0) {
      for (int w = 1; w < (int)blockDim.x / 32; ++w) sum = combine(sum, partial[w]);
      store(a, sum, part, o);
    }
    __syncthreads();
  }
}

/// Short rows: one warp per output.
extern "C" __global__ void __launch_bounds__(256) reduce_short_rows(const Args a) {
  const T* in = (const T*)a.w[0];
  const i64 outputs = (i64)a.w[4], count = (i64)a.w[5];
  const i64 warps = global_threads() / 32;
  for (i64 o = global_thread() / 32; o < outputs; o += warps) {
    const T* from = in + offset(a.w + 7, KEPT, (I)o);
    A sum = initial();
    for (i64 r = threadIdx.x % 32; r < count; r += 32) {
      sum = combine(sum, single(get(from[offset(a.w + 7 + 2 * KEPT, REDUCED, (I)r)])));
    }
    for (int by = 16; by > 0; by /= 2) sum = combine(sum, shuffled(sum, by));
    if (threadIdx.x % 32 == 0) store(a, sum, 0, o);
  }
}

/// The innermost dimension is kept: blocks of 32 outputs by 8 rows; neighbouring threads
/// read neighbouring elements.
extern "C" __global__ void __launch_bounds__(256) reduce_columns(const Args a) {
  __shared__ __align__(16) unsigned char space[256 * sizeof(A)];
  A* const partial = (A*)space;
  const T* in = (const T*)a.w[0];
  const i64 outputs = (i64)a.w[4], count = (i64)a.w[5], parts = (i64)a.w[6];
  const i64 share = (count + parts - 1) / parts;
  const int column = threadIdx.x % 32, row = threadIdx.x / 32;
  const i64 tiles = (outputs + 31) / 32;
  for (i64 job = blockIdx.x; job < tiles * parts; job += gridDim.x) {
    const i64 o = job % tiles * 32 + column, part = job / tiles;
    const i64 begin = part * share, limit = begin + share;
    const i64 end = limit < count ? limit : count;
    A sum = initial();
    if (o < outputs) {
      const T* from = in + offset(a.w + 7, KEPT, (I)o);
      for (i64 r = begin + row; r < end; r += 8) {
        sum = combine(sum, single(get(from[offset(a.w + 7 + 2 * KEPT, REDUCED, (I)r)])));
      }
    }
    partial[threadIdx.x] = sum;
    __syncthreads();
    if (row == 0 && o < outputs) {
      for (int k = 1; k < 8; ++k) sum = combine(sum, partial[k * 32 + column]);
      store(a, sum, part, o);
    }
    __syncthreads();
  }
}

/// Puts the parts together, in order.
extern "C" __global__ void __launch_bounds__(256) reduce_parts(const Args a) {
  const i64 outputs = (i64)a.w[4], parts = (i64)a.w[6];
  const A* partial = (const A*)a.w[3];
  for (i64 o = global_thread(); o < outputs; o += global_threads()) {
    A sum = partial[o];
    for (i64 k = 1; k < parts; ++k) sum = combine(sum, partial[k * outputs + o]);
    finish(sum, (i64)a.w[5], (T*)a.w[1] + o, (T*)a.w[2] + o);
  }
}

#if defined(OP_ARG)
/// ArgMax and ArgMin along one axis of [outer, n, inner]: one warp per output, the first
/// of equal elements. Words: in, out, outer * inner, n, inner.
struct ArgArgs {
  u64 w[5];
};
extern "C" __global__ void __launch_bounds__(256) arg(const ArgArgs a) {
  const T* in = (const T*)a.w[0];
  INDEX* out = (INDEX*)a.w[1];
  const i64 outputs = (i64)a.w[2], n = (i64)a.w[3], inner = (i64)a.w[4];
  const i64 warps = global_threads() / 32;
  for (i64 o = global_thread() / 32; o < outputs; o += warps) {
    const T* from = in + o / inner * n * inner + o % inner;
    i64 best = -1;
    C value = C(0);
    for (i64 r = threadIdx.x % 32; r < n; r += 32) {
      const C x = get(from[r * inner]);
      if (x == x && (best < 0 || BETTER(x, value))) {  // NaNs do not count
        best = r;
        value = x;
      }
    }
    for (int by = 16; by > 0; by /= 2) {
      const A other = shuffled(value, by);
      const i64 at = __shfl_down_sync(0xffffffffu, best, by);
      const bool take = at >= 0 && (best < 0 || BETTER(other, value) ||
                                    (!BETTER(value, other) && at < best));
      if (take) {
        best = at;
        value = other;
      }
    }
    if (threadIdx.x % 32 == 0) out[o] = (INDEX)(best < 0 ? 0 : best);
  }
}
#endif
