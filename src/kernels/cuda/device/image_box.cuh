// CropAndResize with its gradients, and outlines of boxes. T (storage) comes before this
// text, image.cuh too.

/// The layout is known to image_box.cc.
struct Crops {
  i64 batch, h, w, channels, boxes, out_h, out_w;
  float outside;
  i32 nearest;
};

/// Boxes whose image is not there; what reads them leaves them out.
inline bool has_image(const Crops& p, i32 image) { return image >= 0 && image < p.batch; }
inline void report_boxes(const Crops& p, const i32* images, ReportFlags* flags,
                         i32 site) {
  for (i64 b = global_thread(); b < p.boxes; b += global_threads()) {
    if (!has_image(p, images[b])) report_bad(flags, 1, site, images[b], b, p.batch);
  }
}

/// Where output position i of n lies between two edges of a box, in pixels.
inline float crop_place(i64 i, i64 n, float low, float high, i64 size) {
  const float last = (float)(size - 1);
  if (n == 1) return 0.5f * (low + high) * last;
  const float step = (high - low) * last / (float)(n - 1);
  return low * last + (float)i * step;
}
inline bool inside(float at, i64 size) { return at >= 0 && at <= (float)(size - 1); }

/// The pixels on both sides of a place, and how near it is to the second.
struct Between {
  i64 low, high;
  float weight;
};
/// The pixel at a rounded place in the image. Above 2^24 the last pixel's number, as a
/// float, may be one that is not there.
inline i64 crop_pixel(float at, i64 size) { return (i64)at < size ? (i64)at : size - 1; }
inline Between between(float at, i64 size) {
  const float below = floorf(at);
  return {crop_pixel(below, size), crop_pixel(ceilf(at), size), at - below};
}

extern "C" __global__ void crop(const T* x, const float* boxes, const i32* images,
                                float* out, const Crops p, ReportFlags* flags, i32 site) {
  report_boxes(p, images, flags, site);
  const i64 n = p.boxes * p.out_h * p.out_w * p.channels;
  for (i64 i = global_thread(); i < n; i += global_threads()) {
    const Pixel at = pixel_of(i, p.out_h, p.out_w, p.channels);
    const float* box = boxes + at.image * 4;
    const float y = crop_place(at.y, p.out_h, box[0], box[2], p.h);
    const float along = crop_place(at.x, p.out_w, box[1], box[3], p.w);
    const i32 image = images[at.image];
    if (!has_image(p, image) || !inside(y, p.h) || !inside(along, p.w)) {
      out[i] = p.outside;
      continue;
    }
    const T* from = x + image * p.h * p.w * p.channels + at.channel;
    const auto pixel = [&](i64 row, i64 column) {
      return as_float(from[(row * p.w + column) * p.channels]);
    };
    if (p.nearest) {
      out[i] = pixel(crop_pixel(roundf(y), p.h), crop_pixel(roundf(along), p.w));
      continue;
    }
    const Between r = between(y, p.h), c = between(along, p.w);
    const float tl = pixel(r.low, c.low), bl = pixel(r.high, c.low);
    const float top = tl + (pixel(r.low, c.high) - tl) * c.weight;
    const float bottom = bl + (pixel(r.high, c.high) - bl) * c.weight;
    out[i] = top + (bottom - top) * r.weight;
  }
}

/// Boxes may overlap: atomics, in any order.
extern "C" __global__ void crop_grad_image(const float* grad, const float* boxes,
                                           const i32* images, float* out, const Crops p,
                                           ReportFlags* flags, i32 site) {
  report_boxes(p, images, flags, site);
  const i64 n = p.boxes * p.out_h * p.out_w * p.channels;
  for (i64 i = global_thread(); i < n; i += global_threads()) {
    const Pixel at = pixel_of(i, p.out_h, p.out_w, p.channels);
    const float* box = boxes + at.image * 4;
    const float y = crop_place(at.y, p.out_h, box[0], box[2], p.h);
    const float along = crop_place(at.x, p.out_w, box[1], box[3], p.w);
    const i32 image = images[at.image];
    if (!has_image(p, image) || !inside(y, p.h) || !inside(along, p.w)) continue;
    float* to = out + image * p.h * p.w * p.channels + at.channel;
    const auto add = [&](i64 row, i64 column, float v) {
      atomicAdd(to + (row * p.w + column) * p.channels, v);
    };
    const float g = grad[i];
    if (p.nearest) {
      add(crop_pixel(roundf(y), p.h), crop_pixel(roundf(along), p.w), g);
      continue;
    }
    const Between r = between(y, p.h), c = between(along, p.w);
    const float upper = (1 - r.weight) * g, lower = r.weight * g;
    add(r.low, c.low, (1 - c.weight) * upper);
    add(r.low, c.high, c.weight * upper);
    add(r.high, c.low, (1 - c.weight) * lower);
    add(r.high, c.high, c.weight * lower);
  }
}

