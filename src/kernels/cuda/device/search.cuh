// Places in sorted rows, and whether a class is among the best. T (storage) and X (the
// type of indices) come before this text.

/// How many elements of the sorted row [n] come before each value of its row.
extern "C" __global__ void bound(const T* sorted, const T* values, X* out, i64 total,
                                 i64 n, i64 per_row, i32 upper) {
  for (i64 i = global_thread(); i < total; i += global_threads()) {
    const T* row = sorted + i / per_row * n;
    const auto value = get(values[i]);
    i64 low = 0, left = n;
    while (left > 0) {
      const i64 half = left / 2;
      const auto x = get(row[low + half]);
      const bool before = upper ? !(value < x) : x < value;
      low = before ? low + half + 1 : low;
      left = before ? left - half - 1 : half;
    }
    out[i] = (X)low;
  }
}

/// A warp per row: fewer than k predictions are larger than the target's, all finite.
extern "C" __global__ void in_top_k(const T* predictions, const X* targets, bool* out,
                                    i64 rows, i64 classes, i64 k) {
  const int lane = threadIdx.x % 32;
  for (i64 row = global_thread() / 32; row < rows; row += global_threads() / 32) {
    const T* p = predictions + row * classes;
    const i64 target = (i64)targets[row];
    const bool inside = target >= 0 && target < classes;
    i64 larger = 0;
    bool infinite = !inside;
    if (inside) {
      const float wanted = (float)get(p[target]);
      for (i64 i = lane; i < classes; i += 32) {
        const float x = (float)get(p[i]);
        larger += x > wanted;
        infinite |= !(fabsf(x) <= 3.402823466e38f);
      }
    }
    for (int by = 16; by > 0; by /= 2) {
      larger += __shfl_xor_sync(0xffffffffu, larger, by);
      infinite |= __shfl_xor_sync(0xffffffffu, (int)infinite, by) != 0;
    }
    if (lane == 0) out[row] = !infinite && larger < k;
  }
}
