// Bilinear and nearest-neighbour resizing. Gradients look from a pixel of the image at
// the resized pixels that read it, in the order in which the CPU adds them up: no
// atomics, the same bits every time. T (storage) comes before this text, image.cuh too.
typedef typename compute_of<T>::type C;

/// The layout is known to image_resize.cc.
struct Resize {
  i64 batch, in[2], out[2], channels;  // height, width
  float scale[2];
  i32 half_pixels, align_corners;
};

/// Where an output row or column comes from.
struct Source {
  i64 low, high;
  float weight;  // of high
};
inline Source linear_source(const Resize& p, int d, i64 i) {
  const float at = (float)i, scale = p.scale[d];
  const float x = p.half_pixels ? (at + 0.5f) * scale - 0.5f : at * scale;
  const float below = floorf(x);
  return {within((i64)below, 0, p.in[d] - 1), within((i64)ceilf(x), 0, p.in[d] - 1),
          x - below};
}
inline i64 nearest_source(const Resize& p, int d, i64 i) {
  const float x = ((float)i + (p.half_pixels ? 0.5f : 0.0f)) * p.scale[d];
  return within((i64)(p.align_corners ? roundf(x) : floorf(x)), 0, p.in[d] - 1);
}

struct Range {
  i64 begin, end;
};
/// Outputs i whose place (i + 1/2 or 0) * scale may lie in [low, high]: a few more than
/// do, since places are rounded to float; whoever asks looks at each. The first and the
/// last pixel are read by everything beyond them too.
inline Range readers_of(const Resize& p, int d, i64 pixel, double low, double high) {
  const double scale = p.scale[d], shift = p.half_pixels ? 0.5 : 0.0;
  const double slack = 1e-6 * (double)p.in[d], last = (double)p.out[d];
  Range r = {0, p.out[d]};
  if (scale == 0) return r;
  if (pixel > 0) {
    r.begin = (i64)fmin(fmax(floor((low - slack) / scale - shift), 0.0), last);
  }
  if (pixel < p.in[d] - 1) {
    r.end = (i64)fmin(fmax(ceil((high + slack) / scale - shift) + 1.0, 0.0), last);
  }
  return r;
}

extern "C" __global__ void bilinear(const T* x, float* y, const Resize p) {
  const i64 n = p.batch * p.out[0] * p.out[1] * p.channels;
  for (i64 i = global_thread(); i < n; i += global_threads()) {
    const Pixel at = pixel_of(i, p.out[0], p.out[1], p.channels);
    const Source row = linear_source(p, 0, at.y), column = linear_source(p, 1, at.x);
    const T* image = x + at.image * p.in[0] * p.in[1] * p.channels + at.channel;
    const T *top = image + row.low * p.in[1] * p.channels,
            *bottom = image + row.high * p.in[1] * p.channels;
    const i64 left = column.low * p.channels, right = column.high * p.channels;
    const float tl = as_float(top[left]), bl = as_float(bottom[left]);
    const float upper = tl + (as_float(top[right]) - tl) * column.weight;
    const float lower = bl + (as_float(bottom[right]) - bl) * column.weight;
    y[i] = upper + (lower - upper) * row.weight;
  }
}

/// Templates, so that what has no meaning for T is not looked at.
template <class T>
inline void add_bilinear_grad(const float* dy, T* dx, const Resize& p) {
  typedef typename compute_of<T>::type C;
  if constexpr (is_float<C>::value) {
    const double shift = p.half_pixels ? 0.5 : 0.0;
    const i64 n = p.batch * p.in[0] * p.in[1] * p.channels;
    for (i64 i = global_thread(); i < n; i += global_threads()) {
      const Pixel at = pixel_of(i, p.in[0], p.in[1], p.channels);
      const Range rows =
          readers_of(p, 0, at.y, (double)at.y - 1 + shift, (double)at.y + 1 + shift);
      const Range columns =
          readers_of(p, 1, at.x, (double)at.x - 1 + shift, (double)at.x + 1 + shift);
      const float* image = dy + at.image * p.out[0] * p.out[1] * p.channels + at.channel;
      C sum = 0;
      for (i64 r = rows.begin; r < rows.end; ++r) {
        const Source row = linear_source(p, 0, r);
        const bool top = row.low == at.y, bottom = row.high == at.y;
        if (!top && !bottom) continue;
        for (i64 c = columns.begin; c < columns.end; ++c) {
          const Source column = linear_source(p, 1, c);
          const bool left = column.low == at.x, right = column.high == at.x;
          if (!left && !right) continue;
          const float g = image[(r * p.out[1] + c) * p.channels];
          const float down = row.weight, along = column.weight;
          if (top && left) sum += (C)(g * (1 - down) * (1 - along));
          if (top && right) sum += (C)(g * (1 - down) * along);
          if (bottom && left) sum += (C)(g * down * (1 - along));
          if (bottom && right) sum += (C)(g * down * along);
        }
      }
      dx[i] = put<T>(sum);
    }
  }
}
extern "C" __global__ void bilinear_grad(const float* dy, T* dx, const Resize p) {
  add_bilinear_grad(dy, dx, p);
}

extern "C" __global__ void nearest(const T* x, T* y, const Resize p) {
  const i64 n = p.batch * p.out[0] * p.out[1] * p.channels;
  for (i64 i = global_thread(); i < n; i += global_threads()) {
    const Pixel at = pixel_of(i, p.out[0], p.out[1], p.channels);
    const i64 row = at.image * p.in[0] + nearest_source(p, 0, at.y);
    y[i] = x[(row * p.in[1] + nearest_source(p, 1, at.x)) * p.channels + at.channel];
  }
}

template <class T>
inline void add_nearest_grad(const T* dy, T* dx, const Resize& p) {
  typedef typename compute_of<T>::type C;
  if constexpr (is_float<C>::value) {
    const double shift = p.align_corners ? 0.5 : 0.0;  // rounded, or cut off
    const i64 n = p.batch * p.in[0] * p.in[1] * p.channels;
    for (i64 i = global_thread(); i < n; i += global_threads()) {
      const Pixel at = pixel_of(i, p.in[0], p.in[1], p.channels);
      const Range rows =
          readers_of(p, 0, at.y, (double)at.y - shift, (double)at.y + 1 - shift);
      const Range columns =
          readers_of(p, 1, at.x, (double)at.x - shift, (double)at.x + 1 - shift);
      const T* image = dy + at.image * p.out[0] * p.out[1] * p.channels + at.channel;
      C sum = 0;
      for (i64 r = rows.begin; r < rows.end; ++r) {
        if (nearest_source(p, 0, r) != at.y) continue;
        for (i64 c = columns.begin; c < columns.end; ++c) {
          if (nearest_source(p, 1, c) != at.x) continue;
          sum += get(image[(r * p.out[1] + c) * p.channels]);
        }
      }
      dx[i] = put<T>(sum);
    }
  }
}
extern "C" __global__ void nearest_grad(const T* dy, T* dx, const Resize p) {
  add_nearest_grad(dy, dx, p);
}
