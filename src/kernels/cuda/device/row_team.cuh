// Rows in registers: a team of kTeam threads has a row, kChunks chunks each. After
// row_chunks.cuh; before this text: kTeam, kChunks. What row_softmax.cuh and
// row_entropy.cuh are written with, as row_shared.cuh is.
constexpr int kThreads = 256, kTeams = kThreads / kTeam;  // of a block

/// Powers can be kept in the place of elements without being rounded.
constexpr bool kKeepsPowers = true;

/// The rows of a thread's team, one after the other, of k tensors each.
template <int k>
struct Kept {
  const T* from[k];
  i64 step[k];  // between rows; 0: one row serves all
  C other[k];   // what stands where the row has ended
  i64 rows;
  Part part;
  i64 row = 0;
  bool silent = false;  // nothing is written of this row
  C v[kChunks][k][kVec];

  Kept(i64 count, i64 n, int together) : rows(count), part{(int)n, together != 0} {}
  void add(int t, const T* tensor, i64 between, C end) {
    from[t] = tensor;
    step[t] = between;
    other[t] = end;
  }

  /// The threads of a block go through equally many rows; some may not be there.
  void begin() { row = (i64)blockIdx.x * kTeams + threadIdx.x / kTeam; }
  bool more() const { return row - threadIdx.x / kTeam < rows; }
  void next() { row += (i64)gridDim.x * kTeams; }
  bool there() const { return row < rows; }
  void take() {
    silent = !there();
    Chunk x[kChunks][k];
    Part own = part;
    if (silent) own.n = 0;
#pragma unroll
    for (int t = 0; t < k; ++t) {
#pragma unroll
      for (int c = 0; c < kChunks; ++c) {
        x[c][t] = own.load(from[t] + row * step[t], c, put<T>(other[t]));
      }
    }
#pragma unroll
    for (int c = 0; c < kChunks; ++c) {
#pragma unroll
      for (int t = 0; t < k; ++t) widen(x[c][t], v[c][t]);
    }
  }

  /// Calls f(elements, c) for the chunks of this thread, c being a chunk's number; f may
  /// change the elements.
  template <class F>
  void change(const F& f) {
#pragma unroll
    for (int c = 0; c < kChunks; ++c) {
      if (c == 0 || part.begin(c) < part.n) f(v[c], c);
    }
  }
  template <class F>
  void look(const F& f) {
    change(f);
  }
  /// The same for the last time; the first tensor's elements go to `to`.
  template <class F>
  void write(T* to, const F& f) {
    change(f);
    if (silent) return;
#pragma unroll
    for (int c = 0; c < kChunks; ++c) part.store(to + row * part.n, c, narrow(v[c][0]));
  }

  bool is_first() const { return part.lane() == 0; }
};

/// Reductions over a team. Teams of several warps meet in shared memory, in two places by
/// turns, so that one barrier is enough: all threads of the block take part.
struct Meeting {
  int turn = 0;
  template <class F>
  C reduce(C x, const F& f) {
#pragma unroll
    for (int by = (kTeam < 32 ? kTeam : 32) / 2; by > 0; by /= 2) {
      x = f(x, __shfl_xor_sync(0xffffffffu, x, by));
    }
    if constexpr (kTeam > 32) {
      constexpr int warps = kTeam / 32;
      __shared__ C space[2][kThreads / 32];
      turn ^= 1;
      if (threadIdx.x % 32 == 0) space[turn][threadIdx.x / 32] = x;
      __syncthreads();
      const C* const own = space[turn] + threadIdx.x / kTeam * warps;
      x = own[0];
#pragma unroll
      for (int w = 1; w < warps; ++w) x = f(x, own[w]);
    }
    return x;
  }
  C sum(C x) {
    return reduce(x, [](C a, C b) { return a + b; });
  }
  C top(C x) {
    return reduce(x, [](C a, C b) { return larger(a, b); });
  }
};
