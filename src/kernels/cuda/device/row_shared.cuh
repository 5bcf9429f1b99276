// Rows in shared memory, a row to a block: what is too long for registers. Every thread
// reads, changes and writes the same chunks of a row, so that threads wait for each other
// in reductions alone; and when a thread has written what it made of a chunk, it asks for
// that chunk of the block's next row, which arrives while others still write. After
// row_chunks.cuh; what row_softmax.cuh and row_entropy.cuh are written with, as
// row_team.cuh is.
extern __shared__ __align__(16) unsigned char block_space[];

constexpr int kThreads = 1024;  // of a block, at most

/// Powers can be kept in the place of elements without being rounded.
constexpr bool kKeepsPowers = sizeof(T) == sizeof(C);

/// The rows of a block, one after the other, of k tensors each.
template <int k>
struct Kept {
  const T* from[k];
  i64 step[k];  // between rows; 0: one row serves all
  T other[k];   // what stands where the row has ended
  i64 rows;
  Part part;
  i64 row = 0;
  bool silent = false;  // nothing is written of this row

  Kept(i64 count, i64 n, int together) : rows(count), part{(int)n, together != 0} {}
  void add(int t, const T* tensor, i64 between, C end) {
    from[t] = tensor;
    step[t] = between;
    other[t] = put<T>(end);
  }

  void begin() {
    row = blockIdx.x;
    if (!more()) return;
    for (int c = 0; part.first(c) < part.n; ++c) ask(row, c);
  }
  bool more() const { return row < rows; }
  void next() { row += gridDim.x; }
  bool there() const { return true; }
  /// Waits for what this thread has asked for.
  void take() {
    silent = false;
#if __CUDA_ARCH__ >= 800
    asm volatile("cp.async.wait_all;" ::: "memory");
#endif
  }

  /// Calls f(elements, c) for the chunks of this thread, c being a chunk's number.
  template <class F>
  void look(const F& f) const {
#pragma unroll 2
    for (int c = 0; part.first(c) < part.n; ++c) {
      C v[k][kVec];
      read(c, v);
      f(v, c);
    }
  }
  /// The same; where they need not be rounded, f's changes of the first tensor are kept.
  template <class F>
  void change(const F& f) {
#pragma unroll 2
    for (int c = 0; part.first(c) < part.n; ++c) {
      C v[k][kVec];
      read(c, v);
      f(v, c);
      if constexpr (kKeepsPowers) *place(0, c) = narrow(v[0]);
    }
  }
  /// The same for the last time; the first tensor's elements go to `to`.
  template <class F>
  void write(T* to, const F& f) {
    const i64 following = row + gridDim.x;
#pragma unroll 2
    for (int c = 0; part.first(c) < part.n; ++c) {
      C v[k][kVec];
      read(c, v);
      f(v, c);
      if (!silent) part.store(to + row * part.n, c, narrow(v[0]));
      if (following < rows) ask(following, c);
    }
  }

  bool is_first() const { return threadIdx.x == 0; }

 private:
  Chunk* place(int t, int c) const {
    const int chunks = (part.n + kVec - 1) / kVec;
    const int turns = (chunks + (int)blockDim.x - 1) / (int)blockDim.x;
    return (Chunk*)block_space + (t * turns + c) * (int)blockDim.x + threadIdx.x;
  }
  void read(int c, C (&v)[k][kVec]) const {
#pragma unroll
    for (int t = 0; t < k; ++t) widen(*place(t, c), v[t]);
  }
  void ask(i64 which, int c) {
#pragma unroll
    for (int t = 0; t < k; ++t) {
      const T* const begin = from[t] + which * step[t];
#if __CUDA_ARCH__ >= 800
      if (part.together) {
        asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(
                         (u32)__cvta_generic_to_shared(place(t, c))),
                     "l"(begin + part.first(c))
                     : "memory");
        continue;
      }
#endif
      *place(t, c) = part.load(begin, c, other[t]);
    }
  }
};

/// Reductions over the block, in two places by turns, so that one barrier is enough.
struct Meeting {
  int turn = 0;
  C sum(C x) {
    return reduce(x, C(0), [](C a, C b) { return a + b; });
  }
  C top(C x) {
    return reduce(x, lowest(), [](C a, C b) { return larger(a, b); });
  }

 private:
  template <class F>
  C reduce(C x, C nothing, const F& f) {
    __shared__ C space[2][32];
    turn ^= 1;
    x = in_warp(x, f);
    const int lane = threadIdx.x % 32;
    if (lane == 0) space[turn][threadIdx.x / 32] = x;
    __syncthreads();
    return in_warp(lane < (int)blockDim.x / 32 ? space[turn][lane] : nothing, f);
  }
  template <class F>
  static C in_warp(C x, const F& f) {
#pragma unroll
    for (int by = 16; by > 0; by /= 2) x = f(x, __shfl_xor_sync(0xffffffffu, x, by));
    return x;
  }
};
