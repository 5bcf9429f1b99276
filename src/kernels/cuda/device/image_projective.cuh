// Projective transforms of images, one thread per element of the result. Coordinates and
// weights are float (weights of double images double), as on the CPU. T (storage) comes
// before this text, image.cuh too.
typedef typename compute_of<T>::type C;
template <class C>
struct weight_of {
  typedef float type;
};
template <>
struct weight_of<double> {
  typedef double type;
};
typedef weight_of<C>::type Weight;

/// The layout is known to image_projective.cc.
struct Projective {
  i64 batch, in_h, in_w, out_h, out_w, channels;
  i64 transform_step;  // 0: one for all images
  i32 bilinear, fill;
};
enum Fill : i32 { kConstant, kReflect, kWrap, kNearest };

inline float clamped(float at, float n) {
  return at < 0.0f ? 0.0f : n - 1 < at ? n - 1 : at;
}
/// Edge pixels are repeated: …b a | a b c | c b…
inline float reflected(float at, float n) {
  if (n <= 1) return 0;
  const float period = 2 * n;
  if (at < 0) {
    at += period * truncf(-at / period);
    at = at < -n ? at + period : -at - 1;
  } else if (at > n - 1) {
    at -= period * truncf(at / period);
    if (at >= n) at = period - at - 1;
  }
  return clamped(at, n);
}
inline float wrapped(float at, float n) {
  if (n <= 1) return 0;
  if (at < 0) {
    at += n * (truncf(-at / (n - 1)) + 1);
  } else if (at > n - 1) {
    at -= n * truncf(at / (n - 1));
  }
  return clamped(at, n);
}
inline float mapped(i32 fill, float at, i64 size) {
  const float n = (float)size;
  return fill == kReflect   ? reflected(at, n)
         : fill == kWrap    ? wrapped(at, n)
         : fill == kNearest ? clamped(at, n)
                            : at;
}

struct Image {
  const Projective& p;
  const T* pixels;  // of one channel
  C outside;
  C read(float y, float x) const {
    if (!(y >= 0 && x >= 0 && y < (float)p.in_h && x < (float)p.in_w)) return outside;
    return get(pixels[((i64)y * p.in_w + (i64)x) * p.channels]);
  }
  Weight mix(float y, float left, Weight right) const {
    return (1 - right) * (Weight)read(y, left) + right * (Weight)read(y, left + 1);
  }
};

extern "C" __global__ void projective(const T* x, const float* transforms,
                                      const float* fill_value, T* y, const Projective p) {
  const i64 n = p.batch * p.out_h * p.out_w * p.channels;
  for (i64 i = global_thread(); i < n; i += global_threads()) {
    const Pixel at = pixel_of(i, p.out_h, p.out_w, p.channels);
    const float* m = transforms + at.image * p.transform_step;
    const Image image = {p, x + at.image * p.in_h * p.in_w * p.channels + at.channel,
                         (C)*fill_value};
    const float to_x = (float)at.x, to_y = (float)at.y;
    const float k = m[6] * to_x + m[7] * to_y + 1;
    C value = image.outside;  // of a point at infinity
    if (k != 0) {
      const float from_x = mapped(p.fill, (m[0] * to_x + m[1] * to_y + m[2]) / k, p.in_w);
      const float from_y = mapped(p.fill, (m[3] * to_x + m[4] * to_y + m[5]) / k, p.in_h);
      if (p.bilinear) {
        const float top = floorf(from_y), left = floorf(from_x);
        const Weight down = from_y - top, right = from_x - left;
        value = (C)((1 - down) * image.mix(top, left, right) +
                    down * image.mix(top + 1, left, right));
      } else {
        value = image.read(roundf(from_y), roundf(from_x));
      }
    }
    y[i] = put<T>(value);
  }
}
