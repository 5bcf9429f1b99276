// Tensors made from nothing but numbers: T (storage) comes before this text.
typedef typename compute_of<T>::type C;
extern "C" __global__ void fill(T* out, const T value, i64 n) {
  for (i64 i = global_thread(); i < n; i += global_threads()) out[i] = value;
}

// Templates, so that what has no meaning for T is not looked at.
template <class V>
inline void int_range(V* out, u64 start, u64 delta, i64 n) {
  if constexpr (is_int<V>::value) {
    for (i64 i = global_thread(); i < n; i += global_threads()) {
      out[i] = (V)(start + (u64)i * delta);
    }
  }
}
template <class V, class W>
inline void spaced(const V* start, const V* stop, V* out, i64 total, i64 num, i64 inner,
                   W) {
  if constexpr (is_float<W>::value) {
    for (i64 e = global_thread(); e < total; e += global_threads()) {
      const i64 k = e % inner, i = e / inner % num, o = e / (inner * num);
      const W from = get(start[o * inner + k]), until = get(stop[o * inner + k]);
      const W steps = (W)(num > 1 ? num - 1 : 1);
      out[e] = i == num - 1 && i > 0 ? stop[o * inner + k]
                                     : put<V>(from + (until - from) / steps * (W)i);
    }
  }
}
template <class V, class W>
inline void float_range(V* out, double start, double delta, i64 n, W) {
  if constexpr (is_float<W>::value) {
    for (i64 i = global_thread(); i < n; i += global_threads()) {
      out[i] = put<V>((W)start + (W)i * (W)delta);
    }
  }
}
extern "C" __global__ void range_ints(T* out, u64 start, u64 delta, i64 n) {
  int_range(out, start, delta, n);
}
extern "C" __global__ void range_floats(T* out, double start, double delta, i64 n) {
  float_range(out, start, delta, n, C());
}
extern "C" __global__ void linspace(const T* start, const T* stop, T* out, i64 total,
                                    i64 num, i64 inner) {
  spaced(start, stop, out, total, num, inner, C());
}
