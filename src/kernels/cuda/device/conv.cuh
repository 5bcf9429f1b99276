// Convolutions of one to three spatial dimensions, with groups, in all three directions,
// as matrix products whose operands are read from where they are (tile.cuh). Before this
// text: T (storage), tile.cuh, finish(sum, bias), and as constants the sizes of the
// convolution: kSpatial, kIn, kOut, kSize, kStride, kDilation, kBefore (per dimension,
// three each), kBatch, kChannels, kFilters (per group), kGroups, kChannelsFirst;
// kRowWarps and kInnerWarps (of a block), kParts (blocks that share the inner dimension).
// Places are counted in 32 bits where all of them fit with room to spare: divisions by
// sizes are most of the work of finding an element.
constexpr int kTaps = kSize[0] * kSize[1] * kSize[2];
constexpr i64 kMostPlaces = 1 << 30;
constexpr bool kFewPlaces =
    kBatch * kIn[0] * kIn[1] * kIn[2] * kChannels * kGroups < kMostPlaces &&
    kBatch * kOut[0] * kOut[1] * kOut[2] * kFilters * kGroups < kMostPlaces &&
    (i64)kTaps * kChannels * kFilters * kGroups < kMostPlaces;
template <bool few>
struct IndexOf {
  typedef i64 type;
};
template <>
struct IndexOf<true> {
  typedef int type;
};
typedef IndexOf<kFewPlaces>::type Index;
constexpr Index kInPositions = (Index)kIn[0] * kIn[1] * kIn[2];
constexpr Index kOutPositions = (Index)kOut[0] * kOut[1] * kOut[2];
constexpr Index kAllChannels = (Index)kChannels * kGroups,
                kAllFilters = (Index)kFilters * kGroups;

inline Index in_at(Index n, Index position, Index c) {
  return kChannelsFirst ? (n * kAllChannels + c) * kInPositions + position
                        : (n * kInPositions + position) * kAllChannels + c;
}
inline Index out_at(Index n, Index position, Index f) {
  return kChannelsFirst ? (n * kAllFilters + f) * kOutPositions + position
                        : (n * kOutPositions + position) * kAllFilters + f;
}

struct Place {
  Index n;
  int at[3];
};
inline Place place_in(Index row, const int (&size)[3]) {
  Place p;
  p.at[2] = (int)(row % size[2]);
  row /= size[2];
  p.at[1] = (int)(row % size[1]);
  row /= size[1];
  p.at[0] = (int)(row % size[0]);
  p.n = row / size[0];
  return p;
}
struct Tap {
  int at[3];
};
inline Tap tap_of(int i) {
  return {{i / (kSize[1] * kSize[2]), i / kSize[2] % kSize[1], i % kSize[2]}};
}

/// The input that an output place sees through a tap; -1: padding.
inline Index seen(const Place& out, const Tap& tap) {
  Index position = 0;
#pragma unroll
  for (int d = 0; d < 3; ++d) {
    const int x = out.at[d] * kStride[d] - kBefore[d] + tap.at[d] * kDilation[d];
    if (x < 0 || x >= kIn[d]) return -1;
    position = position * kIn[d] + x;
  }
  return position;
}
/// The output that sees an input place through a tap; -1: none.
inline Index seer(const Place& in, const Tap& tap) {
  Index position = 0;
#pragma unroll
  for (int d = 0; d < 3; ++d) {
    const int x = in.at[d] + kBefore[d] - tap.at[d] * kDilation[d];
    if (x < 0 || x % kStride[d] != 0 || x / kStride[d] >= kOut[d]) return -1;
    position = position * kOut[d] + x / kStride[d];
  }
  return position;
}

constexpr int kUnroll = sizeof(C) == 4 ? 4 : 2;
constexpr int kWarps = kRowWarps * kInnerWarps, kColumns = 8 * kTiles;

struct Job {
  int group, part;
  Index row, column;  // of the block
  Index own;          // row g of the warp's tile
  int inner;          // which share of the inner dimension
};
inline Job job() {
  Job j;
  const int warp = threadIdx.x / 32;
  j.group = blockIdx.z % kGroups;
  j.part = blockIdx.z / kGroups;
  j.row = (Index)blockIdx.x * 16 * kRowWarps;
  j.column = (Index)blockIdx.y * kColumns;
  j.own = j.row + warp / kInnerWarps * 16 + lane_row();
  j.inner = j.part * kInnerWarps + warp % kInnerWarps;
  return j;
}

/// Adds up the warps' shares and calls write(row, column, sum) for every element.
template <class F>
inline void put_block(const Job& j, const C (&sum)[kTiles][4], Index rows, Index columns,
                      const F& write) {
  __shared__ C parts[kWarps][16 * kColumns];
  put_tile(parts[threadIdx.x / 32], sum);
  __syncthreads();
  for (int i = threadIdx.x; i < kRowWarps * 16 * kColumns; i += 32 * kWarps) {
    const int tile = i / (16 * kColumns), e = i % (16 * kColumns);
    const Index r = j.row + tile * 16 + e / kColumns, c = j.column + e % kColumns;
    if (r >= rows || c >= columns) continue;
    C total = parts[tile * kInnerWarps][e];
#pragma unroll
    for (int w = 1; w < kInnerWarps; ++w) total += parts[tile * kInnerWarps + w][e];
    write(r, c, total);
  }
}

