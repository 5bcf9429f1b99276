// Resizing by filters: every output row and column is a weighted sum of a few input ones,
// so an image is sampled along rows and then along columns, as on the CPU. The weights
// are made first, in scratch memory, with the input places' first and last outputs where
// a gradient needs them. T (storage) comes before this text, image.cuh too.

/// One axis; the layout is known to image_resample.cc.
struct Axis {
  i64 in, out, most;  // most: weights of one output
  i64* start;         // [out]
  i64* count;         // [out]
  float* weights;     // [out, most]
  i64* first;         // [in], null without a gradient: outputs that read a place lie
  i64* end;           // between these
  float scale, translation;
};
/// How outputs are made of inputs: in kind, one of Filters, or kBicubic, kArea.
enum Kind : i32 {
  kLanczos1,
  kLanczos3,
  kLanczos5,
  kGaussian,
  kBox,
  kTriangle,
  kKeysCubic,
  kMitchellCubic,
  kBicubic,
  kArea
};
struct Sampling {
  i32 kind, antialias, half_pixels;
  float radius;
};

inline float lanczos(float x, float radius) {
  if (x >= radius) return 0;
  if (x <= 1e-3f) return 1;
  const float pi = 3.14159265358979323846f;
  return radius * sinf(pi * x) * sinf(pi * x / radius) / (pi * pi * x * x);
}
inline float keys_cubic(float x) {
  if (x >= 2) return 0;
  if (x >= 1) return ((-0.5f * x + 2.5f) * x - 4) * x + 2;
  return ((1.5f * x - 2.5f) * x) * x + 1;
}
inline float mitchell(float x) {
  if (x >= 2) return 0;
  if (x >= 1) return (((-7.0f / 18) * x + 2) * x - 10.0f / 3) * x + 16.0f / 9;
  return (((7.0f / 6) * x - 2) * x) * x + 8.0f / 9;
}
/// The weight of a pixel at this distance.
inline float filter_weight(i32 kind, float x) {
  switch (kind) {
    case kLanczos1:
      return lanczos(x, 1);
    case kLanczos3:
      return lanczos(x, 3);
    case kLanczos5:
      return lanczos(x, 5);
    case kGaussian:
      return x >= 1.5f ? 0.0f : expf(-x * x / (2 * 0.5f * 0.5f));
    case kBox:
      return x < 0.5f ? 1.0f : x == 0.5f ? 0.5f : 0.0f;
    case kTriangle:
      return x < 1 ? 1 - x : 0.0f;
    case kKeysCubic:
      return keys_cubic(x);
    default:
      return mitchell(x);
  }
}

constexpr float kTiny = 1000 * 1.17549435e-38f;

/// The weights of output i; the functions return how many there are, `start` is set.
inline i64 filtered(const Axis& a, const Sampling& s, i64 i, float* weights, i64* start) {
  const float step = 1 / a.scale, shift = -step * a.translation;
  const float wide = s.antialias ? (step < 1.0f ? 1.0f : step) : 1.0f;
  const float reach = s.radius * wide;
  const float at = ((float)i + 0.5f) * step + shift;
  if (!(at >= 0) || at > (float)a.in) return 0;
  const i64 low = within((i64)ceilf(at - reach - 0.5f), 0, a.in - 1);
  const i64 high = within((i64)floorf(at + reach - 0.5f), 0, a.in - 1);
  *start = low;
  float total = 0;
  i64 n = 0;
  for (i64 k = low; k <= high && n < a.most; ++k, ++n) {
    weights[n] = filter_weight(s.kind, fabsf((float)k + 0.5f - at) / wide);
    total += weights[n];
  }
  if (fabsf(total) < kTiny) return n;
  for (i64 k = 0; k < n; ++k) weights[k] /= total;
  return n;
}

/// TensorFlow looks weights up in a table of 1024 steps between two pixels.
inline i64 bicubic(const Axis& a, const Sampling& s, i64 i, float* weights, i64* start) {
  const bool keys = s.half_pixels;  // legacy sampling has a sharper filter
  const auto weight = [keys](float x) {
    if (keys) return keys_cubic(x);
    constexpr float sharp = -0.75f;
    return x < 1 ? ((sharp + 2) * x - (sharp + 3)) * x * x + 1
                 : ((sharp * x - 5 * sharp) * x + 8 * sharp) * x - 4 * sharp;
  };
  const float p = (float)i;
  const float at = keys ? (p + 0.5f) * a.scale - 0.5f : p * a.scale;
  const float below = floorf(at);
  const float t = rintf((at - below) * 1024.0f) / 1024.0f;
  const i64 base = (i64)below;
  const float parts[4] = {weight(1 + t), weight(t), weight(1 - t), weight(2 - t)};
  const i64 low = within(base - 1, 0, a.in - 1), high = within(base + 2, 0, a.in - 1);
  *start = low;
  const i64 n = high - low + 1;
  for (i64 k = 0; k < n; ++k) weights[k] = 0;
  float total = 0;
  for (int k = 0; k < 4; ++k) {
    const i64 from = base - 1 + k;
    if (keys && (from < 0 || from >= a.in)) continue;
    weights[within(from, 0, a.in - 1) - low] += parts[k];
    total += parts[k];
  }
  if (keys && fabsf(total) > kTiny) {
    for (i64 k = 0; k < n; ++k) weights[k] /= total;
  }
  return n;
}