/// Whether some place between two edges can be within a pixel of this one.
inline bool may_reach(float low, float high, i64 n, i64 size, i64 pixel) {
  const float a = crop_place(0, n, low, high, size),
              b = crop_place(n - 1, n, low, high, size);
  const float at = (float)pixel, slack = 1.5f;
  return !(at < smaller(a, b) - slack) && !(at > larger(a, b) + slack);
}
/// The same, from a pixel of the image at the boxes over it, in the order in which the
/// CPU adds them up.
extern "C" __global__ void crop_grad_image_ordered(const float* grad, const float* boxes,
                                                   const i32* images, float* out,
                                                   const Crops p, ReportFlags* flags,
                                                   i32 site) {
  report_boxes(p, images, flags, site);
  const i64 n = p.batch * p.h * p.w * p.channels;
  for (i64 i = global_thread(); i < n; i += global_threads()) {
    const Pixel at = pixel_of(i, p.h, p.w, p.channels);
    float sum = 0;
    for (i64 b = 0; b < p.boxes; ++b) {
      const float* box = boxes + b * 4;
      if (images[b] != at.image || !may_reach(box[0], box[2], p.out_h, p.h, at.y) ||
          !may_reach(box[1], box[3], p.out_w, p.w, at.x)) {
        continue;
      }
      const float* from = grad + b * p.out_h * p.out_w * p.channels + at.channel;
      for (i64 o = 0; o < p.out_h; ++o) {
        const float y = crop_place(o, p.out_h, box[0], box[2], p.h);
        if (!inside(y, p.h)) continue;
        const Between r = between(y, p.h);
        const i64 row = crop_pixel(roundf(y), p.h);
        if (p.nearest ? row != at.y : r.low != at.y && r.high != at.y) continue;
        for (i64 k = 0; k < p.out_w; ++k) {
          const float x = crop_place(k, p.out_w, box[1], box[3], p.w);
          if (!inside(x, p.w)) continue;
          const float g = from[(o * p.out_w + k) * p.channels];
          if (p.nearest) {
            if (crop_pixel(roundf(x), p.w) == at.x) sum += g;
            continue;
          }
          const Between c = between(x, p.w);
          const float upper = (1 - r.weight) * g, lower = r.weight * g;
          if (r.low == at.y && c.low == at.x) sum += (1 - c.weight) * upper;
          if (r.low == at.y && c.high == at.x) sum += c.weight * upper;
          if (r.high == at.y && c.low == at.x) sum += (1 - c.weight) * lower;
          if (r.high == at.y && c.high == at.x) sum += c.weight * lower;
        }
      }
    }
    out[i] = sum;
  }
}

