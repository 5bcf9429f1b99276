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

constexpr int kChunk = sizeof(T) < 16 ? 16 / sizeof(T) : 1;
typedef vec<T, kChunk> Chunk;
inline bool is_aligned(const void* p) { return (u64)p % sizeof(Chunk) == 0; }

template <int n>
inline A combined(A (&sums)[n]) {
#pragma unroll
  for (int width = n / 2; width > 0; width /= 2) {
#pragma unroll
    for (int i = 0; i < width; ++i) sums[i] = combine(sums[i], sums[i + width]);
  }
  return sums[0];
}

/// Chunks that are on their way at once, and blocks of a multiprocessor that there are
/// registers for: told less, the compiler makes loads wait for each other.
constexpr int kFlying = sizeof(A) <= 8 ? 8 : 4, kResident = sizeof(A) <= 8 ? 4 : 1;

/// Adds up chunks first, first + by, … below `end`, `step` apart in memory each. The last
/// ones are on their way at once, too.
inline void add_chunks(A (&sums)[kChunk], const Chunk* chunks, i64 first, i64 end, i64 by,
                       i64 step) {
  i64 j = first;
  for (; j + (kFlying - 1) * by < end; j += kFlying * by) {
    Chunk x[kFlying];
#pragma unroll
    for (int u = 0; u < kFlying; ++u) x[u] = chunks[(j + u * by) * step];
#pragma unroll
    for (int u = 0; u < kFlying; ++u) {
#pragma unroll
      for (int i = 0; i < kChunk; ++i) sums[i] = combine(sums[i], single(get(x[u].v[i])));
    }
  }
  Chunk x[kFlying - 1];
#pragma unroll
  for (int u = 0; u < kFlying - 1; ++u) {
    if (j + u * by < end) x[u] = chunks[(j + u * by) * step];
  }
#pragma unroll
  for (int u = 0; u < kFlying - 1; ++u) {
    if (j + u * by >= end) continue;
#pragma unroll
    for (int i = 0; i < kChunk; ++i) sums[i] = combine(sums[i], single(get(x[u].v[i])));
  }
}

/// The first `count` elements of what is reduced, every `by`th chunk or element of them
/// from number `first` on. Runs of memory are read 16 bytes at a time.
inline A share_of(const Args& a, const T* from, i64 count, i64 first, i64 by) {
  const u64* dims = a.w + 7 + 2 * KEPT;
  A sum = initial();
  i64 begin = 0;
  if (REDUCED == 1 && dims[1] == 1 && count >= kChunk && is_aligned(from)) {
    A sums[kChunk];
#pragma unroll
    for (int i = 0; i < kChunk; ++i) sums[i] = initial();
    add_chunks(sums, (const Chunk*)from, first, count / kChunk, by, 1);
    sum = combined(sums);
    begin = count / kChunk * kChunk;
  }
#pragma unroll 4
  for (i64 r = begin + first; r < count; r += by) {
    sum = combine(sum, single(get(from[offset(dims, REDUCED, (I)r)])));
  }
  return sum;
}
inline A warp_combined(A sum) {
  for (int by = 16; by > 0; by /= 2) sum = combine(sum, shuffled(sum, by));
  return sum;
}
/// Of 256 threads, valid in the first one; call it with all of them.
inline A block_combined(A sum) {
  __shared__ __align__(16) unsigned char space[8 * sizeof(A)];
  A* const partial = (A*)space;
  sum = warp_combined(sum);
  __syncthreads();
  if (threadIdx.x % 32 == 0) partial[threadIdx.x / 32] = sum;
  __syncthreads();
  if (threadIdx.x == 0) {
    for (int w = 1; w < (int)blockDim.x / 32; ++w) sum = combine(sum, partial[w]);
  }
  return sum;
}

/// The innermost dimension is reduced: one block per output and part. The blocks of an
/// output read side by side.
extern "C" __global__ void __launch_bounds__(256, kResident) reduce_rows(const Args a) {
  const T* in = (const T*)a.w[0];
  const i64 outputs = (i64)a.w[4], count = (i64)a.w[5], parts = (i64)a.w[6];
  for (i64 job = blockIdx.x; job < outputs * parts; job += gridDim.x) {
    const i64 o = job % outputs, part = job / outputs;
    const T* from = in + offset(a.w + 7, KEPT, (I)o);
    const A sum = block_combined(
        share_of(a, from, count, part * blockDim.x + threadIdx.x, parts * blockDim.x));
    if (threadIdx.x == 0) store(a, sum, part, o);
  }
}

