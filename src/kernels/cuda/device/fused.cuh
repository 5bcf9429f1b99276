// What fused programs with reductions need besides the functions of expressions. How work
// is cut depends on sizes alone: results are the same bits every time.
template <class C>
inline C lowest_of() {
  if constexpr (is_float<C>::value) {
    return -(C)kInfinity;
  } else if constexpr (is_signed_int<C>::value) {
    return (C)(-(i64)((1ull << (sizeof(C) * 8 - 1)) - 1) - 1);
  } else {
    return C(0);
  }
}
template <class C>
inline C highest_of() {
  if constexpr (is_float<C>::value) {
    return (C)kInfinity;
  } else if constexpr (is_signed_int<C>::value) {
    return (C)((1ull << (sizeof(C) * 8 - 1)) - 1);
  } else {
    return (C)~0ull;
  }
}
template <class C>
inline C mean_of(C sum, i64 n) {
  if constexpr (is_cplx<C>::value) {
    typedef decltype(sum.re) R;
    return C(sum.re / (R)n, sum.im / (R)n);
  } else if constexpr (is_int<C>::value) {
    return n == 0 ? C(0) : (C)(sum / (C)n);
  } else {
    return sum / (C)n;
  }
}

template <class C>
inline C shuffled(C x, int by) {
  union {
    u32 words[(sizeof(C) + 3) / 4];
    unsigned char bytes[sizeof(C)];
  } from, to;
  for (int i = 0; i < (int)((sizeof(C) + 3) / 4); ++i) from.words[i] = 0;
  for (int i = 0; i < (int)sizeof(C); ++i) from.bytes[i] = ((unsigned char*)&x)[i];
  for (int i = 0; i < (int)((sizeof(C) + 3) / 4); ++i) {
    to.words[i] = __shfl_xor_sync(0xffffffffu, from.words[i], by);
  }
  C r;
  for (int i = 0; i < (int)sizeof(C); ++i) ((unsigned char*)&r)[i] = to.bytes[i];
  return r;
}

__shared__ __align__(16) unsigned char block_space[1024 * 16];

/// The same value in every thread of the block.
template <class C, class F>
inline C block_reduce(C x, F combine) {
  C* const space = (C*)block_space;
  for (int by = 16; by > 0; by /= 2) x = combine(x, shuffled(x, by));
  __syncthreads();
  if (threadIdx.x % 32 == 0) space[threadIdx.x / 32] = x;
  __syncthreads();
  x = space[0];
  for (int w = 1; w < (int)(blockDim.x / 32); ++w) x = combine(x, space[w]);
  return x;
}

/// Threads of 32 columns by so many rows: the sum of the rows, valid in row 0.
template <class C, class F>
inline C column_reduce(C x, F combine) {
  C* const space = (C*)block_space;
  __syncthreads();
  space[threadIdx.x] = x;
  __syncthreads();
  if (threadIdx.x < 32) {
    for (int k = 1; k < (int)(blockDim.x / 32); ++k)
      x = combine(x, space[k * 32 + threadIdx.x]);
  }
  return x;
}
