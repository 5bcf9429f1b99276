// Rows of n elements, shared by a team of threads in chunks of 16 bytes. In rows that are
// whole chunks and begin at multiples of 16 bytes (`together`) a chunk is kVec elements
// in a row, moved at once; in others its elements lie a team apart, so that neighbours
// read neighbours. Before this text: whole_store.cuh, T (storage), kTeam (threads of a
// row).
typedef typename compute_of<T>::type C;
constexpr int kVec = 16 / (int)sizeof(T);
typedef vec<T, kVec> Chunk;

inline C lowest() { return -(C)kInfinity; }

/// One thread's part of a row: which elements its chunk number c has.
struct Part {
  int n;
  bool together;
  static int lane() { return threadIdx.x % kTeam; }
  int first(int c) const {
    return together ? (c * kTeam + lane()) * kVec : c * kVec * kTeam + lane();
  }
  /// Where the team's chunks of that number begin: those from n on are nobody's.
  int begin(int c) const { return c * kVec * kTeam; }

  /// Whether element i of chunk c is one of the row.
  bool has(int c, int i) const {
    return together ? first(c) < n : first(c) + i * kTeam < n;
  }

  /// `other` where the row has ended.
  Chunk load(const T* row, int c, T other) const {
    Chunk x;
    const int at = first(c);
    if (together && at < n) return *(const Chunk*)(row + at);
#pragma unroll
    for (int i = 0; i < kVec; ++i) {
      x.v[i] = !together && at + i * kTeam < n ? row[at + i * kTeam] : other;
    }
    return x;
  }
  void store(T* row, int c, const Chunk& x) const {
    const int at = first(c);
    if (together) {
      if (at < n) store_whole((Chunk*)(row + at), x);
      return;
    }
#pragma unroll
    for (int i = 0; i < kVec; ++i) {
      if (at + i * kTeam < n) row[at + i * kTeam] = x.v[i];
    }
  }
  /// The chunk of this thread that has an element, with its place there, as one number
  /// c * kVec + place; -1: another thread has it.
  int own(int element) const {
    const int chunk = together ? element / kVec : element;
    if (chunk % kTeam != lane()) return -1;
    return together ? chunk / kTeam * kVec + element % kVec : element / kTeam;
  }
};

inline void widen(const Chunk& x, C* v) {
#pragma unroll
  for (int i = 0; i < kVec; ++i) v[i] = get(x.v[i]);
}
/// Two halfs take one instruction where the GPU has it.
template <class H>
inline u32 two_halfs(float low, float high) {
  u32 r;
#if __CUDA_ARCH__ >= 800
  if constexpr (same_type<H, bf16>::value) {
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(r) : "f"(high), "f"(low));
  } else {
    asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(r) : "f"(high), "f"(low));
  }
#else
  r = put<H>(low).bits | (u32)put<H>(high).bits << 16;
#endif
  return r;
}
inline Chunk narrow(const C* v) {
  if constexpr (sizeof(T) == 2) {
    vec<u32, 4> words;
#pragma unroll
    for (int i = 0; i < 4; ++i) words.v[i] = two_halfs<T>(v[2 * i], v[2 * i + 1]);
    return __builtin_bit_cast(Chunk, words);
  } else {
    Chunk x;
#pragma unroll
    for (int i = 0; i < kVec; ++i) x.v[i] = put<T>(v[i]);
    return x;
  }
}

/// e to the power of x. Of halfs, what is rounded to halfs afterwards or added up over a
/// row needs no more than the GPU's own instruction gives, which is a third of the work.
template <class V>
inline V power_of(V x) {
  if constexpr (sizeof(T) == 2) {
    float r;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(r) : "f"((float)x * 1.44269504f));
    return r;
  } else {
    return f_exp(x);
  }
}
inline C power(C x) { return power_of<C>(x); }
/// The larger one. What is not a number is left out: it shows in the sum of powers, which
/// every result of the row is made with.
inline float larger(float a, float b) { return fmaxf(a, b); }
inline double larger(double a, double b) { return fmax(a, b); }
