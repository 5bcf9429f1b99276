// Sixteen bytes at a time, from memory that may not be aligned to them. Before this text:
// T (storage).
typedef typename compute_of<T>::type C;
constexpr int kVector = 16 / sizeof(T);
typedef vec<T, kVector> Vector;

/// Vector `at` of a tensor; `aligned` is the same for all threads.
inline Vector load(const T* from, i64 at, int aligned) {
  if (aligned) return ((const Vector*)from)[at];
  Vector v;
#pragma unroll
  for (int j = 0; j < kVector; ++j) v.v[j] = from[at * kVector + j];
  return v;
}
inline void store(T* to, i64 at, const Vector& v, int aligned) {
  if (aligned) {
    ((Vector*)to)[at] = v;
    return;
  }
#pragma unroll
  for (int j = 0; j < kVector; ++j) to[at * kVector + j] = v.v[j];
}
