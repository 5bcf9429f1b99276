// Stable sorting of places by small keys, eight bits at a time, for DynamicPartition.
// Blocks of 256 threads take tiles; what a tile has of each digit is counted, running
// totals over (digit, tile) say where it goes.
constexpr int kTile = 2048;

/// Keys of lists; those outside [0, lists) are reported.
extern "C" __global__ void __launch_bounds__(256)
    load_lists(const i32* lists, u32* keys, i64* places, i64 n, i64 limit,
               ReportFlags* flags, i32 site) {
  for (i64 i = global_thread(); i < n; i += global_threads()) {
    const i32 k = lists[i];
    const bool bad = k < 0 || k >= limit;
    if (bad) report_bad(flags, 1, site, k, i, limit);
    keys[i] = bad ? 0 : (u32)k;
    places[i] = i;
  }
}

extern "C" __global__ void __launch_bounds__(256)
    count_digits(const u32* keys, i64 n, int shift, i64 tiles, i64* counts) {
  __shared__ u32 own[256];
  for (i64 tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
    own[threadIdx.x] = 0;
    __syncthreads();
    for (int k = 0; k < kTile / 256; ++k) {
      const i64 i = tile * kTile + k * 256 + threadIdx.x;
      if (i < n) atomicAdd(own + (keys[i] >> shift & 255), 1u);
    }
    __syncthreads();
    counts[threadIdx.x * tiles + tile] = own[threadIdx.x];
    __syncthreads();
  }
}

/// Rows of 256 elements one after the other; within a row warps, within a warp lanes.
extern "C" __global__ void __launch_bounds__(256)
    move_digits(const u32* keys, const i64* places, u32* new_keys, i64* new_places, i64 n,
                int shift, i64 tiles, const i64* before) {
  __shared__ u32 warps[8][256];
  __shared__ i64 next[256];  // where the next element with this digit goes
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  for (i64 tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
    next[threadIdx.x] = before[threadIdx.x * tiles + tile];
    for (int k = 0; k < kTile / 256; ++k) {
      for (int w = 0; w < 8; ++w) warps[w][threadIdx.x] = 0;
      __syncthreads();
      const i64 i = tile * kTile + k * 256 + threadIdx.x;
      const u32 key = i < n ? keys[i] : 0;
      const u32 digit = i < n ? key >> shift & 255 : 256;
      const u32 equal = __match_any_sync(0xffffffffu, digit);
      const u32 earlier = __popc(equal & ((1u << lane) - 1));
      if (digit < 256 && earlier == 0) warps[warp][digit] = __popc(equal);
      __syncthreads();
      // Each thread has a digit: counts of the warps become what comes before them.
      u32 sum = 0;
      for (int w = 0; w < 8; ++w) {
        const u32 count = warps[w][threadIdx.x];
        warps[w][threadIdx.x] = sum;
        sum += count;
      }
      __syncthreads();
      if (digit < 256) {
        const i64 to = next[digit] + warps[warp][digit] + earlier;
        new_keys[to] = key;
        new_places[to] = places[i];
      }
      __syncthreads();
      next[threadIdx.x] += sum;
    }
    __syncthreads();
  }
}

/// Where each list begins in the sorted keys; lists + 1.
extern "C" __global__ void __launch_bounds__(256)
    list_starts(const u32* keys, i64 n, i64* starts, i64 lists) {
  for (i64 k = global_thread(); k <= lists; k += global_threads()) {
    i64 low = 0, high = n;
    while (low < high) {
      const i64 middle = (low + high) / 2;
      if ((i64)keys[middle] < k) {
        low = middle + 1;
      } else {
        high = middle;
      }
    }
    starts[k] = low;
  }
}
