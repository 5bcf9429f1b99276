// Running totals of 64-bit counts, for kernels that must know how much comes before what
// they write. Blocks have 256 threads.
constexpr int kPiece = 4096;  // numbers that a block takes at once

/// What the threads before this one bring together, and all of them. All threads call it.
inline i64 before_me(i64 mine, i64* total) {
  __shared__ i64 warps[8];
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  i64 running = mine;
  for (int step = 1; step < 32; step *= 2) {
    const i64 other = __shfl_up_sync(0xffffffffu, running, step);
    if (lane >= step) running += other;
  }
  if (lane == 31) warps[warp] = running;
  __syncthreads();
  i64 before = 0, all = 0;
  for (int w = 0; w < 8; ++w) {
    if (w < warp) before += warps[w];
    all += warps[w];
  }
  __syncthreads();
  *total = all;
  return before + running - mine;
}

/// Numbers [from, to) become what comes before each, with `carry` before the first.
/// Returns what comes after the last.
inline i64 scan_range(i64* data, i64 from, i64 to, i64 carry) {
  constexpr int kEach = 4;
  for (i64 tile = from; tile < to; tile += 256 * kEach) {
    const i64 first = tile + (i64)threadIdx.x * kEach;
    i64 own[kEach], sum = 0, total;
    for (int k = 0; k < kEach; ++k) {
      own[k] = first + k < to ? data[first + k] : 0;
      sum += own[k];
    }
    i64 running = carry + before_me(sum, &total);
    for (int k = 0; k < kEach; ++k) {
      if (first + k < to) data[first + k] = running;
      running += own[k];
    }
    carry += total;
  }
  return carry;
}

/// One block; the total is written behind the last.
extern "C" __global__ void __launch_bounds__(256) scan_all(i64* data, i64 n) {
  const i64 total = scan_range(data, 0, n, 0);
  if (threadIdx.x == 0) data[n] = total;
}

/// Many numbers: the total of each piece, then, once those are scanned, the pieces.
extern "C" __global__ void __launch_bounds__(256)
    sum_pieces(const i64* data, i64 n, i64* totals) {
  const i64 from = (i64)blockIdx.x * kPiece, to = from + kPiece < n ? from + kPiece : n;
  i64 sum = 0, total;
  for (i64 i = from + threadIdx.x; i < to; i += 256) sum += data[i];
  before_me(sum, &total);
  if (threadIdx.x == 0) totals[blockIdx.x] = total;
}
extern "C" __global__ void __launch_bounds__(256)
    scan_pieces(i64* data, i64 n, const i64* before) {
  const i64 from = (i64)blockIdx.x * kPiece, to = from + kPiece < n ? from + kPiece : n;
  const i64 end = scan_range(data, from, to, before[blockIdx.x]);
  if (to == n && threadIdx.x == 0) data[n] = end;
}