/// Shares of input pixels in the area of an output pixel.
inline i64 areas(const Axis& a, i64 i, float* weights, i64* start) {
  const float from = (float)i * a.scale, to = (float)(i + 1) * a.scale;
  const i64 low = (i64)floorf(from), high = (i64)ceilf(to);
  *start = within(low, 0, a.in - 1);
  i64 n = 0;
  for (i64 k = low; k < high; ++k) {
    const float x = (float)k;
    const float part =
        x < from ? (x + 1 > to ? a.scale : x + 1 - from) : (x + 1 > to ? to - x : 1.0f);
    const i64 place = within(k, 0, a.in - 1) - *start;
    if (place >= a.most) break;
    if (place >= n) weights[n++] = 0;
    weights[place] += part / a.scale;
  }
  return n;
}

/// Rows and columns in one launch.
extern "C" __global__ void clear_readers(const Axis rows, const Axis columns) {
  for (i64 i = global_thread(); i < rows.in + columns.in; i += global_threads()) {
    const bool row = i < rows.in;
    (row ? rows : columns).first[row ? i : i - rows.in] = (row ? rows : columns).out;
    (row ? rows : columns).end[row ? i : i - rows.in] = 0;
  }
}
extern "C" __global__ void make_weights(const Axis rows, const Axis columns,
                                        const Sampling s) {
  for (i64 i = global_thread(); i < rows.out + columns.out; i += global_threads()) {
    const bool row = i < rows.out;
    const Axis& a = row ? rows : columns;
    const i64 o = row ? i : i - rows.out;
    float* weights = a.weights + o * a.most;
    i64 start = 0;
    const i64 n = s.kind == kBicubic ? bicubic(a, s, o, weights, &start)
                  : s.kind == kArea  ? areas(a, o, weights, &start)
                                     : filtered(a, s, o, weights, &start);
    a.start[o] = start;
    a.count[o] = n;
    if (!a.first) continue;
    for (i64 k = start; k < start + n; ++k) {
      atomicMin(a.first + k, o);
      atomicMax(a.end + k, o + 1);
    }
  }
}

/// between[batch * in_h, out_w, channels] from images.
extern "C" __global__ void sample_columns(const T* x, float* between, i64 lines,
                                          i64 channels, const Axis a) {
  const i64 n = lines * a.out * channels;
  for (i64 i = global_thread(); i < n; i += global_threads()) {
    const Pixel at = pixel_of(i, lines, a.out, channels);
    const T* from = x + (at.y * a.in + a.start[at.x]) * channels + at.channel;
    const float* weights = a.weights + at.x * a.most;
    float sum = 0;
    for (i64 k = 0; k < a.count[at.x]; ++k)
      sum += weights[k] * as_float(from[k * channels]);
    between[i] = sum;
  }
}
/// `row` elements of a line stay together.
extern "C" __global__ void sample_rows(const float* between, float* y, i64 batch, i64 row,
                                       const Axis a) {
  const i64 n = batch * a.out * row;
  for (i64 i = global_thread(); i < n; i += global_threads()) {
    const Pixel at = pixel_of(i, batch, a.out, row);
    const float* from = between + (at.y * a.in + a.start[at.x]) * row + at.channel;
    const float* weights = a.weights + at.x * a.most;
    float sum = 0;
    for (i64 k = 0; k < a.count[at.x]; ++k) sum += weights[k] * from[k * row];
    y[i] = sum;
  }
}
/// Back along either axis of [lines, out, inner]: sums over the outputs that read a
/// place, in their order.
extern "C" __global__ void spread(const float* g, float* out, i64 lines, i64 inner,
                                  const Axis a) {
  const i64 n = lines * a.in * inner;
  for (i64 i = global_thread(); i < n; i += global_threads()) {
    const Pixel at = pixel_of(i, lines, a.in, inner);
    const float* from = g + at.y * a.out * inner + at.channel;
    float sum = 0;
    for (i64 o = a.first[at.x]; o < a.end[at.x]; ++o) {
      const i64 k = at.x - a.start[o];
      if (k < 0 || k >= a.count[o]) continue;
      sum += a.weights[o * a.most + k] * from[o * inner];
    }
    out[i] = sum;
  }
}
