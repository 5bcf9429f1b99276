// Counting values into bins: W (the type of bins), and X (values) for DenseBincount or T
// (values) for HistogramFixedWidth come before this text. A block counts a chunk of a row
// in shared memory where the bins fit, and adds its counts to those of the others.
template <class V>
inline void add_to(V* at, V x) {
  if constexpr (same_type<V, i64>::value) {
    atomicAdd((u64*)at, (u64)x);
  } else {
    atomicAdd(at, x);
  }
}

struct CountArgs {
  const void* x;
  const W* weights;  // null: 1 each
  W* out;            // zeros
  i64 rows, n, bins, chunks, chunk;
  i32 binary, in_shared;
};

template <class Bin>
inline void count_chunks(const CountArgs& a, Bin bin_of) {
  extern __shared__ bytes16 memory[];
  W* own = (W*)memory;
  for (i64 task = blockIdx.x; task < a.rows * a.chunks; task += gridDim.x) {
    const i64 row = task / a.chunks, begin = task % a.chunks * a.chunk;
    const i64 end = begin + a.chunk < a.n ? begin + a.chunk : a.n;
    W* const all = a.out + row * a.bins;
    W* const bins = a.in_shared ? own : all;
    if (a.in_shared) {
      for (i64 b = threadIdx.x; b < a.bins; b += blockDim.x) own[b] = W(0);
      __syncthreads();
    }
    for (i64 i = begin + threadIdx.x; i < end; i += blockDim.x) {
      const i64 at = row * a.n + i, b = bin_of(at);
      if (b < 0 || b >= a.bins) continue;
      if (a.binary) {
        bins[b] = W(1);
      } else {
        add_to(bins + b, a.weights ? a.weights[at] : W(1));
      }
    }
    if (a.in_shared) {
      __syncthreads();
      for (i64 b = threadIdx.x; b < a.bins; b += blockDim.x) {
        if (own[b] == W(0)) continue;
        if (a.binary) {
          all[b] = W(1);
        } else {
          add_to(all + b, own[b]);
        }
      }
      __syncthreads();
    }
  }
}

#if defined(HISTOGRAM)
/// How far apart two values are, `from` being the lesser one, or half of that where T may
/// have no such number.
inline double distance(T from, T to, bool halved) {
  if constexpr (is_float<T>::value) {
    return halved ? (double)(to / 2 - from / 2) : (double)(to - from);
  } else {
    return (double)((u64)to - (u64)from);  // exact, modulo 2^64
  }
}
/// Values below the range are in the first bin, those above it in the last one. Of a
/// range without end a place may be NaN: the first bin.
extern "C" __global__ void __launch_bounds__(256)
    histogram(const CountArgs a, const T* range, ReportFlags* flags, i32 site) {
  const T low = range[0], high = range[1];
  if (!(low < high)) {
    if (global_thread() == 0) {
      report_bad(flags, 1, site, __double_as_longlong((double)low), 0,
                 __double_as_longlong((double)high));
    }
    return;
  }
  const double all = distance(low, high, false);
  const bool halved = all - all != 0;  // no finite number
  const double step = distance(low, high, halved) / (double)a.bins;
  const T* x = (const T*)a.x;
  count_chunks(a, [&](i64 i) -> i64 {
    const T value = x[i];
    if (value != value) {
      report_bad(flags, 2, site, 0, i, 0);
      return -1;
    }
    const double bin = value > low ? distance(low, value, halved) / step : 0;
    if (value >= high || bin >= (double)(a.bins - 1)) return a.bins - 1;
    return bin > 0 ? (i64)bin : 0;
  });
}
#else
extern "C" __global__ void __launch_bounds__(256)
    bincount(const CountArgs a, ReportFlags* flags, i32 site) {
  const X* x = (const X*)a.x;
  count_chunks(a, [&](i64 i) -> i64 {
    const i64 value = (i64)x[i];
    if (value < 0) report_bad(flags, 1, site, value, i, 0);
    return value;
  });
}
#endif
