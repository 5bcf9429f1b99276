// Running sums, products and logs of sums of exponentials along an axis. T (storage) and
// one of the OP_ names come before this text. Elements are numbered in the direction of
// the scan; `pieces` of an axis are scanned by blocks of their own, which know what came
// before them. How work is cut depends on sizes alone: the same bits every time.
typedef typename compute_of<T>::type C;

#if defined(OP_LOGSUMEXP)
typedef LogSum<C> A;
inline A initial() { return no_logs<C>(); }
inline A combine(A a, A b) { return combine_logs(a, b); }
inline A single(C x) { return {x, 1}; }
inline T value_of(A a) { return put<T>(log_of(a)); }
#else
typedef C A;
#if defined(OP_PROD)
inline A initial() { return A(1); }
inline A combine(A a, A b) { return f_mul(a, b); }
#else
inline A initial() { return A(0); }
inline A combine(A a, A b) { return f_add(a, b); }
#endif
inline A single(C x) { return x; }
inline T value_of(A a) { return put<T>(a); }
#endif

constexpr int kThreads = 256, kEach = 4;

struct ScanArgs {
  const T* x;
  T* y;
  A* before;  // by row and piece; null: one piece
  i64 n, inner, pieces, length, rows;
  i32 reverse, exclusive;
};

inline i64 element(const ScanArgs& a, i64 row, i64 i) {
  return (row / a.inner * a.n + (a.reverse ? a.n - 1 - i : i)) * a.inner + row % a.inner;
}

// What the threads before this one bring together, and all of them.
inline A before_me(A mine, A* total) {
  __shared__ alignas(16) char memory[2 * kThreads * sizeof(A)];
  A* now = (A*)memory;
  A* next = now + kThreads;
  now[threadIdx.x] = mine;
  __syncthreads();
  for (int step = 1; step < kThreads; step *= 2) {
    const A own = now[threadIdx.x];
    next[threadIdx.x] =
        (int)threadIdx.x >= step ? combine(now[threadIdx.x - step], own) : own;
    __syncthreads();
    A* swap = now;
    now = next;
    next = swap;
  }
  *total = now[kThreads - 1];
  const A result = threadIdx.x ? now[threadIdx.x - 1] : initial();
  __syncthreads();
  return result;
}

/// A block per piece of a row.
extern "C" __global__ void scan_rows(const ScanArgs a) {
  for (i64 task = blockIdx.x; task < a.rows * a.pieces; task += gridDim.x) {
    const i64 row = task / a.pieces, from = task % a.pieces * a.length;
    const i64 to = from + a.length < a.n ? from + a.length : a.n;
    A carry = a.before ? a.before[task] : initial();
    for (i64 tile = from; tile < to; tile += kThreads * kEach) {
      const i64 first = tile + (i64)threadIdx.x * kEach;
      A own[kEach], sum = initial();
      for (int k = 0; k < kEach; ++k) {
        own[k] =
            first + k < to ? single(get(a.x[element(a, row, first + k)])) : initial();
        sum = combine(sum, own[k]);
      }
      A total;
      A running = combine(carry, before_me(sum, &total));
      for (int k = 0; k < kEach; ++k) {
        const A next = combine(running, own[k]);
        if (first + k < to) {
          a.y[element(a, row, first + k)] = value_of(a.exclusive ? running : next);
        }
        running = next;
      }
      carry = combine(carry, total);
    }
  }
}

/// The total of each piece.
extern "C" __global__ void piece_totals(const ScanArgs a) {
  for (i64 task = blockIdx.x; task < a.rows * a.pieces; task += gridDim.x) {
    const i64 row = task / a.pieces, from = task % a.pieces * a.length;
    const i64 to = from + a.length < a.n ? from + a.length : a.n;
    A carry = initial();
    for (i64 tile = from; tile < to; tile += kThreads * kEach) {
      const i64 first = tile + (i64)threadIdx.x * kEach;
      A sum = initial();
      for (int k = 0; k < kEach; ++k) {
        if (first + k < to) {
          sum = combine(sum, single(get(a.x[element(a, row, first + k)])));
        }
      }
      A total;
      before_me(sum, &total);
      carry = combine(carry, total);
    }
    if (threadIdx.x == 0) a.before[task] = carry;
  }
}

/// Totals of a row's pieces become what comes before each.
extern "C" __global__ void before_pieces(const ScanArgs a) {
  for (i64 row = global_thread(); row < a.rows; row += global_threads()) {
    A running = initial();
    for (i64 p = 0; p < a.pieces; ++p) {
      A* at = a.before + row * a.pieces + p;
      const A total = *at;
      *at = running;
      running = combine(running, total);
    }
  }
}

/// A thread per row: for many rows that lie side by side.
extern "C" __global__ void scan_columns(const ScanArgs a) {
  for (i64 row = global_thread(); row < a.rows; row += global_threads()) {
    A running = initial();
    for (i64 i = 0; i < a.n; ++i) {
      const i64 at = element(a, row, i);
      const A next = combine(running, single(get(a.x[at])));
      a.y[at] = value_of(a.exclusive ? running : next);
      running = next;
    }
  }
}
