// What kernels over images [batch, height, width, channels] share: the place of an
// element, and fast divisions where sizes allow them.
inline i64 quotient(i64 a, i64 b) {
  return ((u64)(a | b) >> 32) == 0 ? (i64)((u32)a / (u32)b) : a / b;
}

struct Pixel {
  i64 image, y, x, channel;
};
inline Pixel pixel_of(i64 i, i64 height, i64 width, i64 channels) {
  Pixel p;
  i64 left = quotient(i, channels);
  p.channel = i - left * channels;
  i64 next = quotient(left, width);
  p.x = left - next * width;
  left = next;
  next = quotient(left, height);
  p.y = left - next * height;
  p.image = next;
  return p;
}

template <class V>
inline float as_float(V x) {
  return (float)get(x);
}
inline i64 within(i64 x, i64 low, i64 high) {
  return x < low ? low : x > high ? high : x;
}
template <class V>
inline V smaller(V a, V b) {
  return b < a ? b : a;
}
template <class V>
inline V larger(V a, V b) {
  return a < b ? b : a;
}
