// Kernels over rows that are not kept (row_form.h): softmax and its kin over one axis of
// [outer, n, inner], and the cross entropies. T (storage) comes before this text. One
// block per row; sums are made in the same order every time.
typedef typename compute_of<T>::type C;

__shared__ C row_space[33];

inline C row_max(C x) {
  for (int by = 16; by > 0; by /= 2) {
    const C other = __shfl_xor_sync(0xffffffffu, x, by);
    x = (x > other || x != x) ? x : other;
  }
  __syncthreads();
  if (threadIdx.x % 32 == 0) row_space[threadIdx.x / 32] = x;
  __syncthreads();
  x = row_space[0];
  for (int w = 1; w < (int)(blockDim.x / 32); ++w) {
    const C other = row_space[w];
    x = (x > other || x != x) ? x : other;
  }
  return x;
}
inline C row_sum(C x) {
  for (int by = 16; by > 0; by /= 2) x += __shfl_xor_sync(0xffffffffu, x, by);
  __syncthreads();
  if (threadIdx.x % 32 == 0) row_space[threadIdx.x / 32] = x;
  __syncthreads();
  x = row_space[0];
  for (int w = 1; w < (int)(blockDim.x / 32); ++w) x += row_space[w];
  return x;
}
inline C lowest() { return -(C)kInfinity; }

// ---- Contiguous rows
constexpr int kChunk = 16 / sizeof(T);

/// Calls f(first, values) for the chunks of a row that this thread reads. `together`:
/// rows begin at multiples of 16 bytes; else values come one at a time.
template <class F>
inline void each_chunk(const T* row, i64 n, bool together, const F& f) {
  if (together) {
#pragma unroll 4
    for (i64 j = threadIdx.x; j < n / kChunk; j += blockDim.x) {
      const vec<T, kChunk> x = ((const vec<T, kChunk>*)row)[j];
      C v[kChunk];
#pragma unroll
      for (int i = 0; i < kChunk; ++i) v[i] = get(x.v[i]);
      f(j * kChunk, v);
    }
  } else {
    for (i64 i = threadIdx.x; i < n; i += blockDim.x) {
      const C v[1] = {get(row[i])};
      f(i, v);
    }
  }
}
template <int count>
inline void put_chunk(T* to, const C (&v)[count]) {
  vec<T, count> x;
#pragma unroll
  for (int i = 0; i < count; ++i) x.v[i] = put<T>(v[i]);
  *(vec<T, count>*)to = x;
}

/// The largest of some elements, and the sum of exponentials relative to it.
struct Soft {
  C top, sum;
};
inline C faded(C sum, C from, C to) {
  return from == lowest() ? C(0) : sum * f_exp(from - to);
}
inline Soft combine(Soft a, Soft b) {
  const C top = (a.top > b.top || a.top != a.top) ? a.top : b.top;
  return {top, faded(a.sum, a.top, top) + faded(b.sum, b.top, top)};
}
/// Of a whole row, in one pass over it; the same for every thread.
inline Soft soft_of(const T* row, i64 n, bool together) {
  Soft s = {lowest(), 0};
  each_chunk(row, n, together, [&](i64, const auto& v) {
    constexpr int count = sizeof(v) / sizeof(C);
    C top = s.top;
#pragma unroll
    for (int i = 0; i < count; ++i) top = (v[i] > top || v[i] != v[i]) ? v[i] : top;
    if (top == lowest()) return;
    if (top != s.top) s = {top, faded(s.sum, s.top, top)};
#pragma unroll
    for (int i = 0; i < count; ++i) s.sum += f_exp(v[i] - top);
  });
  for (int by = 16; by > 0; by /= 2) {
    s = combine(s, {__shfl_xor_sync(0xffffffffu, s.top, by),
                    __shfl_xor_sync(0xffffffffu, s.sum, by)});
  }
  __shared__ Soft space[32];
  __syncthreads();
  if (threadIdx.x % 32 == 0) space[threadIdx.x / 32] = s;
  __syncthreads();
  s = space[0];
  for (int w = 1; w < (int)(blockDim.x / 32); ++w) s = combine(s, space[w]);
  return s;
}

/// softmax over contiguous rows.
extern "C" __global__ void softmax_rows(const T* x, T* y, i64 rows, i64 n, int log,
                                        int together) {
  for (i64 row = blockIdx.x; row < rows; row += gridDim.x) {
    const T* from = x + row * n;
    const Soft s = soft_of(from, n, together);
    const C scale = log ? f_log(s.sum) : C(1) / s.sum;
    each_chunk(from, n, together, [&](i64 at, const auto& v) {
      constexpr int count = sizeof(v) / sizeof(C);
      C r[count];
#pragma unroll
      for (int i = 0; i < count; ++i) {
        const C d = v[i] - s.top;
        r[i] = log ? d - scale : f_exp(d) * scale;
      }
      put_chunk(y + row * n + at, r);
    });
  }
}

