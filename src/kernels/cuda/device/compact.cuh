// The end of programs that keep some elements in their order. Before this text: Args,
// `bool kept(const Args&, i64)` and `void place(const Args&, i64 i, i64 to)`, which is
// called for the element i that is the `to`-th of those kept. First blocks count what
// their tiles keep, then they know what comes before.
constexpr int kTile = 2048;

extern "C" __global__ void __launch_bounds__(256)
    count_kept(const Args a, i64 n, i64 tiles, i64* counts) {
  __shared__ i32 warps[8];
  for (i64 tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
    i32 mine = 0;
    for (int k = 0; k < kTile / 256; ++k) {
      const i64 i = tile * kTile + k * 256 + threadIdx.x;
      mine += i < n && kept(a, i);
    }
    for (int by = 16; by > 0; by /= 2) mine += __shfl_xor_sync(0xffffffffu, mine, by);
    if (threadIdx.x % 32 == 0) warps[threadIdx.x / 32] = mine;
    __syncthreads();
    if (threadIdx.x == 0) {
      i64 all = 0;
      for (int w = 0; w < 8; ++w) all += warps[w];
      counts[tile] = all;
    }
    __syncthreads();
  }
}

extern "C" __global__ void __launch_bounds__(256)
    place_kept(const Args a, i64 n, i64 tiles, const i64* before) {
  __shared__ i32 warps[8];
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  for (i64 tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
    i64 to = before[tile];
    for (int k = 0; k < kTile / 256; ++k) {
      const i64 i = tile * kTile + k * 256 + threadIdx.x;
      const bool mine = i < n && kept(a, i);
      const u32 mask = __ballot_sync(0xffffffffu, mine);
      if (lane == 0) warps[warp] = __popc(mask);
      __syncthreads();
      i32 earlier = __popc(mask & ((1u << lane) - 1)), all = 0;
      for (int w = 0; w < 8; ++w) {
        if (w < warp) earlier += warps[w];
        all += warps[w];
      }
      if (mine) place(a, i, to + earlier);
      to += all;
      __syncthreads();
    }
  }
}