extern "C" __global__ void __launch_bounds__(32 * kWarps)
    forward(const T* in, const T* filter, const T* bias, T* out) {
  const Index rows = (Index)kBatch * kOutPositions, inner = (Index)kTaps * kChannels;
  const Job j = job();
  const Place own[2] = {place_in(j.own, kOut), place_in(j.own + 8, kOut)};
  C sum[kTiles][4] = {};
  add_tile<kUnroll, Index>(
      sum, j.inner * 8, inner, 8 * kInnerWarps,
      [&](int high, Index at) {
        if (j.own + high * 8 >= rows) return C(0);
        const Index x = seen(own[high], tap_of((int)(at / kChannels)));
        const Index c = (Index)j.group * kChannels + at % kChannels;
        return x < 0 ? C(0) : (C)get(in[in_at(own[high].n, x, c)]);
      },
      [&](int c, Index at) {
        if (j.column + c >= kFilters) return C(0);
        return (C)get(
            filter[at * kAllFilters + (Index)j.group * kFilters + j.column + c]);
      });
  put_block(j, sum, rows, kFilters, [&](Index r, Index c, C total) {
    const Index f = (Index)j.group * kFilters + c;
    out[out_at(r / kOutPositions, r % kOutPositions, f)] =
        finish(rounded<T>(total), bias ? get(bias[f]) : 0);
  });
}

extern "C" __global__ void __launch_bounds__(32 * kWarps)
    by_input(const T* filter, const T* grad, T* out) {
  const Index rows = (Index)kBatch * kInPositions, inner = (Index)kTaps * kFilters;
  const Job j = job();
  const Place own[2] = {place_in(j.own, kIn), place_in(j.own + 8, kIn)};
  C sum[kTiles][4] = {};
  add_tile<kUnroll, Index>(
      sum, j.inner * 8, inner, 8 * kInnerWarps,
      [&](int high, Index at) {
        if (j.own + high * 8 >= rows) return C(0);
        const Index x = seer(own[high], tap_of((int)(at / kFilters)));
        const Index f = (Index)j.group * kFilters + at % kFilters;
        return x < 0 ? C(0) : (C)get(grad[out_at(own[high].n, x, f)]);
      },
      [&](int c, Index at) {
        if (j.column + c >= kChannels) return C(0);
        const Index f = (Index)j.group * kFilters + at % kFilters;
        return (C)get(
            filter[(at / kFilters * kChannels + j.column + c) * kAllFilters + f]);
      });
  put_block(j, sum, rows, kChannels, [&](Index r, Index c, C total) {
    out[in_at(r / kInPositions, r % kInPositions, (Index)j.group * kChannels + c)] =
        put<T>(total);
  });
}

/// The inner dimension are the places of the output: many blocks share it, and
/// `add_parts` puts their sums together.
extern "C" __global__ void __launch_bounds__(32 * kWarps)
    by_filter(const T* in, const T* grad, C* parts) {
  const Index rows = (Index)kTaps * kChannels, inner = (Index)kBatch * kOutPositions;
  const Job j = job();
  const Index row[2] = {j.own, j.own + 8};
  const Tap tap[2] = {tap_of((int)(row[0] / kChannels)),
                      tap_of((int)(row[1] / kChannels))};
  C sum[kTiles][4] = {};
  add_tile<kUnroll, Index>(
      sum, (Index)j.inner * 8, inner, (Index)8 * kInnerWarps * kParts,
      [&](int high, Index at) {
        if (row[high] >= rows) return C(0);
        const Place p = place_in(at, kOut);
        const Index x = seen(p, tap[high]);
        const Index c = (Index)j.group * kChannels + row[high] % kChannels;
        return x < 0 ? C(0) : (C)get(in[in_at(p.n, x, c)]);
      },
      [&](int c, Index at) {
        if (j.column + c >= kFilters) return C(0);
        const Index f = (Index)j.group * kFilters + j.column + c;
        return (C)get(grad[out_at(at / kOutPositions, at % kOutPositions, f)]);
      });
  put_block(j, sum, rows, kFilters, [&](Index r, Index c, C total) {
    const Index f = (Index)j.group * kFilters + c;
    parts[((i64)j.part * rows + r) * kAllFilters + f] = total;
  });
}
/// A block has 32 elements, its 16 warps share the parts.
extern "C" __global__ void __launch_bounds__(512) add_parts(const C* parts, T* out) {
  __shared__ C space[16][32];
  const i64 n = (i64)kTaps * kChannels * kAllFilters;
  const int column = threadIdx.x % 32, share = threadIdx.x / 32;
  for (i64 first = (i64)blockIdx.x * 32; first < n; first += (i64)gridDim.x * 32) {
    const i64 i = first + column;
    C total = 0;
    if (i < n) {
#pragma unroll 8
      for (int p = share; p < kParts; p += 16) total += parts[p * n + i];
    }
    space[share][column] = total;
    __syncthreads();
    if (share == 0 && i < n) {
      for (int k = 1; k < 16; ++k) total += space[k][column];
      out[i] = put<T>(total);
    }
    __syncthreads();
  }
}