/// Short rows: one warp per output.
extern "C" __global__ void __launch_bounds__(256) reduce_short_rows(const Args a) {
  const T* in = (const T*)a.w[0];
  const i64 outputs = (i64)a.w[4], count = (i64)a.w[5];
  const i64 warps = global_threads() / 32;
  for (i64 o = global_thread() / 32; o < outputs; o += warps) {
    const T* from = in + offset(a.w + 7, KEPT, (I)o);
    const A sum = warp_combined(share_of(a, from, count, threadIdx.x % 32, 32));
    if (threadIdx.x % 32 == 0) store(a, sum, 0, o);
  }
}

/// Rows of a matrix are added up and its columns kept: blocks of 32 chunks by 8 rows.
extern "C" __global__ void __launch_bounds__(256, kResident)
    reduce_wide_columns(const Args a) {
  constexpr int kWidth = 32 * kChunk;
  __shared__ __align__(16) unsigned char space[8 * kWidth * sizeof(A)];
  A* const partial = (A*)space;
  const Chunk* in = (const Chunk*)a.w[0];
  const i64 outputs = (i64)a.w[4], count = (i64)a.w[5], parts = (i64)a.w[6];
  const i64 share = (count + parts - 1) / parts, chunks = outputs / kChunk;
  const int lane = threadIdx.x % 32, row = threadIdx.x / 32;
  const i64 tiles = (chunks + 31) / 32;
  for (i64 job = blockIdx.x; job < tiles * parts; job += gridDim.x) {
    const i64 c = job % tiles * 32 + lane, part = job / tiles;
    const i64 begin = part * share, limit = begin + share;
    const i64 end = c >= chunks ? 0 : limit < count ? limit : count;
    A sums[kChunk];
#pragma unroll
    for (int i = 0; i < kChunk; ++i) sums[i] = initial();
    add_chunks(sums, in + c, begin + row, end, 8, chunks);
#pragma unroll
    for (int i = 0; i < kChunk; ++i) partial[row * kWidth + lane * kChunk + i] = sums[i];
    __syncthreads();
    for (int i = threadIdx.x; i < kWidth; i += 256) {
      const i64 o = job % tiles * kWidth + i;
      if (o >= outputs) continue;
      A sum = partial[i];
      for (int k = 1; k < 8; ++k) sum = combine(sum, partial[k * kWidth + i]);
      store(a, sum, part, o);
    }
    __syncthreads();
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

/// Puts the parts together, in order: eight threads to an output, or a block.
extern "C" __global__ void __launch_bounds__(256) reduce_parts(const Args a) {
  __shared__ __align__(16) unsigned char space[256 * sizeof(A)];
  A* const shares = (A*)space;
  const i64 outputs = (i64)a.w[4], parts = (i64)a.w[6];
  const A* partial = (const A*)a.w[3];
  const int column = threadIdx.x % 32, share = threadIdx.x / 32;
  for (i64 first = (i64)blockIdx.x * 32; first < outputs; first += (i64)gridDim.x * 32) {
    const i64 o = first + column;
    A sum = initial();
    if (o < outputs) {
#pragma unroll 8
      for (i64 k = share; k < parts; k += 8) {
        sum = combine(sum, partial[k * outputs + o]);
      }
    }
    shares[threadIdx.x] = sum;
    __syncthreads();
    if (share == 0 && o < outputs) {
      for (int k = 1; k < 8; ++k) sum = combine(sum, shares[k * 32 + column]);
      finish(sum, (i64)a.w[5], (T*)a.w[1] + o, (T*)a.w[2] + o);
    }
    __syncthreads();
  }
}
extern "C" __global__ void __launch_bounds__(256) reduce_many_parts(const Args a) {
  const i64 outputs = (i64)a.w[4], parts = (i64)a.w[6];
  const A* partial = (const A*)a.w[3];
  for (i64 o = blockIdx.x; o < outputs; o += gridDim.x) {
    A sum = initial();
#pragma unroll 4
    for (i64 k = threadIdx.x; k < parts; k += blockDim.x) {
      sum = combine(sum, partial[k * outputs + o]);
    }
    sum = block_combined(sum);
    if (threadIdx.x == 0) finish(sum, (i64)a.w[5], (T*)a.w[1] + o, (T*)a.w[2] + o);
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
