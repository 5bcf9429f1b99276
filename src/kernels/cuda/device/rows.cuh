// Kernels over rows: softmax and its kin over one axis of [outer, n, inner], and the
// cross entropies. T (storage) comes before this text. One block per row; sums are made
// in the same order every time.
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
      // 0 * infinity is 0 here: a class with no probability costs nothing.
      total += l == 0 ? C(0) : l * (log_sum - v);
      backprop[row * n + i] = put<T>(f_exp(v) / sum - l);
    }
    total = row_sum(total);
    if (threadIdx.x == 0) loss[row] = put<T>(total);
  }
}

/// The same with class numbers of type L.
template <class L>
inline void sparse(const T* x, const L* labels, T* loss, T* backprop, i64 rows, i64 n,
                   ReportFlags* flags, i32 site) {
  for (i64 row = blockIdx.x; row < rows; row += gridDim.x) {
    const T* from = x + row * n;
    const i64 label = (i64)labels[row];
    if (label < 0 || label >= n) {  // the same for the whole block
      if (threadIdx.x == 0) report_bad(flags, 1, site, label, row, n);
      continue;
    }
    C top = lowest(), sum = 0;
    for (i64 i = threadIdx.x; i < n; i += blockDim.x) {
      const C v = get(from[i]);
      top = (v > top || v != v) ? v : top;
    }
    top = row_max(top);
    for (i64 i = threadIdx.x; i < n; i += blockDim.x) sum += f_exp(get(from[i]) - top);
    sum = row_sum(sum);
    for (i64 i = threadIdx.x; i < n; i += blockDim.x) {
      const C p = f_exp(get(from[i]) - top) / sum;
      backprop[row * n + i] = put<T>(i == label ? p - C(1) : p);
    }
    if (threadIdx.x == 0) loss[row] = put<T>(f_log(sum) - (get(from[label]) - top));
  }
}
extern "C" __global__ void sparse_i32(const T* x, const i32* labels, T* loss, T* backprop,
                                      i64 rows, i64 n, ReportFlags* flags, i32 site) {
  sparse(x, labels, loss, backprop, rows, n, flags, site);
}
extern "C" __global__ void sparse_i64(const T* x, const i64* labels, T* loss, T* backprop,
                                      i64 rows, i64 n, ReportFlags* flags, i32 site) {
  sparse(x, labels, loss, backprop, rows, n, flags, site);
}
