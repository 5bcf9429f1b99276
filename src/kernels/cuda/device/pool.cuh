// Maximum and average pools of one to three spatial dimensions with their gradients,
// which look from an input place at the windows over it: no sums in any order, the same
// bits every time. Averages are for floats alone. Before this text: T (storage), and as
// constants kIn, kOut, kSize, kStride, kBefore (three each), kBatch, kChannels,
// kChannelsFirst.
typedef typename compute_of<T>::type C;
constexpr i64 kInPositions = (i64)kIn[0] * kIn[1] * kIn[2];
constexpr i64 kOutPositions = (i64)kOut[0] * kOut[1] * kOut[2];

struct Element {
  i64 base, step;  // of the image and channel; between positions
  int at[3];
};
inline Element element(i64 i, const int (&size)[3], i64 positions, i64 other) {
  Element e;
  i64 position, n, c;
  if (kChannelsFirst) {
    position = i % positions;
    c = i / positions % kChannels;
    n = i / positions / kChannels;
    e.base = (n * kChannels + c) * other;
    e.step = 1;
  } else {
    c = i % kChannels;
    position = i / kChannels % positions;
    n = i / kChannels / positions;
    e.base = n * other * kChannels + c;
    e.step = kChannels;
  }
  e.at[2] = (int)(position % size[2]);
  e.at[1] = (int)(position / size[2] % size[1]);
  e.at[0] = (int)(position / size[2] / size[1]);
  return e;
}

struct Window {
  int begin[3], end[3];
  int count() const {
    return (end[0] - begin[0]) * (end[1] - begin[1]) * (end[2] - begin[2]);
  }
};
/// What an output place sees of the input.
inline Window window_of(const int (&at)[3]) {
  Window w;
  for (int d = 0; d < 3; ++d) {
    const int first = at[d] * kStride[d] - kBefore[d], last = first + kSize[d];
    w.begin[d] = first < 0 ? 0 : first;
    w.end[d] = last > kIn[d] ? kIn[d] : last;
  }
  return w;
}
/// The output places that see an input place.
inline Window seers_of(const int (&at)[3]) {
  Window w;
  for (int d = 0; d < 3; ++d) {
    const int far = at[d] + kBefore[d];
    const int first = far < kSize[d] ? 0 : (far - kSize[d]) / kStride[d] + 1;
    const int last = far / kStride[d] + 1;
    w.begin[d] = first;
    w.end[d] = last > kOut[d] ? kOut[d] : last;
  }
  return w;
}
template <class F>
inline void for_window(const Window& w, const int (&size)[3], const F& f) {
  int at[3];
  for (at[0] = w.begin[0]; at[0] < w.end[0]; ++at[0]) {
    for (at[1] = w.begin[1]; at[1] < w.end[1]; ++at[1]) {
      for (at[2] = w.begin[2]; at[2] < w.end[2]; ++at[2]) {
        f(at, ((i64)at[0] * size[1] + at[1]) * size[2] + at[2]);
      }
    }
  }
}
/// What every number of the type is at least.
template <class V>
constexpr V lowest() {
  if constexpr (is_float<V>::value) {
    return -(V)kInfinity;
  } else {
    return is_signed_int<V>::value ? (V)(1ull << (8 * sizeof(V) - 1)) : V(0);
  }
}
/// Position of the first maximum; -1 in an empty window.
inline i64 top_of(const T* x, const Window& w, i64 base, i64 step, C& top) {
  i64 found = -1;
  for_window(w, kIn, [&](const int (&)[3], i64 position) {
    const C v = get(x[base + position * step]);
    if (found < 0 || v > top || (v != v && top == top)) {
      top = v;
      found = position;
    }
  });
  return found;
}

extern "C" __global__ void max_pool(const T* x, T* y) {
  const i64 n = kBatch * kChannels * kOutPositions;
  for (i64 i = global_thread(); i < n; i += global_threads()) {
    const Element e = element(i, kOut, kOutPositions, kInPositions);
    C top = lowest<C>();
    top_of(x, window_of(e.at), e.base, e.step, top);
    y[i] = put<T>(top);
  }
}
extern "C" __global__ void max_pool_grad(const T* x, const T* dy, T* dx) {
  const i64 n = kBatch * kChannels * kInPositions;
  for (i64 i = global_thread(); i < n; i += global_threads()) {
    const Element e = element(i, kIn, kInPositions, kOutPositions);
    const Element own = element(i, kIn, kInPositions, kInPositions);
    const i64 position = ((i64)e.at[0] * kIn[1] + e.at[1]) * kIn[2] + e.at[2];
    C sum = 0;
    for_window(seers_of(e.at), kOut, [&](const int (&at)[3], i64 seer) {
      C top = 0;
      if (top_of(x, window_of(at), own.base, own.step, top) == position) {
        sum += get(dy[e.base + seer * e.step]);
      }
    });
    dx[i] = put<T>(sum);
  }
}
/// What the windows' maxima have in another tensor of the input's shape.
extern "C" __global__ void max_pool_pick(const T* x, const T* from, T* y) {
  const i64 n = kBatch * kChannels * kOutPositions;
  for (i64 i = global_thread(); i < n; i += global_threads()) {
    const Element e = element(i, kOut, kOutPositions, kInPositions);
    C top = 0;
    const i64 found = top_of(x, window_of(e.at), e.base, e.step, top);
    y[i] = found < 0 ? put<T>(C(0)) : from[e.base + found * e.step];
  }
}
/// The maxima and their flat places, in the image or in the batch. Channels are last.
template <class X>
inline void max_pool_with_places(const T* x, T* y, X* places, bool in_batch) {
  const i64 n = kBatch * kChannels * kOutPositions;
  for (i64 i = global_thread(); i < n; i += global_threads()) {
    const Element e = element(i, kOut, kOutPositions, kInPositions);
    C top = lowest<C>();
    const i64 found = top_of(x, window_of(e.at), e.base, e.step, top);
    const i64 at = e.base + (found < 0 ? 0 : found) * e.step;
    y[i] = put<T>(top);
    places[i] = (X)(in_batch ? at : at % (kInPositions * kChannels));
  }
}
extern "C" __global__ void max_pool_argmax32(const T* x, T* y, i32* places,
                                             i32 in_batch) {
  max_pool_with_places(x, y, places, in_batch);
}
extern "C" __global__ void max_pool_argmax64(const T* x, T* y, i64* places,
                                             i32 in_batch) {
  max_pool_with_places(x, y, places, in_batch);
}
extern "C" __global__ void avg_pool(const T* x, T* y) {
  const i64 n = kBatch * kChannels * kOutPositions;
  for (i64 i = global_thread(); i < n; i += global_threads()) {
    const Element e = element(i, kOut, kOutPositions, kInPositions);
    const Window w = window_of(e.at);
    C sum = 0;
    for_window(w, kIn, [&](const int (&)[3], i64 position) {
      sum += get(x[e.base + position * e.step]);
    });
    y[i] = put<T>(sum / (C)w.count());
  }
}
extern "C" __global__ void avg_pool_grad(const T* dy, T* dx) {
  const i64 n = kBatch * kChannels * kInPositions;
  for (i64 i = global_thread(); i < n; i += global_threads()) {
    const Element e = element(i, kIn, kInPositions, kOutPositions);
    C sum = 0;
    for_window(seers_of(e.at), kOut, [&](const int (&at)[3], i64 seer) {
      sum += get(dy[e.base + seer * e.step]) / (C)window_of(at).count();
    });
    dx[i] = put<T>(sum);
  }
}
