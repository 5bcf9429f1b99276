// Layer normalisation of long rows (others: layer_norm.cuh) and batch normalisation, with
// their gradients. After rows.cuh: T (storage), C
// (what is computed in, and the dtype of batch normalisation's vectors). Sums are cut
// into parts by sizes alone.

/// Threads of 32 columns by so many rows: the sum over the rows, valid in row 0.
inline C tile_sum(C x) {
  __shared__ C space[256];
  __syncthreads();
  space[threadIdx.x] = x;
  __syncthreads();
  if (threadIdx.x < 32) {
    for (int k = 1; k < (int)(blockDim.x / 32); ++k) x += space[k * 32 + threadIdx.x];
  }
  return x;
}
inline C inverse_root(C x) { return C(1) / f_sqrt(x); }

struct RowMoments {
  C mean, r;
};
inline RowMoments row_moments(const T* x, i64 n, C epsilon) {
  C sum = 0;
  for (i64 i = threadIdx.x; i < n; i += blockDim.x) sum += get(x[i]);
  const C mean = row_sum(sum) / (C)n;
  sum = 0;
  for (i64 i = threadIdx.x; i < n; i += blockDim.x) {
    const C d = get(x[i]) - mean;
    sum += d * d;
  }
  return {mean, inverse_root(row_sum(sum) / (C)n + epsilon)};
}

extern "C" __global__ void layer_norm(const T* x, const T* gamma, const T* beta, T* y,
                                      i64 rows, i64 n, double epsilon) {
  for (i64 row = blockIdx.x; row < rows; row += gridDim.x) {
    const T* from = x + row * n;
    const RowMoments m = row_moments(from, n, (C)epsilon);
    for (i64 i = threadIdx.x; i < n; i += blockDim.x) {
      const C v = (get(from[i]) - m.mean) * m.r;
      y[row * n + i] =
          put<T>(v * (gamma ? get(gamma[i]) : C(1)) + (beta ? get(beta[i]) : C(0)));
    }
  }
}

/// The gradient by x; keeps the moments of every row for the sums over rows.
extern "C" __global__ void layer_norm_by_x(const T* dy, const T* x, const T* gamma, T* dx,
                                           C* moments, i64 rows, i64 n, double epsilon) {
  for (i64 row = blockIdx.x; row < rows; row += gridDim.x) {
    const T *from = x + row * n, *grad = dy + row * n;
    const RowMoments m = row_moments(from, n, (C)epsilon);
    C a = 0, b = 0;
    for (i64 i = threadIdx.x; i < n; i += blockDim.x) {
      const C g = get(grad[i]) * (gamma ? get(gamma[i]) : C(1));
      a += g;
      b += g * (get(from[i]) - m.mean) * m.r;
    }
    a = row_sum(a) / (C)n;
    b = row_sum(b) / (C)n;
    for (i64 i = threadIdx.x; i < n; i += blockDim.x) {
      const C g = get(grad[i]) * (gamma ? get(gamma[i]) : C(1));
      const C v = (get(from[i]) - m.mean) * m.r;
      dx[row * n + i] = put<T>(m.r * (g - a - v * b));
    }
    if (threadIdx.x == 0) {
      moments[2 * row] = m.mean;
      moments[2 * row + 1] = m.r;
    }
  }
}
/// Sums over the rows for gamma and beta: blockIdx.x tiles of 32 columns, blockIdx.y
/// parts.
extern "C" __global__ void layer_norm_parts(const T* dy, const T* x, const C* moments,
                                            C* parts, i64 rows, i64 n) {
  const i64 column = (i64)blockIdx.x * 32 + threadIdx.x % 32, count = gridDim.y;
  C by_gamma = 0, by_beta = 0;
  for (i64 row = (i64)blockIdx.y * 8 + threadIdx.x / 32; column < n && row < rows;
       row += 8 * count) {
    const C g = get(dy[row * n + column]);
    by_beta += g;
    by_gamma += g * (get(x[row * n + column]) - moments[2 * row]) * moments[2 * row + 1];
  }
  by_gamma = tile_sum(by_gamma);
  by_beta = tile_sum(by_beta);
  if (threadIdx.x < 32 && column < n) {
    parts[(2 * (i64)blockIdx.y) * n + column] = by_gamma;
    parts[(2 * (i64)blockIdx.y + 1) * n + column] = by_beta;
  }
}
extern "C" __global__ void layer_norm_finish(const C* parts, T* by_gamma, T* by_beta,
                                             i64 n, i64 count) {
  for (i64 i = global_thread(); i < n; i += global_threads()) {
    C a = 0, b = 0;
    for (i64 p = 0; p < count; ++p) {
      a += parts[2 * p * n + i];
      b += parts[(2 * p + 1) * n + i];
    }
    by_gamma[i] = put<T>(a);
    by_beta[i] = put<T>(b);
  }
}

// ---- Batch normalisation: x is [outer, channels, inner]
// --------------------------------
struct Channels {
  i64 outer, channels, inner, parts;
};

