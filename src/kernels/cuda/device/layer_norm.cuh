// Layer normalisation of rows of kN elements with its gradient: a row is read once, into
// the registers of a team of kTeamWarps warps. Before this text: whole_store.cuh, T
// (storage), kN, kTeamWarps. Sums over the rows are cut into parts, one per block, by
// sizes alone.
typedef typename compute_of<T>::type C;

constexpr int kThreads = 256;
constexpr int kTeam = 32 * kTeamWarps, kTeams = kThreads / kTeam;
constexpr int kVec = kN % (16 / (int)sizeof(T)) == 0 ? 16 / (int)sizeof(T) : 1;
constexpr int kChunks = (kN + kTeam * kVec - 1) / (kTeam * kVec);
constexpr int kOwn = kChunks * kVec;  // elements of a thread

inline int team() { return threadIdx.x / kTeam; }
/// The first element of a thread's chunk.
inline int place_of(int chunk) { return (chunk * kTeam + threadIdx.x % kTeam) * kVec; }

/// A thread's part of a row as it lies in memory.
struct Stored {
  vec<T, kVec> chunks[kChunks];
};
/// Zeros where the row has ended. `together`: it begins at a multiple of 16 bytes.
inline Stored stored_row(const T* from, bool together) {
  Stored row = {};
#pragma unroll
  for (int c = 0; c < kChunks; ++c) {
    const int at = place_of(c);
    if (at >= kN) continue;
    if (together) {
      row.chunks[c] = *(const vec<T, kVec>*)(from + at);
    } else {
#pragma unroll
      for (int i = 0; i < kVec; ++i) row.chunks[c].v[i] = from[at + i];
    }
  }
  return row;
}
inline void widen(C (&v)[kOwn], const Stored& row) {
#pragma unroll
  for (int c = 0; c < kChunks; ++c) {
#pragma unroll
    for (int i = 0; i < kVec; ++i) v[c * kVec + i] = get(row.chunks[c].v[i]);
  }
}
inline void load_row(C (&v)[kOwn], const T* from, bool together) {
  widen(v, stored_row(from, together));
}
inline void store_row(T* to, const C (&v)[kOwn], bool together) {
#pragma unroll
  for (int c = 0; c < kChunks; ++c) {
    const int at = place_of(c);
    if (at >= kN) continue;
    vec<T, kVec> x;
#pragma unroll
    for (int i = 0; i < kVec; ++i) x.v[i] = put<T>(v[c * kVec + i]);
    if (together) {
      store_whole((vec<T, kVec>*)(to + at), x);
    } else {
#pragma unroll
      for (int i = 0; i < kVec; ++i) to[at + i] = x.v[i];
    }
  }
}

/// Sums over a team. Teams of several warps meet in shared memory, in two places by
/// turns, so that one barrier is enough: all threads of the block take part.
struct TeamSums {
  int turn = 0;
  void add(C& a, C& b) {
#pragma unroll
    for (int by = 16; by > 0; by /= 2) {
      a += __shfl_xor_sync(0xffffffffu, a, by);
      b += __shfl_xor_sync(0xffffffffu, b, by);
    }
    if (kTeamWarps == 1) return;
    __shared__ C space[2][2][8];
    turn ^= 1;
    if (threadIdx.x % 32 == 0) {
      space[turn][0][threadIdx.x / 32] = a;
      space[turn][1][threadIdx.x / 32] = b;
    }
    __syncthreads();
    a = 0;
    b = 0;
#pragma unroll
    for (int w = 0; w < kTeamWarps; ++w) {
      a += space[turn][0][team() * kTeamWarps + w];
      b += space[turn][1][team() * kTeamWarps + w];
    }
  }
};

struct RowMoments {
  C mean, r;
};
inline RowMoments moments_of(const C (&x)[kOwn], C epsilon, TeamSums& sums) {
  C sum = 0, squares = 0, none = 0;
#pragma unroll
  for (int i = 0; i < kOwn; ++i) sum += x[i];
  sums.add(sum, none);
  const C mean = sum / (C)kN;
#pragma unroll
  for (int c = 0; c < kChunks; ++c) {
    if (place_of(c) >= kN) continue;
#pragma unroll
    for (int i = 0; i < kVec; ++i) {
      const C d = x[c * kVec + i] - mean;
      squares += d * d;
    }
  }
  none = 0;
  sums.add(squares, none);
  return {mean, C(1) / f_sqrt(squares / (C)kN + epsilon)};
}

