// Maximum pools with channels last, a vector of channels per thread, and their gradient
// in two steps: where each window's first maximum is, then for every input place what the
// windows over it send there. After vectors.cuh, with the constants of pool.cuh. Sums are
// made in the order of the windows: the same bits every time.
constexpr i64 kInPositions = (i64)kIn[0] * kIn[1] * kIn[2];
constexpr i64 kOutPositions = (i64)kOut[0] * kOut[1] * kOut[2];
constexpr i64 kVectors = kChannels / kVector;
constexpr u8 kNowhere = 255;
typedef vec<u8, kVector> Taps;

// Divisions are by constants; of small numbers they are cheaper.
template <bool kLarge>
struct index_type {
  typedef i64 type;
};
template <>
struct index_type<false> {
  typedef u32 type;
};
constexpr i64 kMost =
    kBatch * kVectors * (kInPositions > kOutPositions ? kInPositions : kOutPositions);
typedef typename index_type<(kMost >= (1ll << 31))>::type Index;

struct Place {
  i64 n;
  int vector, at[3];
};
inline Place place_in(Index i, const int (&size)[3]) {
  Place p;
  p.vector = (int)(i % (Index)kVectors);
  i /= (Index)kVectors;
  p.at[2] = (int)(i % (Index)size[2]);
  i /= (Index)size[2];
  p.at[1] = (int)(i % (Index)size[1]);
  i /= (Index)size[1];
  p.at[0] = (int)(i % (Index)size[0]);
  p.n = (i64)(i / (Index)size[0]);
  return p;
}

/// The first maxima of an output place's window, and their taps.
inline void find_tops(const T* x, const Place& p, int aligned, C (&top)[kVector],
                      u8 (&tap)[kVector]) {
#pragma unroll
  for (int j = 0; j < kVector; ++j) {
    top[j] = -(C)kInfinity;
    tap[j] = kNowhere;
  }
  const i64 image = p.n * kInPositions;
  int t = 0;
#pragma unroll
  for (int a = 0; a < kSize[0]; ++a) {
    const int z = p.at[0] * kStride[0] - kBefore[0] + a;
#pragma unroll
    for (int b = 0; b < kSize[1]; ++b) {
      const int y = p.at[1] * kStride[1] - kBefore[1] + b;
#pragma unroll
      for (int c = 0; c < kSize[2]; ++c, ++t) {
        const int w = p.at[2] * kStride[2] - kBefore[2] + c;
        if (z < 0 || z >= kIn[0] || y < 0 || y >= kIn[1] || w < 0 || w >= kIn[2])
          continue;
        const i64 position = ((i64)z * kIn[1] + y) * kIn[2] + w;
        const Vector v = load(x, (image + position) * kVectors + p.vector, aligned);
#pragma unroll
        for (int j = 0; j < kVector; ++j) {
          const C value = get(v.v[j]);
          if (tap[j] == kNowhere || value > top[j] ||
              (value != value && top[j] == top[j])) {
            top[j] = value;
            tap[j] = (u8)t;
          }
        }
      }
    }
  }
}

extern "C" __global__ void __launch_bounds__(256)
    max_pool(const T* x, T* y, int aligned) {
  const i64 n = kBatch * kOutPositions * kVectors;
  for (i64 i = global_thread(); i < n; i += global_threads()) {
    C top[kVector];
    u8 tap[kVector];
    find_tops(x, place_in((Index)i, kOut), aligned, top, tap);
    Vector v;
#pragma unroll
    for (int j = 0; j < kVector; ++j) v.v[j] = put<T>(top[j]);
    store(y, i, v, aligned);
  }
}

extern "C" __global__ void __launch_bounds__(256)
    max_pool_where(const T* x, Taps* where, int aligned) {
  const i64 n = kBatch * kOutPositions * kVectors;
  for (i64 i = global_thread(); i < n; i += global_threads()) {
    C top[kVector];
    u8 tap[kVector];
    find_tops(x, place_in((Index)i, kOut), aligned, top, tap);
    Taps taps;
#pragma unroll
    for (int j = 0; j < kVector; ++j) taps.v[j] = tap[j];
    where[i] = taps;
  }
}

extern "C" __global__ void __launch_bounds__(256)
    max_pool_route(const Taps* where, const T* dy, T* dx, int aligned) {
  const i64 n = kBatch * kInPositions * kVectors;
  for (i64 i = global_thread(); i < n; i += global_threads()) {
    const Place p = place_in((Index)i, kIn);
    int first[3], last[3];
#pragma unroll
    for (int d = 0; d < 3; ++d) {
      const int far = p.at[d] + kBefore[d];
      first[d] = far < kSize[d] ? 0 : (far - kSize[d]) / kStride[d] + 1;
      last[d] = far / kStride[d];
      if (last[d] >= kOut[d]) last[d] = kOut[d] - 1;
    }
    C sum[kVector] = {};
    for (int a = first[0]; a <= last[0]; ++a) {
      for (int b = first[1]; b <= last[1]; ++b) {
        for (int c = first[2]; c <= last[2]; ++c) {
          const int t = ((p.at[0] + kBefore[0] - a * kStride[0]) * kSize[1] + p.at[1] +
                         kBefore[1] - b * kStride[1]) *
                            kSize[2] +
                        p.at[2] + kBefore[2] - c * kStride[2];
          const i64 at =
              (p.n * kOutPositions + ((i64)a * kOut[1] + b) * kOut[2] + c) * kVectors +
              p.vector;
          const Taps taps = where[at];
          const Vector g = load(dy, at, aligned);
#pragma unroll
          for (int j = 0; j < kVector; ++j) {
            if (taps.v[j] == t) sum[j] += get(g.v[j]);
          }
        }
      }
    }
    Vector v;
#pragma unroll
    for (int j = 0; j < kVector; ++j) v.v[j] = put<T>(sum[j]);
    store(dx, i, v, aligned);
  }
}
