// Products of matrices of integers, which wrap around: T is unsigned. A block of 256
// threads makes 64 by 64 elements of one product, 16 places of the inner dimension at a
// time through shared memory; a thread makes 4 by 4 of them. T comes before this text.
constexpr int kSide = 64, kDepth = 16, kOwn = 4;
constexpr int kMaxBatchDims = 12;

/// The layout is known to int_product.cc.
struct Product {
  i64 m, n, k, batch;
  i64 a_row, a_step, b_row, b_step;  // between rows, between columns, as they are read
  i64 sizes[kMaxBatchDims];          // of the batch, last first
  i64 a_moves[kMaxBatchDims], b_moves[kMaxBatchDims];
  i32 dims;
};

extern "C" __global__ void int_product(const T* a, const T* b, T* c, const Product p) {
  __shared__ T left[kDepth][kSide + 1], right[kDepth][kSide + 1];
  const i64 across = (p.n + kSide - 1) / kSide, down = (p.m + kSide - 1) / kSide;
  const int thread = threadIdx.x, own_row = thread / 16, own_column = thread % 16;
  for (i64 tile = blockIdx.x; tile < across * down * p.batch; tile += gridDim.x) {
    const i64 row = tile / across % down * kSide, column = tile % across * kSide;
    const i64 item = tile / across / down;
    const T *x = a, *y = b;
    i64 rest = item;
    for (int d = 0; d < p.dims; ++d) {
      const i64 at = rest % p.sizes[d];
      rest /= p.sizes[d];
      x += at * p.a_moves[d];
      y += at * p.b_moves[d];
    }
    T sum[kOwn][kOwn] = {};
    for (i64 q = 0; q < p.k; q += kDepth) {
      // Neighbouring threads read neighbours in memory, whichever way a matrix lies.
      for (int i = thread; i < kSide * kDepth; i += 256) {
        const int r = p.a_step == 1 ? i / kDepth : i % kSide;
        const int d = p.a_step == 1 ? i % kDepth : i / kSide;
        left[d][r] = row + r < p.m && q + d < p.k
                         ? x[(row + r) * p.a_row + (q + d) * p.a_step]
                         : T(0);
      }
      for (int i = thread; i < kSide * kDepth; i += 256) {
        const int r = p.b_step == 1 ? i % kSide : i / kDepth;
        const int d = p.b_step == 1 ? i / kSide : i % kDepth;
        right[d][r] = column + r < p.n && q + d < p.k
                          ? y[(q + d) * p.b_row + (column + r) * p.b_step]
                          : T(0);
      }
      __syncthreads();
#pragma unroll
      for (int d = 0; d < kDepth; ++d) {
        T u[kOwn], v[kOwn];
#pragma unroll
        for (int i = 0; i < kOwn; ++i) {
          u[i] = left[d][own_row + 16 * i];
          v[i] = right[d][own_column + 16 * i];
        }
#pragma unroll
        for (int i = 0; i < kOwn; ++i) {
#pragma unroll
          for (int j = 0; j < kOwn; ++j) sum[i][j] += u[i] * v[j];
        }
      }
      __syncthreads();
    }
    T* z = c + item * p.m * p.n;
    for (int i = 0; i < kOwn; ++i) {
      for (int j = 0; j < kOwn; ++j) {
        const i64 r = row + own_row + 16 * i, s = column + own_column + 16 * j;
        if (r < p.m && s < p.n) z[r * p.n + s] = sum[i][j];
      }
    }
  }
}