extern "C" __global__ void __launch_bounds__(256)
    layer_norm(const T* x, const T* gamma, const T* beta, T* y, i64 rows, double epsilon,
               int together) {
  TeamSums sums;
  C scale[kOwn], offset[kOwn];
#pragma unroll
  for (int i = 0; i < kOwn; ++i) {
    scale[i] = 1;
    offset[i] = 0;
  }
  if (gamma) load_row(scale, gamma, together);
  if (beta) load_row(offset, beta, together);
  for (i64 first = (i64)blockIdx.x * kTeams; first < rows;
       first += (i64)gridDim.x * kTeams) {
    const i64 row = first + team();
    C v[kOwn] = {};
    if (row < rows) load_row(v, x + row * kN, together);
    const RowMoments m = moments_of(v, (C)epsilon, sums);
#pragma unroll
    for (int i = 0; i < kOwn; ++i) v[i] = (v[i] - m.mean) * m.r * scale[i] + offset[i];
    if (row < rows) store_row(y + row * kN, v, together);
  }
}

/// The gradient by x, and the block's part of those by gamma and beta: parts is
/// [blocks, 2, kN].
extern "C" __global__ void __launch_bounds__(256, sizeof(C) == 4 ? 2 : 1)
    layer_norm_grad(const T* dy, const T* x, const T* gamma, T* dx, C* parts, i64 rows,
                    double epsilon, int together) {
  TeamSums sums;
  C scale[kOwn], by_gamma[kOwn] = {}, by_beta[kOwn] = {};
#pragma unroll
  for (int i = 0; i < kOwn; ++i) scale[i] = 1;
  if (gamma) load_row(scale, gamma, together);
  // Of halfs, the next row is on its way while this one is computed with.
  constexpr bool ahead = sizeof(T) == 2;
  const i64 step = (i64)gridDim.x * kTeams;
  Stored next_x = {}, next_g = {};
  const auto ask = [&](i64 row) {
    if (row >= rows) return;
    next_x = stored_row(x + row * kN, together);
    next_g = stored_row(dy + row * kN, together);
  };
  if (ahead) ask((i64)blockIdx.x * kTeams + team());
  for (i64 first = (i64)blockIdx.x * kTeams; first < rows; first += step) {
    const i64 row = first + team();
    C v[kOwn] = {}, g[kOwn] = {};
    if (!ahead) ask(row);
    if (row < rows) {
      widen(v, next_x);
      widen(g, next_g);
    }
    if (ahead) ask(row + step);
    const RowMoments m = moments_of(v, (C)epsilon, sums);
    C a = 0, b = 0;
#pragma unroll
    for (int i = 0; i < kOwn; ++i) {
      v[i] = (v[i] - m.mean) * m.r;
      // Of rows that are not there, the deviation may be 0.
      if (row < rows) by_gamma[i] += g[i] * v[i];
      by_beta[i] += g[i];
      g[i] *= scale[i];
      a += g[i];
      b += g[i] * v[i];
    }
    sums.add(a, b);
    a /= (C)kN;
    b /= (C)kN;
#pragma unroll
    for (int i = 0; i < kOwn; ++i) v[i] = m.r * (g[i] - a - v[i] * b);
    if (row < rows) store_row(dx + row * kN, v, together);
  }
  // Teams add theirs one after the other.
  C* const to = parts + (i64)blockIdx.x * 2 * kN;
  __shared__ C space[kTeams > 1 ? 2 * kN : 1];
  for (int t = 0; t < kTeams; ++t) {
    if (team() == t) {
#pragma unroll
      for (int c = 0; c < kChunks; ++c) {
        const int at = place_of(c);
        if (at >= kN) continue;
#pragma unroll
        for (int i = 0; i < kVec; ++i) {
          C p = by_gamma[c * kVec + i], q = by_beta[c * kVec + i];
          if (t > 0) {
            p += space[at + i];
            q += space[kN + at + i];
          }
          if (t + 1 < kTeams) {
            space[at + i] = p;
            space[kN + at + i] = q;
          } else {
            to[at + i] = p;
            to[kN + at + i] = q;
          }
        }
      }
    }
    if (t + 1 < kTeams) __syncthreads();
  }
}

/// Puts the parts together: 32 columns to a block of 1024, blockIdx.y is gamma or beta.
extern "C" __global__ void __launch_bounds__(1024)
    layer_norm_finish(const C* parts, T* by_gamma, T* by_beta, i64 count) {
  __shared__ C space[32][32];
  const int column = blockIdx.x * 32 + threadIdx.x % 32, share = threadIdx.x / 32;
  C sum = 0;
  if (column < kN) {
#pragma unroll 4
    for (i64 p = share; p < count; p += 32) {
      sum += parts[(2 * p + blockIdx.y) * kN + column];
    }
  }
  space[share][threadIdx.x % 32] = sum;
  __syncthreads();
  if (share > 0 || column >= kN) return;
  for (int k = 1; k < 32; ++k) sum += space[k][threadIdx.x];
  (blockIdx.y == 0 ? by_gamma : by_beta)[column] = put<T>(sum);
}
