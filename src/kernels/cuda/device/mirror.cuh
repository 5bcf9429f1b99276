// MirrorPad and its gradient: T (element; for the gradient a number), I (index type) and
// RANK come before this text, and FOLD for the gradient.
struct Args {
  // in, out, elements of the output, 1 where the edge is not repeated; then sizes of the
  // output, sizes of the inner tensor, paddings before, steps of in; for the gradient
  // also the paddings after.
  u64 w[4 + 5 * RANK];
};

#if !defined(FOLD)
extern "C" __global__ void __launch_bounds__(256) mirror_pad(const Args a) {
  const T* in = (const T*)a.w[0];
  T* out = (T*)a.w[1];
  const i64 n = (i64)a.w[2], skip = (i64)a.w[3];
  for (i64 i = global_thread(); i < n; i += global_threads()) {
    I rest = (I)i;
    i64 from = 0;
#pragma unroll
    for (int d = RANK - 1; d >= 0; --d) {
      I c = rest;
      if (d > 0) {
        const I size = (I)a.w[4 + d];
        c = rest % size;
        rest /= size;
      }
      const i64 size = (i64)a.w[4 + RANK + d];
      i64 at = (i64)c - (i64)a.w[4 + 2 * RANK + d];
      if (at < 0) at = skip - 1 - at;
      if (at >= size) at = 2 * size - 1 - skip - at;
      from += at * (i64)a.w[4 + 3 * RANK + d];
    }
    out[i] = in[from];
  }
}
#else
/// An element of the inner tensor gathers itself and its images, in a fixed order.
extern "C" __global__ void __launch_bounds__(256) mirror_fold(const Args a) {
  typedef typename compute_of<T>::type C;
  const T* in = (const T*)a.w[0];
  T* out = (T*)a.w[1];
  const i64 n = (i64)a.w[2], skip = (i64)a.w[3];
  for (i64 i = global_thread(); i < n; i += global_threads()) {
    I rest = (I)i;
    i64 places[RANK][3];
    int count[RANK], now[RANK];
#pragma unroll
    for (int d = RANK - 1; d >= 0; --d) {
      I c = rest;
      if (d > 0) {
        const I inner = (I)a.w[4 + RANK + d];
        c = rest % inner;
        rest /= inner;
      }
      const i64 at = (i64)c, size = (i64)a.w[4 + RANK + d];
      const i64 before = (i64)a.w[4 + 2 * RANK + d], step = (i64)a.w[4 + 3 * RANK + d];
      const i64 after = (i64)a.w[4 + 4 * RANK + d];
      const i64 left = before - 1 + skip - at, right = size - 1 - skip - at;
      count[d] = 0;
      now[d] = 0;
      places[d][count[d]++] = (before + at) * step;
      if (left >= 0 && left < before) places[d][count[d]++] = left * step;
      if (right >= 0 && right < after) {
        places[d][count[d]++] = (before + size + right) * step;
      }
    }
    C sum = C(0);
    for (bool more = true; more;) {
      i64 from = 0;
#pragma unroll
      for (int d = 0; d < RANK; ++d) from += places[d][now[d]];
      sum = f_add(sum, get(in[from]));
      more = false;
      for (int d = RANK - 1; d >= 0; --d) {
        if (++now[d] < count[d]) {
          more = true;
          break;
        }
        now[d] = 0;
      }
    }
    out[i] = put<T>(sum);
  }
}
#endif