/// Two sums per channel and part. 0: x; 1: (x - mean)²; 2: dy and dy (x - mean).
template <int kWhat>
inline void add_sums(C& a, C& b, const T* x, const T* dy, C mean, i64 at) {
  if (kWhat == 0) a += get(x[at]);
  if (kWhat == 1) {
    const C d = get(x[at]) - mean;
    a += d * d;
  }
  if (kWhat == 2) {
    const C g = get(dy[at]);
    a += g;
    b += g * (get(x[at]) - mean);
  }
}
template <int kWhat>
inline void channel_sums(const T* x, const T* dy, const C* mean, C* parts,
                         const Channels& s) {
  const i64 part = blockIdx.y;
  if (s.inner == 1) {  // 32 channels by 8 rows
    const i64 c = (i64)blockIdx.x * 32 + threadIdx.x % 32;
    const C m = kWhat > 0 && c < s.channels ? mean[c] : C(0);
    C a = 0, b = 0;
#pragma unroll 4
    for (i64 row = part * 8 + threadIdx.x / 32; row < s.outer; row += 8 * s.parts) {
      if (c < s.channels) add_sums<kWhat>(a, b, x, dy, m, row * s.channels + c);
    }
    a = tile_sum(a);
    if (kWhat == 2) b = tile_sum(b);
    if (threadIdx.x < 32 && c < s.channels) {
      parts[2 * part * s.channels + c] = a;
      parts[(2 * part + 1) * s.channels + c] = b;
    }
    return;
  }
  for (i64 c = blockIdx.x; c < s.channels; c += gridDim.x) {
    const C m = kWhat > 0 ? mean[c] : C(0);
    const i64 n = s.outer * s.inner;
    C a = 0, b = 0;
    for (i64 e = part * blockDim.x + threadIdx.x; e < n; e += blockDim.x * s.parts) {
      const i64 at = (e / s.inner * s.channels + c) * s.inner + e % s.inner;
      add_sums<kWhat>(a, b, x, dy, m, at);
    }
    a = row_sum(a);
    if (kWhat == 2) b = row_sum(b);
    if (threadIdx.x == 0) {
      parts[2 * part * s.channels + c] = a;
      parts[(2 * part + 1) * s.channels + c] = b;
    }
  }
}
extern "C" __global__ void sums_of_x(const T* x, C* parts, const Channels s) {
  channel_sums<0>(x, x, (const C*)0, parts, s);
}
extern "C" __global__ void sums_of_squares(const T* x, const C* mean, C* parts,
                                           const Channels s) {
  channel_sums<1>(x, x, mean, parts, s);
}
extern "C" __global__ void sums_of_gradient(const T* x, const T* dy, const C* mean,
                                            C* parts, const Channels s) {
  channel_sums<2>(x, dy, mean, parts, s);
}
inline C all_parts(const C* parts, const Channels& s, i64 c, int which) {
  C sum = 0;
  for (i64 p = 0; p < s.parts; ++p) sum += parts[(2 * p + which) * s.channels + c];
  return sum;
}
extern "C" __global__ void finish_mean(const C* parts, C* mean, const Channels s) {
  const C n = (C)(s.outer * s.inner > 0 ? s.outer * s.inner : 1);
  for (i64 c = global_thread(); c < s.channels; c += global_threads()) {
    mean[c] = all_parts(parts, s, c, 0) / n;
  }
}
/// The batch's moments, and those that are handed on: blended with the given ones.
extern "C" __global__ void finish_moments(const C* parts, const C* mean, C* variance,
                                          const C* given_mean, const C* given_variance,
                                          C* out_mean, C* out_variance, double factor,
                                          int blend, const Channels s) {
  const i64 count = s.outer * s.inner;
  const C n = (C)(count > 0 ? count : 1), f = (C)factor;
  const C unbias = count > 1 ? (C)count / (C)(count - 1) : C(1);
  for (i64 c = global_thread(); c < s.channels; c += global_threads()) {
    const C v = all_parts(parts, s, c, 0) / n;
    variance[c] = v;
    out_mean[c] = blend ? (C(1) - f) * given_mean[c] + f * mean[c] : mean[c];
    out_variance[c] =
        blend ? (C(1) - f) * given_variance[c] + f * v * unbias : v * unbias;
  }
}
extern "C" __global__ void given_moments(const C* given_mean, const C* given_variance,
                                         C* mean, C* variance, C* out_mean,
                                         C* out_variance, const Channels s) {
  for (i64 c = global_thread(); c < s.channels; c += global_threads()) {
    mean[c] = out_mean[c] = given_mean[c];
    variance[c] = out_variance[c] = given_variance[c];
  }
}
extern "C" __global__ void normalise(const T* x, const C* mean, const C* variance,
                                     const C* scale, const C* offset, T* y,
                                     double epsilon, const Channels s) {
  const i64 n = s.outer * s.channels * s.inner;
  for (i64 i = global_thread(); i < n; i += global_threads()) {
    const i64 c = (s.inner == 1 ? i : i / s.inner) % s.channels;
    const C factor = scale[c] * inverse_root(variance[c] + (C)epsilon);
    y[i] = put<T>((get(x[i]) - mean[c]) * factor + offset[c]);
  }
}
extern "C" __global__ void finish_gradient(const C* parts, const C* variance, C* by_scale,
                                           C* by_offset, double epsilon,
                                           const Channels s) {
  for (i64 c = global_thread(); c < s.channels; c += global_threads()) {
    by_offset[c] = all_parts(parts, s, c, 0);
    by_scale[c] = all_parts(parts, s, c, 1) * inverse_root(variance[c] + (C)epsilon);
  }
}
extern "C" __global__ void normalise_by_x(const T* dy, const T* x, const C* scale,
                                          const C* mean, const C* variance,
                                          const C* by_scale, const C* by_offset, T* dx,
                                          double epsilon, int training,
                                          const Channels s) {
  const i64 n = s.outer * s.channels * s.inner;
  const C count = (C)(s.outer * s.inner);
  for (i64 i = global_thread(); i < n; i += global_threads()) {
    const i64 c = (s.inner == 1 ? i : i / s.inner) % s.channels;
    const C r = inverse_root(variance[c] + (C)epsilon);
    C g = get(dy[i]);
    if (training) {
      g -= (by_offset[c] + (get(x[i]) - mean[c]) * r * by_scale[c]) / count;
    }
    dx[i] = put<T>(scale[c] * r * g);
  }
}
