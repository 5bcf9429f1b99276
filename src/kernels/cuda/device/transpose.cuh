// Transposes of planes through shared memory, so that both sides are read and written in
// long runs: out[c * col_out + r] = in[r * row_in + c] for every plane of a batch. E
// (element), I (index type), moved() (what happens to an element on its way), BATCH
// (dimensions of the batch) and VECTOR come before this text; TC and TR (the sizes of a
// tile along c and r) where VECTOR is 1.
struct Args {
  // in, out, in offset, out offset, tiles, rows, cols, row_in, col_out; then of the batch
  // the sizes, the steps of in and those of out.
  u64 w[9 + 3 * BATCH];
};
struct Plane {
  const E* in;
  E* out;
  i64 row, col;  // where the tile begins
};

/// The tile's plane. Tiles along the rows come first: neighbours write neighbouring runs.
inline Plane plane_of(const Args& a, i64 tile, int tile_rows, int tile_cols) {
  const i64 rows = (i64)a.w[5], cols = (i64)a.w[6];
  const I down = (I)((rows + tile_rows - 1) / tile_rows);
  const I across = (I)((cols + tile_cols - 1) / tile_cols);
  I rest = (I)tile;
  const i64 row = (i64)(rest % down) * tile_rows;
  rest /= down;
  const i64 col = (i64)(rest % across) * tile_cols;
  rest /= across;
  i64 from = (i64)a.w[2], to = (i64)a.w[3];
#pragma unroll
  for (int d = BATCH - 1; d >= 0; --d) {
    I c = rest;
    if (d > 0) {
      const I size = (I)a.w[9 + d];
      c = rest % size;
      rest /= size;
    }
    from += (i64)c * (i64)a.w[9 + BATCH + d];
    to += (i64)c * (i64)a.w[9 + 2 * BATCH + d];
  }
  return {(const E*)a.w[0] + from, (E*)a.w[1] + to, row, col};
}

#if VECTOR > 1
// Elements are read and written VECTOR at a time; sizes and steps are multiples of it. A
// thread turns a small square in its registers. The tile holds vectors along the rows,
// column by column; the place of a vector in its column is mixed with the column's
// number, so that neither side meets in a bank.
typedef vec<E, VECTOR> W;
constexpr int kSide = 32 * VECTOR;

extern "C" __global__ void __launch_bounds__(256) transpose(const Args a) {
  __shared__ W tile[kSide][32];
  const i64 tiles = (i64)a.w[4], rows = (i64)a.w[5], cols = (i64)a.w[6];
  const i64 row_in = (i64)a.w[7], col_out = (i64)a.w[8];
  const int x = threadIdx.x % 32, y = threadIdx.x / 32;
  for (i64 t = blockIdx.x; t < tiles; t += gridDim.x) {
    const Plane p = plane_of(a, t, kSide, kSide);
    const i64 col = p.col + x * VECTOR;
    if (col < cols) {
#pragma unroll
      for (int group = y; group < 32; group += 8) {
        const i64 row = p.row + group * VECTOR;
        if (row >= rows) continue;
        W line[VECTOR];
#pragma unroll
        for (int r = 0; r < VECTOR; ++r) {
          line[r] = *(const W*)(p.in + (row + r) * row_in + col);
        }
#pragma unroll
        for (int c = 0; c < VECTOR; ++c) {
          W turned;
#pragma unroll
          for (int r = 0; r < VECTOR; ++r) turned.v[r] = moved(line[r].v[c]);
          tile[x * VECTOR + c][group ^ x] = turned;
        }
      }
    }
    __syncthreads();
    const i64 row = p.row + x * VECTOR;
    if (row < rows) {
#pragma unroll
      for (int c = y; c < kSide; c += 8) {
        if (p.col + c >= cols) continue;
        *(W*)(p.out + (p.col + c) * col_out + row) = tile[c][x ^ (c / VECTOR)];
      }
    }
    __syncthreads();
  }
}
#else
// One element at a time, in tiles as narrow as the plane. Columns of the tile are apart
// by so much that lanes which write side by side meet in no bank.
constexpr int kWord = sizeof(E) < 4 ? 4 / sizeof(E) : 1;
constexpr int kPitch = TR + kWord * (TC < 32 ? 32 / TC : 1);

extern "C" __global__ void __launch_bounds__(256) transpose(const Args a) {
  __shared__ E tile[TC * kPitch];
  const i64 tiles = (i64)a.w[4], rows = (i64)a.w[5], cols = (i64)a.w[6];
  const i64 row_in = (i64)a.w[7], col_out = (i64)a.w[8];
  for (i64 t = blockIdx.x; t < tiles; t += gridDim.x) {
    const Plane p = plane_of(a, t, TR, TC);
#pragma unroll
    for (int i = threadIdx.x; i < TC * TR; i += 256) {
      const int c = i % TC, r = i / TC;
      if (p.col + c < cols && p.row + r < rows) {
        tile[c * kPitch + r] = p.in[(p.row + r) * row_in + p.col + c];
      }
    }
    __syncthreads();
#pragma unroll
    for (int i = threadIdx.x; i < TC * TR; i += 256) {
      const int r = i % TR, c = i / TR;
      if (p.col + c < cols && p.row + r < rows) {
        p.out[(p.col + c) * col_out + p.row + r] = moved(tile[c * kPitch + r]);
      }
    }
    __syncthreads();
  }
}
#endif
