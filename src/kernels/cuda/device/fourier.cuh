// What lies around cuFFT's transforms: inputs cut or filled up to the transform's size,
// and results divided by it. T is float or double and comes before this text.
typedef cplx<T> Z;

/// The last three dimensions, 1 where a transform has fewer; the layout is known to
/// fourier.cc.
struct Sizes {
  i64 outer, in[3], full[3];
};

struct Spot {
  i64 outer, at[3];
};
inline Spot spot_of(i64 i, i64 rows, i64 columns, i64 width) {
  Spot s;
  s.at[2] = i % width;
  i /= width;
  s.at[1] = i % columns;
  i /= columns;
  s.at[0] = i % rows;
  s.outer = i / rows;
  return s;
}
/// Zero outside of what was given.
template <class V>
inline V given(const V* x, const Sizes& s, i64 outer, i64 a, i64 b, i64 c) {
  if (a >= s.in[0] || b >= s.in[1] || c >= s.in[2]) return V(0);
  return x[((outer * s.in[0] + a) * s.in[1] + b) * s.in[2] + c];
}

extern "C" __global__ void fill_up(const T* x, T* y, const Sizes s) {
  const i64 n = s.outer * s.full[0] * s.full[1] * s.full[2];
  for (i64 i = global_thread(); i < n; i += global_threads()) {
    const Spot p = spot_of(i, s.full[0], s.full[1], s.full[2]);
    y[i] = given(x, s, p.outer, p.at[0], p.at[1], p.at[2]);
  }
}

/// The half of a spectrum that a real result is made of. Its first column, and the middle
/// one of an even width, are their own mirror images in the spectrum of real numbers;
/// what contradicts that has no part in the result.
extern "C" __global__ void half_spectrum(const Z* x, Z* y, const Sizes s, double scale) {
  const i64 width = s.full[2] / 2 + 1;
  const i64 n = s.outer * s.full[0] * s.full[1] * width;
  for (i64 i = global_thread(); i < n; i += global_threads()) {
    const Spot p = spot_of(i, s.full[0], s.full[1], width);
    Z v = given(x, s, p.outer, p.at[0], p.at[1], p.at[2]);
    if (p.at[2] == 0 || 2 * p.at[2] == s.full[2]) {
      const Z w = given(x, s, p.outer, p.at[0] ? s.full[0] - p.at[0] : 0,
                        p.at[1] ? s.full[1] - p.at[1] : 0, p.at[2]);
      v = Z((v.re + w.re) / 2, (v.im - w.im) / 2);
    }
    y[i] = Z(v.re * (T)scale, v.im * (T)scale);
  }
}

extern "C" __global__ void divide(T* y, i64 n, double scale) {
  for (i64 i = global_thread(); i < n; i += global_threads()) y[i] *= (T)scale;
}
