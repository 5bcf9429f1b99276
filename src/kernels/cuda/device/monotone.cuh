// Monotone fits of rows, and means of runs: one thread per row, as runs follow from those
// before them. T (float or double) comes before this text.

/// Neighbours that rise are joined until none does. The means and sizes of runs so far
/// stand at the front of the outputs, and are spread over them from the end.
extern "C" __global__ void fit_rows(const T* x, T* y, i32* runs, i64 rows, i64 n) {
  for (i64 row = global_thread(); row < rows; row += global_threads()) {
    const T* in = x + row * n;
    T* out = y + row * n;
    i32* sizes = runs + row * n;
    i64 count = 0;
    for (i64 i = 0; i < n; ++i) {
      T mean = in[i];
      i32 size = 1;
      while (count > 0 && out[count - 1] < mean) {
        const double before = sizes[count - 1], own = size;
        mean =
            (T)(((double)out[count - 1] * before + (double)mean * own) / (before + own));
        size += sizes[--count];
      }
      out[count] = mean;
      sizes[count++] = size;
    }
    for (i64 run = count, end = n; run-- > 0;) {
      const T mean = out[run];
      for (i32 k = sizes[run]; k > 0; --k) {
        --end;
        out[end] = mean;
        sizes[end] = (i32)run;
      }
    }
  }
}

/// Every number becomes the mean of those with its run's number beside it.
extern "C" __global__ void run_means(const T* x, const i32* runs, T* y, i64 rows, i64 n) {
  for (i64 row = global_thread(); row < rows; row += global_threads()) {
    const T* in = x + row * n;
    const i32* run = runs + row * n;
    T* out = y + row * n;
    for (i64 i = 0, end = 0; i < n; i = end) {
      double sum = 0;
      for (end = i; end < n && run[end] == run[i]; ++end) sum += (double)in[end];
      const T mean = (T)(sum / (double)(end - i));
      for (i64 k = i; k < end; ++k) out[k] = mean;
    }
  }
}
