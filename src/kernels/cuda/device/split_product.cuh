// Products of little output and a long inner dimension: many blocks share it, each makes
// a tile (tile.cuh) of sums over its part, and `split_end` puts the parts together.
// Before this text: T (storage), tile.cuh, kTransposeA, kTransposeB, kWarps, and
// finish(product, bias), the end. How work is cut depends on sizes alone.
struct SplitSizes {
  i64 m, n, k, lda, ldb, parts, share;  // share: places of a part, whole steps
};

extern "C" __global__ void __launch_bounds__(32 * kWarps)
    split_product(const T* a, const T* b, C* parts, const SplitSizes s) {
  constexpr int kColumns = 8 * kTiles;
  __shared__ C sums[kWarps][16 * kColumns];
  const int warp = threadIdx.x / 32;
  const i64 row = (i64)blockIdx.x * 16, column = (i64)blockIdx.y * kColumns;
  const i64 part = blockIdx.z, begin = part * s.share, limit = begin + s.share;
  C sum[kTiles][4] = {};
  const i64 own = row + lane_row();
  add_tile<4, int>(
      sum, (int)begin + warp * 8, (int)(limit < s.k ? limit : s.k), 8 * kWarps,
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
  put_tile(sums[warp], sum);
  __syncthreads();
  for (int i = threadIdx.x; i < 16 * kColumns; i += 32 * kWarps) {
    const i64 r = row + i / kColumns, c = column + i % kColumns;
    if (r >= s.m || c >= s.n) continue;
    C total = sums[0][i];
#pragma unroll
    for (int w = 1; w < kWarps; ++w) total += sums[w][i];
    parts[(part * s.m + r) * s.n + c] = total;
  }
}

/// A block has 32 elements, its 8 warps share the parts.
extern "C" __global__ void __launch_bounds__(256)
    split_end(const C* parts, const T* bias, T* out, const SplitSizes s, u64 guard) {
  __shared__ C space[8][32];
  const bool stop = stopped(guard);
  const i64 n = s.m * s.n, i = (i64)blockIdx.x * 32 + threadIdx.x % 32;
  const int share = threadIdx.x / 32;
  C total = 0;
  if (i < n) {
#pragma unroll 8
    for (i64 p = share; p < s.parts; p += 8) total += parts[p * n + i];
  }
  space[share][threadIdx.x % 32] = total;
  __syncthreads();
  if (share > 0 || i >= n || stop) return;
  for (int w = 1; w < 8; ++w) total += space[w][threadIdx.x];
  out[i] = finish(rounded<T>(total), bias ? get(bias[i % s.n]) : 0);
}
