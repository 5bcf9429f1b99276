// Products so small that what counts is how long one takes from end to end: a block makes
// one tile (tile.cuh), its warps share the inner dimension. Before this text: T
// (storage), tile.cuh, kTransposeA, kTransposeB, kWarps, and finish(product, bias), the
// end.
struct ProductSizes {
  i64 m, n, k, lda, ldb, a_stride, b_stride, out_stride;
};

extern "C" __global__ void __launch_bounds__(32 * kWarps)
    small_product(const T* a, const T* b, const T* bias, T* out, const ProductSizes s,
                  u64 guard) {
  constexpr int kColumns = 8 * kTiles;
  __shared__ C parts[kWarps][16 * kColumns];
  const int warp = threadIdx.x / 32;
  const i64 row = (i64)blockIdx.x * 16, column = (i64)blockIdx.y * kColumns;
  a += blockIdx.z * s.a_stride;
  b += blockIdx.z * s.b_stride;
  out += blockIdx.z * s.out_stride;
  C sum[kTiles][4] = {};
  const i64 own = row + lane_row();
  add_tile<kTiles == 1 ? 4 : 2, int>(
      sum, warp * 8, (int)s.k, 8 * kWarps,
      [&](int high, int at) {
        const i64 r = own + high * 8;
        if (r >= s.m) return C(0);
        return (C)get(kTransposeA ? a[at * s.lda + r] : a[r * s.lda + at]);
      },
      [&](int c, int at) {
        if (column + c >= s.n) return C(0);
        return (C)get(kTransposeB ? b[(column + c) * s.ldb + at]
                                  : b[at * s.ldb + column + c]);
      });
  put_tile(parts[warp], sum);
  __syncthreads();
  if (stopped(guard)) return;
  for (int i = threadIdx.x; i < 16 * kColumns; i += 32 * kWarps) {
    const i64 r = row + i / kColumns, c = column + i % kColumns;
    if (r >= s.m || c >= s.n) continue;
    C total = parts[0][i];
#pragma unroll
    for (int w = 1; w < kWarps; ++w) total += parts[w][i];
    out[r * s.n + c] = finish(rounded<T>(total), bias ? get(bias[c]) : 0);
  }
}
