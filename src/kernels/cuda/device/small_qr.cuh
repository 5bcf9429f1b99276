// QR decompositions of matrices that fit into a block's shared memory, a block to a
// matrix at a time, by reflections as LAPACK takes them (so that signs are the CPU's):
// H = I - tau·v·vᴴ with Hᴴ·x = (beta, 0, …), beta real. Comes after linalg.cuh.
inline float larger(float x, float y) { return fmaxf(x, y); }
inline double larger(double x, double y) { return fmax(x, y); }
inline float with_sign(float x, float y) { return copysignf(x, y); }
inline double with_sign(double x, double y) { return copysign(x, y); }
inline T minus(T x, T y) { return plus(x, scaled(y, (R)-1)); }
/// 1 / x.
inline float reciprocal(float x) { return 1 / x; }
inline double reciprocal(double x) { return 1 / x; }
template <class S>
inline cplx<S> reciprocal(cplx<S> x) {
  const S size = size_of(x);
  return divided(divided(conjugated(x), size), size);
}

struct Reflection {
  T tau, scale;  // v = (1, scale·x)
  R beta;
};
/// For column k from its diagonal on. Every thread computes it for itself.
inline Reflection reflection_of(const T* a, i32 row, i32 k, i32 rows) {
  const T alpha = a[k * row + k];
  R largest = 0, sum = 0;
  for (i32 r = k + 1; r < rows; ++r) largest = larger(largest, size_of(a[r * row + k]));
  const R below = largest;
  largest = larger(largest, size_of(alpha));
  const bool real_already = !(size_of(minus(alpha, T(real_of(alpha)))) > 0);
  if (below == 0 && real_already) return {T(), T(), real_of(alpha)};
  // An infinite column has a length, and no direction.
  if (largest == (R)kInfinity) {
    return {T((R)kNotANumber), T((R)kNotANumber), -with_sign(largest, real_of(alpha))};
  }
  for (i32 r = k; r < rows; ++r) {
    const R x = size_of(a[r * row + k]) / largest;
    sum += x * x;
  }
  const R beta = -with_sign(largest * root_of(sum), real_of(alpha));
  return {divided(minus(T(beta), alpha), beta), reciprocal(minus(alpha, T(beta))), beta};
}

/// One column: c -= factor·v·(vᴴ·c), from row k on, where v's first element is 1.
inline void reflect(const T* v, i32 v_row, T* c, i32 c_row, i32 k, i32 rows, T factor) {
  T dot = c[k * c_row];
  for (i32 r = k + 1; r < rows; ++r) {
    dot = plus(dot, times(conjugated(v[r * v_row]), c[r * c_row]));
  }
  dot = times(factor, dot);
  c[k * c_row] = minus(c[k * c_row], dot);
  for (i32 r = k + 1; r < rows; ++r) {
    c[r * c_row] = minus(c[r * c_row], times(v[r * v_row], dot));
  }
}

/// q [rows, width], r [width, cols]. Shared memory: rows of cols | 1 elements, rows of
/// width | 1 elements, one element for each reflection. A thread has whole columns.
extern "C" __global__ void small_qr(const T* in, T* q_out, T* r_out, i64 batch, i32 rows,
                                    i32 cols, i32 width) {
  extern __shared__ __align__(16) unsigned char block_space[];
  const i32 a_row = cols | 1, q_row = width | 1, least = rows < cols ? rows : cols;
  T* const a = (T*)block_space;
  T* const q = a + rows * a_row;
  T* const taus = q + rows * q_row;
  const i32 me = threadIdx.x, threads = blockDim.x;
  for (i64 b = blockIdx.x; b < batch; b += gridDim.x) {
    const T* from = in + b * rows * cols;
    for (i32 e = me; e < rows * cols; e += threads) {
      a[e / cols * a_row + e % cols] = from[e];
    }
    for (i32 e = me; e < rows * width; e += threads) {
      q[e / width * q_row + e % width] = e / width == e % width ? T((R)1) : T();
    }
    __syncthreads();
    for (i32 k = 0; k < least; ++k) {
      const Reflection h = reflection_of(a, a_row, k, rows);
      __syncthreads();
      for (i32 r = k + 1 + me; r < rows; r += threads) {
        a[r * a_row + k] = times(a[r * a_row + k], h.scale);
      }
      if (me == 0) {
        a[k * a_row + k] = T(h.beta);
        taus[k] = h.tau;
      }
      __syncthreads();
      for (i32 c = k + 1 + me; c < cols; c += threads) {
        reflect(a + k, a_row, a + c, a_row, k, rows, conjugated(h.tau));
      }
      __syncthreads();
    }
    for (i32 e = me; e < width * cols; e += threads) {
      const i32 r = e / cols, c = e % cols;
      r_out[b * width * cols + e] = c >= r ? a[r * a_row + c] : T();
    }
    for (i32 k = least - 1; k >= 0; --k) {
      for (i32 c = me; c < width; c += threads) {
        if (c >= k) reflect(a + k, a_row, q + c, q_row, k, rows, taus[k]);
      }
    }
    __syncthreads();
    for (i32 e = me; e < rows * width; e += threads) {
      q_out[b * rows * width + e] = q[e / width * q_row + e % width];
    }
    __syncthreads();
  }
}