/// How a place moves with the lower and the upper edge.
inline void crop_slope(i64 i, i64 n, i64 size, float* low, float* high) {
  const float last = (float)(size - 1);
  if (n == 1) {
    *low = *high = 0.5f * last;
    return;
  }
  const float along = (float)i / (float)(n - 1);
  *low = (1 - along) * last;
  *high = along * last;
}
/// A block of 256 threads per box; sums in a fixed order.
extern "C" __global__ void crop_grad_boxes(const float* grad, const float* x,
                                           const float* boxes, const i32* images,
                                           float* out, const Crops p, ReportFlags* flags,
                                           i32 site) {
  __shared__ double parts[4][256];
  report_boxes(p, images, flags, site);
  const i64 size = p.out_h * p.out_w * p.channels;
  for (i64 b = blockIdx.x; b < p.boxes; b += gridDim.x) {
    const float* box = boxes + b * 4;
    double sums[4] = {0, 0, 0, 0};
    const i32 image = images[b];
    const i64 end = has_image(p, image) ? size : 0;
    const float* from = x + image * p.h * p.w * p.channels;
    for (i64 i = threadIdx.x; i < end; i += 256) {
      const Pixel at = pixel_of(i, p.out_h, p.out_w, p.channels);
      const float y = crop_place(at.y, p.out_h, box[0], box[2], p.h);
      const float along = crop_place(at.x, p.out_w, box[1], box[3], p.w);
      if (!inside(y, p.h) || !inside(along, p.w)) continue;
      const Between r = between(y, p.h), c = between(along, p.w);
      const auto pixel = [&](i64 row, i64 column) {
        return from[(row * p.w + column) * p.channels + at.channel];
      };
      const float tl = pixel(r.low, c.low), tr = pixel(r.low, c.high),
                  bl = pixel(r.high, c.low), br = pixel(r.high, c.high);
      const float g = grad[b * size + i];
      const double dy = g * ((1 - c.weight) * (bl - tl) + c.weight * (br - tr));
      const double dx = g * ((1 - r.weight) * (tr - tl) + r.weight * (br - bl));
      float low, high;
      crop_slope(at.y, p.out_h, p.h, &low, &high);
      sums[0] += dy * low;
      sums[2] += dy * high;
      crop_slope(at.x, p.out_w, p.w, &low, &high);
      sums[1] += dx * low;
      sums[3] += dx * high;
    }
    for (int k = 0; k < 4; ++k) parts[k][threadIdx.x] = sums[k];
    __syncthreads();
    for (int width = 128; width > 0; width /= 2) {
      if ((int)threadIdx.x < width) {
        for (int k = 0; k < 4; ++k) {
          parts[k][threadIdx.x] += parts[k][threadIdx.x + width];
        }
      }
      __syncthreads();
    }
    if (threadIdx.x < 4) out[b * 4 + threadIdx.x] = (float)parts[threadIdx.x][0];
    __syncthreads();
  }
}

/// Colours of the outlines when none are given.
__constant__ float kDefaultColours[10][4] = {
    {1, 1, 0, 1},     {0, 0, 1, 1},   {1, 0, 0, 1},   {0, 1, 0, 1}, {0.5, 0, 0.5, 1},
    {0.5, 0.5, 0, 1}, {0.5, 0, 0, 1}, {0, 0, 0.5, 1}, {0, 1, 1, 1}, {1, 0, 1, 1}};

struct Outlines {
  i64 batch, h, w, channels, boxes, colours, palette;
};
/// Of the boxes whose outline covers a pixel the last one shows.
template <class T>
inline void draw_outlines(const T* x, const float* boxes, const float* colours, T* out,
                          const Outlines& p) {
  typedef typename compute_of<T>::type C;
  if constexpr (same_type<C, float>::value) {
    // An edge that is no place is left of all, as in the CPU's conversions.
    const auto edge = [](float part, i64 size) {
      return float_to_i64(part * (float)(size - 1));
    };
    const i64 n = p.batch * p.h * p.w;
    for (i64 i = global_thread(); i < n; i += global_threads()) {
      const Pixel at = pixel_of(i, p.h, p.w, 1);
      i64 shown = p.boxes - 1;
      for (; shown >= 0; --shown) {
        const float* box = boxes + (at.image * p.boxes + shown) * 4;
        const i64 top = edge(box[0], p.h), left = edge(box[1], p.w);
        const i64 bottom = edge(box[2], p.h), right = edge(box[3], p.w);
        if (at.y < top || at.y > bottom || at.x < left || at.x > right) continue;
        if (at.y == top || at.y == bottom || at.x == left || at.x == right) break;
      }
      const float* colour = shown < 0       ? nullptr
                            : p.colours > 0 ? colours + shown % p.colours * p.palette
                                            : kDefaultColours[shown % 10];
      for (i64 k = 0; k < p.channels; ++k) {
        const i64 e = i * p.channels + k;
        out[e] = colour ? put<T>(colour[k]) : x[e];
      }
    }
  }
}
extern "C" __global__ void draw(const T* x, const float* boxes, const float* colours,
                                T* out, const Outlines p) {
  draw_outlines(x, boxes, colours, out, p);
}
