// Parts of attention on tensor cores: tiles of rows in shared memory and products of them
// (mma.cuh). A warp owns 16 rows, a block kWarps times as many; tiles of kTile rows pass
// by, two at a time in shared memory: one is computed with while the next is on its way.
// Before this text: T (storage), and as constants kSize, kValueSize (of a head),
// kHeadsFirst, kCausal, kMask, kBias, kScores, kWarps, kTile.
struct Attention {
  i64 batch, queries, keys, heads, key_heads;
  i64 mask_steps[4], bias_steps[4];  // along batch, head, query, key
  double scale;
  int causal;    // kCausal
  int together;  // rows of all tensors begin at multiples of 16 bytes
};
struct Inputs {
  const T *q, *k, *v;
  const bool* mask;
  const T* bias;
};

constexpr bool kHalfs = sizeof(T) == 2;
constexpr int kOwn = 16 * kWarps;
constexpr int kChunk = 16 / sizeof(T);  // elements of 16 bytes
constexpr int kDepth = 2 * kChunk;      // of one product's inner dimension
// Rows in shared memory are filled up with zeros, and an odd number of chunks apart: the
// eight rows of a matrix lie in different banks.
constexpr int kWide = (kSize + 15) / 16 * 16, kValueWide = (kValueSize + 15) / 16 * 16;
constexpr int kRow = kWide + kChunk, kValueRow = kValueWide + kChunk;
constexpr float kLog2E = 1.4426950408889634f, kLn2 = 0.6931471805599453f;
constexpr float kInf = (float)kInfinity;

inline int lane() { return threadIdx.x % 32; }
inline int warp() { return threadIdx.x / 32; }
inline int lane_row() { return lane() / 4; }
inline int lane_column() { return lane() % 4 * 2; }

/// One head's rows of a tensor.
template <class P>
struct Head {
  P* at;
  i64 step;
};
template <class P>
inline Head<P> head_of(P* x, i64 b, i64 h, i64 times, i64 heads, int size) {
  if (kHeadsFirst) return {x + (b * heads + h) * times * size, size};
  return {x + (b * times * heads + h) * size, heads * size};
}

/// `rows` rows of a head from `first` on, of which `count` are there, into a tile.
template <int rows, int size, int wide>
inline void load_tile(T* to, const Head<const T>& from, i64 first, i64 count,
                      bool together) {
  constexpr int chunks = wide / kChunk, row = wide + kChunk;
#pragma unroll 4
  for (int c = threadIdx.x; c < rows * chunks; c += 32 * kWarps) {
    const int r = c / chunks, e = c % chunks * kChunk;
    const bool there = first + r < count;
    const T* source = from.at + (there ? first + r : 0) * from.step;
    T* const at = to + r * row + e;
    if (together) {
      const bool inside = there && e < size;
      copy_chunk(at, source + (inside ? e : 0), inside);
    } else {
      for (int i = 0; i < kChunk; ++i) {
        at[i] = there && e + i < size ? source[e + i] : T{};
      }
    }
  }
}

/// 16 rows by kDepth columns, as a left operand; of a right operand of 16 columns, 0 and
/// 2 are the first eight, 1 and 3 the others.
inline void load_rows(u32 (&r)[4], const T* tile, int row_step, int row, int column) {
  load_matrices(r, tile + (row + lane() % 16) * row_step + column + lane() / 16 * kChunk);
  if constexpr (!kHalfs) {
#pragma unroll
    for (int i = 0; i < 4; ++i) r[i] = as_tf32(__uint_as_float(r[i]));
  }
}
/// The other way round, kDepth rows by 16 columns as a right operand: 0 and 1 are the
/// first eight columns, 2 and 3 the others. TF32 takes rows 2 t and 2 t + 1 where places
/// t and t + 4 are asked for, as left_of does: any order will do as long as it is one.
template <class E>
inline void load_columns(u32 (&r)[4], const E* tile, int row_step, int row, int column) {
  if constexpr (sizeof(E) == 2) {
    load_transposed(r, tile + (row + lane() % 16) * row_step + column + lane() / 16 * 8);
  } else {
    const E* at = tile + (row + lane_column()) * row_step + column + lane_row();
    r[0] = as_tf32(at[0]);
    r[1] = as_tf32(at[row_step]);
    r[2] = as_tf32(at[8]);
    r[3] = as_tf32(at[row_step + 8]);
  }
}
/// Sums of a product as the left operand of the next, kDepth columns from number `at` on.
template <class E, int n>
inline void left_of(u32 (&a)[4], const float (&sums)[n][4], int at) {
  const float (&x)[4] = sums[at / 8];
  if constexpr (sizeof(E) == 2) {
    const float (&y)[4] = sums[at / 8 + 1];
    a[0] = Cores<E>::pack(x[0], x[1]);
    a[1] = Cores<E>::pack(x[2], x[3]);
    a[2] = Cores<E>::pack(y[0], y[1]);
    a[3] = Cores<E>::pack(y[2], y[3]);
  } else {
    a[0] = as_tf32(x[0]);
    a[1] = as_tf32(x[2]);
    a[2] = as_tf32(x[1]);
    a[3] = as_tf32(x[3]);
  }
}

