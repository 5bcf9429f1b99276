// Reductions over any axes. Before this text: a reducer (reducers.cuh), KEPT and REDUCED
// (numbers of dimensions) and I. How work is cut depends on sizes alone, so results are
// the same bits every time.
// Words: in, out, second, workspace, outputs, count, parts, then dims and steps of the
// kept dimensions and of the reduced ones, outermost first.
struct Args {
  u64 w[7 + 2 * KEPT + 2 * REDUCED + 1];
};
inline i64 offset(const u64* dims, int rank, I at) {
  i64 sum = 0;
#pragma unroll
  for (int d = rank - 1; d >= 0; --d) {
    I c = at;
    if (d > 0) {
      const I size = (I)dims[d];
      c = at % size;
      at /= size;
    }
    sum += (i64)c * (i64)dims[rank + d];
  }
  return sum;
}
inline void store(const Args& a, A sum, i64 part, i64 o) {
  const i64 outputs = (i64)a.w[4], parts = (i64)a.w[6];
  if (parts > 1) {
    ((A*)a.w[3])[part * outputs + o] = sum;
  } else {
    finish(sum, (i64)a.w[5], (T*)a.w[1] + o, (T*)a.w[2] + o);
  }
}

/// The innermost dimension is reduced: one block per output and part.
extern "C" __global__ void __launch_bounds__(256) reduce_rows(const Args a) {
  __shared__ __align__(16) unsigned char space[8 * sizeof(A)];
  A* const partial = (A*)space;
  const T* in = (const T*)a.w[0];
  const i64 outputs = (i64)a.w[4], count = (i64)a.w[5], parts = (i64)a.w[6];
  const i64 share = (count + parts - 1) / parts;
  for (i64 job = blockIdx.x; job < outputs * parts; job += gridDim.x) {
    const i64 o = job % outputs, part = job / outputs;
    const T* from = in + offset(a.w + 7, KEPT, (I)o);
    const i64 begin = part * share, limit = begin + share;
    const i64 end = limit < count ? limit : count;
    A sum = initial();
    for (i64 r = begin + threadIdx.x; r < end; r += blockDim.x) {
      sum = combine(sum, single(get(from[offset(a.w + 7 + 2 * KEPT, REDUCED, (I)r)])));
    }
    for (int by = 16; by > 0; by /= 2) sum = combine(sum, shuffled(sum, by));
    if (threadIdx.x % 32 == 0) partial[threadIdx.x / 32] = sum;
    __syncthreads();
    if (threadIdx.x == 0) {
      for (int w = 1; w < (int)blockDim.x / 32; ++w) sum = combine(sum, partial[w]);
      store(a, sum, part, o);
    }
    __syncthreads();
  }
}

/// Short rows: one warp per output.
extern "C" __global__ void __launch_bounds__(256) reduce_short_rows(const Args a) {
  const T* in = (const T*)a.w[0];
  const i64 outputs = (i64)a.w[4], count = (i64)a.w[5];
  const i64 warps = global_threads() / 32;
  for (i64 o = global_thread() / 32; o < outputs; o += warps) {
    const T* from = in + offset(a.w + 7, KEPT, (I)o);
    A sum = initial();
    for (i64 r = threadIdx.x % 32; r < count; r += 32) {
      sum = combine(sum, single(get(from[offset(a.w + 7 + 2 * KEPT, REDUCED, (I)r)])));
    }
    for (int by = 16; by > 0; by /= 2) sum = combine(sum, shuffled(sum, by));
    if (threadIdx.x % 32 == 0) store(a, sum, 0, o);
  }
}

/// The innermost dimension is kept: blocks of 32 outputs by 8 rows; neighbouring threads
/// read neighbouring elements.
extern "C" __global__ void __launch_bounds__(256) reduce_columns(const Args a) {
  __shared__ __align__(16) unsigned char space[256 * sizeof(A)];
  A* const partial = (A*)space;
  const T* in = (const T*)a.w[0];
  const i64 outputs = (i64)a.w[4], count = (i64)a.w[5], parts = (i64)a.w[6];
  const i64 share = (count + parts - 1) / parts;
  const int column = threadIdx.x % 32, row = threadIdx.x / 32;
  const i64 tiles = (outputs + 31) / 32;
  for (i64 job = blockIdx.x; job < tiles * parts; job += gridDim.x) {
    const i64 o = job % tiles * 32 + column, part = job / tiles;
    const i64 begin = part * share, limit = begin + share;
    const i64 end = limit < count ? limit : count;
    A sum = initial();
    if (o < outputs) {
      const T* from = in + offset(a.w + 7, KEPT, (I)o);
      for (i64 r = begin + row; r < end; r += 8) {
        sum = combine(sum, single(get(from[offset(a.w + 7 + 2 * KEPT, REDUCED, (I)r)])));
      }
    }
    partial[threadIdx.x] = sum;
    __syncthreads();
    if (row == 0 && o < outputs) {
      for (int k = 1; k < 8; ++k) sum = combine(sum, partial[k * 32 + column]);
      store(a, sum, part, o);
    }
    __syncthreads();
  }
}

/// Puts the parts together, in order.
extern "C" __global__ void __launch_bounds__(256) reduce_parts(const Args a) {
  const i64 outputs = (i64)a.w[4], parts = (i64)a.w[6];
  const A* partial = (const A*)a.w[3];
  for (i64 o = global_thread(); o < outputs; o += global_threads()) {
    A sum = partial[o];
    for (i64 k = 1; k < parts; ++k) sum = combine(sum, partial[k * outputs + o]);
    finish(sum, (i64)a.w[5], (T*)a.w[1] + o, (T*)a.w[2] + o);
  }
}

#if defined(OP_ARG)
/// ArgMax and ArgMin along one axis of [outer, n, inner]: one warp per output, the first
/// of equal elements. Words: in, out, outer * inner, n, inner.
struct ArgArgs {
  u64 w[5];
};
extern "C" __global__ void __launch_bounds__(256) arg(const ArgArgs a) {
  const T* in = (const T*)a.w[0];
  INDEX* out = (INDEX*)a.w[1];
  const i64 outputs = (i64)a.w[2], n = (i64)a.w[3], inner = (i64)a.w[4];
  const i64 warps = global_threads() / 32;
  for (i64 o = global_thread() / 32; o < outputs; o += warps) {
    const T* from = in + o / inner * n * inner + o % inner;
    i64 best = -1;
    C value = C(0);
    for (i64 r = threadIdx.x % 32; r < n; r += 32) {
      const C x = get(from[r * inner]);
      if (x == x && (best < 0 || BETTER(x, value))) {  // NaNs do not count
        best = r;
        value = x;
      }
    }
    for (int by = 16; by > 0; by /= 2) {
      const A other = shuffled(value, by);
      const i64 at = __shfl_down_sync(0xffffffffu, best, by);
      const bool take = at >= 0 && (best < 0 || BETTER(other, value) ||
                                    (!BETTER(value, other) && at < best));
      if (take) {
        best = at;
        value = other;
      }
    }
    if (threadIdx.x % 32 == 0) out[o] = (INDEX)(best < 0 ? 0 : best);
  }
}
#endif
