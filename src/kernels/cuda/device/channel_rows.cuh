// What the passes of batch normalisation share where channels come last: x is [rows,
// channels]. After vectors.cuh. A thread has the same few channels in every row that it
// visits, so what belongs to a channel is computed once. Sums are cut into parts by sizes
// alone; `finish_…` put them together, 8 channels a block. 256 threads. Before this text:
// kResident, the blocks of sums that a multiprocessor has at once; the grid has no more.
//
// Sums go from the last row to the first and what follows them from the first to the
// last: each finds in the cache what was written or read just before it.
constexpr int kTogether = 4;  // rows in flight per thread

struct Rows {
  i64 rows, vectors;  // channels / kVector
  i64 parts;          // blockIdx.y
  i64 whole, rest;    // rows that every part has, and rows that are left for the first
  int width;          // vectors of a block; a power of two, 32 at most
  int aligned;        // all tensors: to 16 bytes
};
struct Place {
  i64 vector, row, step;
  int lane, y, height;
  bool on;
};
inline Place place(const Rows& s) {
  Place p;
  p.lane = threadIdx.x % s.width;
  p.y = threadIdx.x / s.width;
  p.height = 256 / s.width;
  p.vector = (i64)blockIdx.x * s.width + p.lane;
  p.row = (i64)blockIdx.y * p.height + p.y;
  p.step = p.height * s.parts;
  p.on = p.vector < s.vectors;
  return p;
}
/// A vector in flight: four registers, also where it was read element by element.
struct alignas(16) Packed {
  u32 words[4];
};
inline Packed load_packed(const T* from, i64 at, int aligned) {
  if (aligned) return ((const Packed*)from)[at];
  constexpr bool kHalf = sizeof(T) == 2;
  typedef typename uint_of<kHalf ? 2 : 4>::type Bits;
  const Bits* bits = (const Bits*)from + at * (i64)(16 / sizeof(Bits));
  Packed p;
#pragma unroll
  for (int k = 0; k < 4; ++k) {
    p.words[k] = kHalf ? bits[2 * k] | (u32)bits[2 * k + 1] << 16 : bits[k];
  }
  return p;
}
inline C element(const Packed& p, int j) {
  return get(__builtin_bit_cast(Vector, p).v[j]);
}

/// The place of a thread's vector in a row that is counted from the end.
inline i64 from_end(const Rows& s, const Place& p, i64 row) {
  return (s.rows - 1 - row) * s.vectors + p.vector;
}
inline C inverse_root(C x) { return C(1) / f_sqrt(x); }

__shared__ C space_a[256 * kVector], space_b[256 * kVector];

// ---- Putting parts together --------------------------------------------------------
constexpr int kSide = 8, kLanes = 256 / kSide;  // channels and threads for each
constexpr int kAhead = 8;                       // parts in flight per thread

/// Over the threads that share a channel; the same in all of them. Every call has space
/// of its own, 8 * kSide.
inline C over_parts(C x, C* space) {
  x += __shfl_xor_sync(0xffffffffu, x, 8);
  x += __shfl_xor_sync(0xffffffffu, x, 16);
  const int lane = threadIdx.x % 32;
  if (lane < kSide) space[threadIdx.x / 32 * kSide + lane] = x;
  __syncthreads();
  C sum = 0;
#pragma unroll
  for (int w = 0; w < 8; ++w) sum += space[w * kSide + lane % kSide];
  return sum;
}
