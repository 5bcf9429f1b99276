// Colours as hue, saturation, value and back, one thread per pixel. T (storage) comes
// before this text, image.cuh too.
typedef typename compute_of<T>::type C;

struct Colour {
  C v[3];
};
inline Colour load(const T* x, i64 i) {
  return {{get(x[3 * i]), get(x[3 * i + 1]), get(x[3 * i + 2])}};
}
inline void store(T* y, i64 i, const Colour& c) {
  for (int k = 0; k < 3; ++k) y[3 * i + k] = put<T>(c.v[k]);
}
inline C largest(const Colour& c) { return larger(larger(c.v[0], c.v[1]), c.v[2]); }
inline C smallest(const Colour& c) { return smaller(smaller(c.v[0], c.v[1]), c.v[2]); }

inline Colour to_hsv(const Colour& in) {
  const C r = in.v[0], g = in.v[1], b = in.v[2];
  const C value = largest(in), range = value - smallest(in);
  C hue = 0;
  if (range > 0) {
    const C part = C(1) / (6 * range);
    hue = value == r   ? part * (g - b)
          : value == g ? part * (b - r) + C(2) / 6
                       : part * (r - g) + C(4) / 6;
    if (hue < 0) hue += 1;
  }
  return {{hue, value > 0 ? range / value : C(0), value}};
}

extern "C" __global__ void rgb_to_hsv(const T* x, T* y, i64 n) {
  for (i64 i = global_thread(); i < n; i += global_threads()) {
    store(y, i, to_hsv(load(x, i)));
  }
}

inline C between_0_and_1(C x) { return x < C(0) ? C(0) : C(1) < x ? C(1) : x; }
extern "C" __global__ void hsv_to_rgb(const T* x, T* y, i64 n) {
  for (i64 i = global_thread(); i < n; i += global_threads()) {
    const Colour in = load(x, i);
    const C hue = in.v[0] * 6, saturation = in.v[1], value = in.v[2];
    const C parts[3] = {between_0_and_1(f_abs(hue - 3) - 1),
                        between_0_and_1(2 - f_abs(hue - 2)),
                        between_0_and_1(2 - f_abs(hue - 4))};
    Colour out;
    for (int k = 0; k < 3; ++k) {
      out.v[k] = ((1 - saturation) + saturation * parts[k]) * value;
    }
    store(y, i, out);
  }
}

/// The hue moves between the largest and the smallest part, which stay as they are.
extern "C" __global__ void adjust_hue(const T* x, const float* given, T* y, i64 n) {
  const C delta = (C)*given * 6;
  for (i64 i = global_thread(); i < n; i += global_threads()) {
    const Colour in = load(x, i);
    const C top = largest(in), low = smallest(in), range = top - low;
    C hue = (C)fmod(to_hsv(in).v[0] * 6 + delta, C(6));
    if (hue < 0) hue += 6;
    const int part = (int)hue;
    const C along = hue - (C)part, up = low + along * range, down = top - along * range;
    Colour out;
    switch (part) {
      case 0:
        out = {{top, up, low}};
        break;
      case 1:
        out = {{down, top, low}};
        break;
      case 2:
        out = {{low, top, up}};
        break;
      case 3:
        out = {{low, down, top}};
        break;
      case 4:
        out = {{up, low, top}};
        break;
      default:
        out = {{top, low, down}};
    }
    store(y, i, out);
  }
}

/// The hue is (middle - least) / (6 range) plus or minus a constant; the part of the
/// largest channel cancels but for the range. Where channels are equal the first counts.
extern "C" __global__ void rgb_to_hsv_grad(const T* x, const T* dy, T* dx, i64 n) {
  for (i64 i = global_thread(); i < n; i += global_threads()) {
    const Colour in = load(x, i), grad = load(dy, i);
    const C top = largest(in), low = smallest(in), range = top - low;
    const int most = in.v[0] == top ? 0 : in.v[1] == top ? 1 : 2;
    const int least = in.v[2] == low ? 2 : in.v[1] == low ? 1 : 0;
    Colour out = {{0, 0, 0}};
    out.v[most] += grad.v[2];
    if (top > 0) {
      out.v[most] += grad.v[1] * low / (top * top);
      out.v[least] -= grad.v[1] / top;
    }
    if (range > 0) {
      const int next = (most + 1) % 3, after = (most + 2) % 3;
      const C part = grad.v[0] / (6 * range);
      out.v[next] += part;
      out.v[after] -= part;
      const C by_range = part * (in.v[next] - in.v[after]) / range;
      out.v[most] -= by_range;
      out.v[least] += by_range;
    }
    store(dx, i, out);
  }
}
