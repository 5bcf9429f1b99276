// y[i] = a[i] * y[i - 1] + b[i] along an axis, and shifts by one place, of arrays
// [outer, n, inner]. Sums are taken in the order of the places, as on the CPU: a scan
// would multiply coefficients that may overflow. T (storage) comes before this text.
typedef typename compute_of<T>::type C;

/// One thread per column.
extern "C" __global__ void recur(const T* a, const T* b, T* y, i64 outer, i64 n,
                                 i64 inner, i32 reverse) {
  for (i64 column = global_thread(); column < outer * inner; column += global_threads()) {
    const i64 base = column / inner * n * inner + column % inner;
    C last = C(0);
    for (i64 k = 0; k < n; ++k) {
      const i64 at = base + (reverse ? n - 1 - k : k) * inner;
      last = get(a[at]) * last + get(b[at]);
      y[at] = put<T>(last);
    }
  }
}

/// Rows that lie in one piece (inner is 1): a warp takes 32 of them through shared
/// memory, so that neighbouring lanes read neighbours in memory.
constexpr int kTile = 32;
extern "C" __global__ void recur_rows(const T* a, const T* b, T* y, i64 rows, i64 n,
                                      i32 reverse) {
  __shared__ C factors[kTile][kTile + 1], addends[kTile][kTile + 1];
  const int lane = threadIdx.x;
  for (i64 first = (i64)blockIdx.x * kTile; first < rows;
       first += (i64)gridDim.x * kTile) {
    C last = C(0);
    for (i64 from = 0; from < n; from += kTile) {
      const i64 k = from + lane, at = reverse ? n - 1 - k : k;
      for (int r = 0; r < kTile; ++r) {
        const bool there = first + r < rows && k < n;
        factors[r][lane] = there ? get(a[(first + r) * n + at]) : C(0);
        addends[r][lane] = there ? get(b[(first + r) * n + at]) : C(0);
      }
      __syncwarp();
      for (int i = 0; i < kTile; ++i) {
        last = factors[lane][i] * last + addends[lane][i];
        addends[lane][i] = last;
      }
      __syncwarp();
      for (int r = 0; r < kTile; ++r) {
        if (first + r < rows && k < n) y[(first + r) * n + at] = put<T>(addends[r][lane]);
      }
      __syncwarp();
    }
  }
}

/// Every place gets its neighbour's number; the place that has none gets 0.
extern "C" __global__ void shift(const T* x, T* y, i64 outer, i64 n, i64 inner,
                                 i32 reverse) {
  for (i64 i = global_thread(); i < outer * n * inner; i += global_threads()) {
    const i64 k = i / inner % n;
    const bool open = reverse ? k == n - 1 : k == 0;
    y[i] = open ? T() : x[reverse ? i + inner : i - inner];
  }
}