/// y = softmax(x), or its logarithm.
extern "C" __global__ void softmax(const T* x, T* y, i64 rows, i64 n, i64 inner,
                                   int log) {
  for (i64 row = blockIdx.x; row < rows; row += gridDim.x) {
    const i64 at = row / inner * n * inner + row % inner;
    C top = lowest(), sum = 0;
    for (i64 i = threadIdx.x; i < n; i += blockDim.x) {
      const C v = get(x[at + i * inner]);
      top = (v > top || v != v) ? v : top;
    }
    top = row_max(top);
    for (i64 i = threadIdx.x; i < n; i += blockDim.x)
      sum += f_exp(get(x[at + i * inner]) - top);
    sum = row_sum(sum);
    const C scale = log ? f_log(sum) : C(1) / sum;
    for (i64 i = threadIdx.x; i < n; i += blockDim.x) {
      const C v = get(x[at + i * inner]) - top;
      y[at + i * inner] = put<T>(log ? v - scale : f_exp(v) * scale);
    }
  }
}

/// Gradient from the result y: (g - sum(g y)) y; of the logarithm: g - exp(y) sum(g).
extern "C" __global__ void softmax_grad(const T* y, const T* g, T* out, i64 rows, i64 n,
                                        i64 inner, int log) {
  for (i64 row = blockIdx.x; row < rows; row += gridDim.x) {
    const i64 at = row / inner * n * inner + row % inner;
    C sum = 0;
    for (i64 i = threadIdx.x; i < n; i += blockDim.x) {
      const i64 k = at + i * inner;
      sum += log ? get(g[k]) : get(g[k]) * get(y[k]);
    }
    sum = row_sum(sum);
    for (i64 i = threadIdx.x; i < n; i += blockDim.x) {
      const i64 k = at + i * inner;
      const C r = get(y[k]), d = get(g[k]);
      out[k] = put<T>(log ? d - f_exp(r) * sum : (d - sum) * r);
    }
  }
}

/// loss = sum(labels * (log(sum(exp(x))) - x)), backprop = softmax(x) - labels; x and
/// labels broadcast through their steps.
extern "C" __global__ void cross_entropy(const T* x, const T* labels, T* loss,
                                         T* backprop, i64 rows, i64 n, i64 x_row,
                                         i64 x_step, i64 label_row, i64 label_step) {
  for (i64 row = blockIdx.x; row < rows; row += gridDim.x) {
    const T* from = x + row * x_row;
    const T* wanted = labels + row * label_row;
    C top = lowest(), sum = 0, total = 0;
    for (i64 i = threadIdx.x; i < n; i += blockDim.x) {
      const C v = get(from[i * x_step]);
      top = (v > top || v != v) ? v : top;
    }
    top = row_max(top);
    for (i64 i = threadIdx.x; i < n; i += blockDim.x)
      sum += f_exp(get(from[i * x_step]) - top);
    sum = row_sum(sum);
    const C log_sum = f_log(sum);
    for (i64 i = threadIdx.x; i < n; i += blockDim.x) {
      const C v = get(from[i * x_step]) - top, l = get(wanted[i * label_step]);
      total += l * (log_sum - v);
      backprop[row * n + i] = put<T>(f_exp(v) / sum - l);
    }
    total = row_sum(total);
    if (threadIdx.x == 0) loss[row] = put<T>(total);
  }
}

/// The same with class numbers: see row_entropy.cuh.
template <class L>
inline void sparse_rows(const T* x, const void* labels, const float* scale, L* loss,
                        T* backprop, i64 rows, i64 n, i64 scale_step, ReportFlags* flags,
                        i32 site, int wide, int together) {
  for (i64 row = blockIdx.x; row < rows; row += gridDim.x) {
    const T* from = x + row * n;
    const i64 label = wide ? ((const i64*)labels)[row] : ((const i32*)labels)[row];
    if (label < 0 || label >= n) {  // the same for the whole block
      if (threadIdx.x == 0) report_bad(flags, 1, site, label, row, n);
      continue;
    }
    const Soft s = soft_of(from, n, together);
    const C share = C(1) / s.sum, by = scale ? (C)scale[row * scale_step] : C(1);
    if (backprop) {
      each_chunk(from, n, together, [&](i64 at, const auto& v) {
        constexpr int count = sizeof(v) / sizeof(C);
        C r[count];
#pragma unroll
        for (int i = 0; i < count; ++i) {
          const C p = f_exp(v[i] - s.top) * share;
          r[i] = (at + i == label ? p - C(1) : p) * by;
        }
        put_chunk(backprop + row * n + at, r);
      });
    }
    if (threadIdx.x == 0) loss[row] = put<L>(f_log(s.sum) - (get(from[label]) - s.top));
  }
}
extern "C" __global__ void sparse(const T* x, const void* labels, T* loss, T* backprop,
                                  i64 rows, i64 n, ReportFlags* flags, i32 site, int wide,
                                  int together) {
  sparse_rows(x, labels, nullptr, loss, backprop, rows, n, 0, flags, site, wide,
              together);
}
extern "C" __global__ void fused_sparse(const T* x, const void* labels,
                                        const float* scale, float* loss, T* backprop,
                                        i64 rows, i64 n, i64 scale_step,
                                        ReportFlags* flags, i32 site, int wide,
                                        int together) {
  sparse_rows(x, labels, scale, loss, backprop, rows, n, scale_step, flags, site, wide,
              together);
}
