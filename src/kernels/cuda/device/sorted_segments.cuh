// Segments of rows that lie together, each reduced to one row: x [outer, n, inner] to
// [outer, segments, inner]. A reducer (reducers.cuh) X (the type of
// ids) and R (that of row numbers) come before this text. Where a segment begins is found
// in the sorted ids, read from `starts`, or a multiple of `times`. How work is cut
// depends on sizes alone: the same bits every time.
struct SegmentArgs {
  const T* x;
  T* out;
  const X* ids;       // sorted, or null
  const i64* starts;  // segments + 1, or null
  const R* rows;      // which rows are meant, or null: all in order
  i64 outer, n, segments, inner, times;
  i64 width, height;  // threads that share a segment: columns and rows, powers of two
};

/// The first place whose id is at least `id`.
inline i64 first_of(const X* ids, i64 n, i64 id) {
  i64 low = 0, high = n;
  while (low < high) {
    const i64 middle = (low + high) / 2;
    if ((i64)ids[middle] < id) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

extern "C" __global__ void __launch_bounds__(256)
    reduce_segments(const SegmentArgs a, i64 count) {
  __shared__ __align__(16) unsigned char space[256 * sizeof(A)];
  A* const partial = (A*)space;
  const int width = (int)a.width, height = (int)a.height, group = width * height;
  const int column = (int)threadIdx.x % width, line = (int)threadIdx.x / width % height;
  const i64 across = (a.inner + width - 1) / width, groups = 256 / group;
  const i64 tasks = a.outer * a.segments * across;
  for (i64 base = (i64)blockIdx.x * groups; base < tasks;
       base += (i64)gridDim.x * groups) {
    const i64 task = base + threadIdx.x / group;
    const i64 c = task % across * width + column, line_of = task / across;
    const i64 s = line_of % a.segments, o = line_of / a.segments;
    const bool mine = task < tasks && c < a.inner;
    i64 begin = 0, end = 0;
    A sum = initial();
    if (mine) {
      if (a.ids) {
        begin = first_of(a.ids, count, s);
        end = begin + first_of(a.ids + begin, count - begin, s + 1);
      } else {
        begin = a.starts ? a.starts[s] : s * a.times;
        end = a.starts ? a.starts[s + 1] : begin + a.times;
      }
      for (i64 r = begin + line; r < end; r += height) {
        const i64 row = a.rows ? (i64)a.rows[r] : r;
        sum = combine(sum, single(get(a.x[(o * a.n + row) * a.inner + c])));
      }
    }
    partial[threadIdx.x] = sum;
    __syncthreads();
    for (int step = height / 2; step > 0; step /= 2) {
      if (line < step) {
        partial[threadIdx.x] =
            combine(partial[threadIdx.x], partial[threadIdx.x + step * width]);
      }
      __syncthreads();
    }
    if (mine && line == 0) {
      T* to = a.out + line_of * a.inner + c;
#if !defined(OP_PROD)
      if (begin == end) {
        *to = put<T>((C)0);
      } else
#endif
      {
        finish(partial[threadIdx.x], end - begin, to, (T*)0);
      }
    }
    __syncthreads();
  }
}

/// Reports ids that decrease and rows outside; the first and the last id for the host.
extern "C" __global__ void check_segments(const X* ids, i64 n, const R* rows, i64 limit,
                                          i64* ends, ReportFlags* flags, i32 site) {
  for (i64 i = global_thread(); i < n; i += global_threads()) {
    if (i == 0) ends[0] = (i64)ids[0];
    if (i == n - 1) ends[1] = (i64)ids[i];
    if (i > 0 && ids[i] < ids[i - 1]) {
      report_bad(flags, 1, site, (i64)ids[i - 1], i, (i64)ids[i]);
    }
    if (rows && ((i64)rows[i] < 0 || (i64)rows[i] >= limit)) {
      report_bad(flags, 2, site, (i64)rows[i], i, limit);
    }
  }
}
