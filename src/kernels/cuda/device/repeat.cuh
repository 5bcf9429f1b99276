// Slices repeated as often as their counts say: E (element) comes before this text.
/// in [outer, n, inner] to [outer, total, inner]; starts: n + 1, where the copies of each
/// slice begin.
extern "C" __global__ void __launch_bounds__(256)
    repeat(const E* in, E* out, const i64* starts, i64 elements, i64 n, i64 total,
           i64 inner) {
  for (i64 i = global_thread(); i < elements; i += global_threads()) {
    const i64 k = i % inner, line = i / inner, at = line % total;
    i64 low = 0, high = n;  // the last slice whose copies begin at or before `at`
    while (high - low > 1) {
      const i64 middle = (low + high) / 2;
      if (starts[middle] <= at) {
        low = middle;
      } else {
        high = middle;
      }
    }
    out[i] = in[(line / total * n + low) * inner + k];
  }
}