/// sums += a column of left operands times the rows of a tile.
inline void add_rows(float (&sums)[kTile / 8][4], const u32 (&a)[4], const T* tile,
                     int row_step, int k) {
#pragma unroll
  for (int n = 0; n < kTile; n += 16) {
    u32 b[4];
    load_rows(b, tile, row_step, n, k);
    Cores<T>::multiply(sums[n / 8], a, b[0], b[2]);
    Cores<T>::multiply(sums[n / 8 + 1], a, b[1], b[3]);
  }
}
/// sums += the warp's 16 rows of `own` times the rows of a tile.
template <int wide>
inline void multiply_rows(float (&sums)[kTile / 8][4], const T* own, const T* tile) {
#pragma unroll
  for (int k = 0; k < wide; k += kDepth) {
    u32 a[4];
    load_rows(a, own, wide + kChunk, warp() * 16, k);
    add_rows(sums, a, tile, wide + kChunk, k);
  }
}
/// sums += weights (16 rows by kTile) times a tile.
template <int wide>
inline void multiply_columns(float (&sums)[wide / 8][4],
                             const float (&weights)[kTile / 8][4], const T* tile) {
#pragma unroll
  for (int k = 0; k < kTile; k += kDepth) {
    u32 a[4];
    left_of<T>(a, weights, k);
#pragma unroll
    for (int n = 0; n < wide; n += 16) {
      u32 b[4];
      load_columns(b, tile, wide + kChunk, k, n);
      Cores<T>::multiply(sums[n / 8], a, b[0], b[1]);
      Cores<T>::multiply(sums[n / 8 + 1], a, b[2], b[3]);
    }
  }
}

/// Sums times factor[0] (row g) and factor[1] (row g + 8) into the rows of a head;
/// `first` is the warp's first row.
template <int size, int wide>
inline void put_rows(const Head<T>& to, i64 first, i64 count,
                     const float (&sums)[wide / 8][4], const float (&factor)[2],
                     bool together) {
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    const i64 r = first + lane_row() + 8 * half;
    if (r >= count) continue;
    T* const row = to.at + r * to.step;
#pragma unroll
    for (int n = 0; n < wide / 8; ++n) {
      const int column = n * 8 + lane_column();
      vec<T, 2> pair;
      pair.v[0] = put<T>(sums[n][2 * half] * factor[half]);
      pair.v[1] = put<T>(sums[n][2 * half + 1] * factor[half]);
      if (together && column < size) {
        *(vec<T, 2>*)(row + column) = pair;
      } else {
        if (column < size) row[column] = pair.v[0];
        if (column + 1 < size) row[column + 1] = pair.v[1];
      }
    }
  }
}

/// Keys that query t may look at.
inline i64 visible(const Attention& s, i64 t) {
  if (!kCausal) return s.keys;
  const i64 n = t + s.keys - s.queries + 1;
  return n < 0 ? 0 : n < s.keys ? n : s.keys;
}
/// `n` as a place in a tile: 0 to kTile.
inline int place_of(i64 n) { return n < 0 ? 0 : n < kTile ? (int)n : kTile; }
/// Scores are -infinity from places bound[0] (row g) and bound[1] (row g + 8) of the tile
/// on, or before them.
template <bool kBefore>
inline void hide(float (&scores)[kTile / 8][4], const int (&bound)[2]) {
#pragma unroll
  for (int n = 0; n < kTile / 8; ++n) {
#pragma unroll
    for (int e = 0; e < 4; ++e) {
      const int column = n * 8 + lane_column() + e % 2;
      if (kBefore ? column < bound[e / 2] : column >= bound[e / 2]) scores[n][e] = -kInf;
    }
  }
}

inline i64 step_to(const i64 (&steps)[4], i64 b, i64 h, i64 t, i64 j) {
  return b * steps[0] + h * steps[1] + t * steps[2] + j * steps[3];
}
/// Mask and bias of the warp's rows from `row` on and of the tile's from `column` on;
/// rows are queries and columns keys, or the other way round. Scores are in powers of
/// two.
template <bool kByKey>
inline void add_extras(float (&scores)[kTile / 8][4], const Inputs& x, const Attention& s,
                       i64 b, i64 h, i64 row, i64 column) {
  constexpr int kColumns = kByKey ? 2 : 3;  // which step
  const i64 rows = kByKey ? s.keys : s.queries, columns = kByKey ? s.queries : s.keys;
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    const i64 r = row + lane_row() + 8 * half, c = column + lane_column();
    if (r >= rows) continue;
    const i64 t = kByKey ? c : r, j = kByKey ? r : c;
    const bool* mask = kMask ? x.mask + step_to(s.mask_steps, b, h, t, j) : x.mask;
    const T* bias = kBias ? x.bias + step_to(s.bias_steps, b, h, t, j) : x.bias;
    const int left = (int)(columns - c < kTile ? columns - c : kTile);
#pragma unroll
    for (int n = 0; n < kTile / 8; ++n) {
#pragma unroll
      for (int e = 0; e < 2; ++e) {
        if (n * 8 + e >= left) continue;
        float& score = scores[n][2 * half + e];
        if (kBias) score += get(bias[(n * 8 + e) * s.bias_steps[kColumns]]) * kLog2E;
        if (kMask && !mask[(n * 8 + e) * s.mask_steps[kColumns]]) score = -kInf;
      }
    }
  }
}
