// Gradients of CropAndResize (float32) and of RGBToHSV (float32, float64; float16 and
// bfloat16 through float32).
#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "base/parallel.h"
#include "kernels/cpu/image_colour.h"
#include "kernels/cpu/image_crop.h"
#include "kernels/cpu/image_register.h"
#include "kernels/cpu/nn_through_float.h"
#include "op/kernel.h"
#include "tandem/error.h"
#include "tandem/ops/image.h"

namespace tandem::cpu {

namespace {

struct CropGradPlan {
  bool nearest = false;
  int64_t batch = 0, h = 0, w = 0, channels = 0, boxes = 0, out_h = 0, out_w = 0;
};
CropGradPlan plan_crop_grad(const Shape& image, const Shape& crops) {
  return {false, image[0], image[1], image[2], image[3], crops[0], crops[1], crops[2]};
}
CropGradPlan prepare_grad_image(const Signature& s) {
  CropGradPlan p = plan_crop_grad(s.out().shape, s.in(0).shape);
  p.nearest = s.attrs.as<image::CropAndResizeAttrs>().method == "nearest";
  return p;
}
CropGradPlan prepare_grad_boxes(const Signature& s) {
  return plan_crop_grad(s.in(1).shape, s.in(0).shape);
}

void check_images(const CropGradPlan& p, const int32_t* images) {
  for (int64_t i = 0; i < p.boxes; ++i) {
    if (images[i] >= 0 && images[i] < p.batch) continue;
    throw InvalidArgumentError(
        fmt::format("CropAndResize: box_index has values outside [0, batch_size): {} of "
                    "{}",
                    images[i], p.batch));
  }
}

// The four pixels around a place, and how near it is to the last of them.
struct Around {
  int64_t top, bottom, left, right;
  float down, across;
};
Around around(const CropGradPlan& p, float y, float x) {
  const float y0 = std::floor(y), x0 = std::floor(x);
  return {crop_pixel(y0, p.h),
          crop_pixel(std::ceil(y), p.h),
          crop_pixel(x0, p.w),
          crop_pixel(std::ceil(x), p.w),
          y - y0,
          x - x0};
}

void spread_box(const CropGradPlan& p, const float* box, const float* grad,
                float* image) {
  const int64_t c = p.channels;
  const auto at = [&](int64_t y, int64_t x) { return image + (y * p.w + x) * c; };
  for (int64_t i = 0; i < p.out_h; ++i) {
    const float y = crop_place(i, p.out_h, box[0], box[2], p.h);
    for (int64_t j = 0; j < p.out_w; ++j, grad += c) {
      const float x = crop_place(j, p.out_w, box[1], box[3], p.w);
      if (!crop_inside(y, p.h) || !crop_inside(x, p.w)) continue;
      if (p.nearest) {
        float* to = at(crop_pixel(std::round(y), p.h), crop_pixel(std::round(x), p.w));
        for (int64_t k = 0; k < c; ++k) to[k] += grad[k];
        continue;
      }
      const Around a = around(p, y, x);
      float *tl = at(a.top, a.left), *tr = at(a.top, a.right), *bl = at(a.bottom, a.left),
            *br = at(a.bottom, a.right);
      for (int64_t k = 0; k < c; ++k) {
        const float upper = (1 - a.down) * grad[k], lower = a.down * grad[k];
        tl[k] += (1 - a.across) * upper;
        tr[k] += a.across * upper;
        bl[k] += (1 - a.across) * lower;
        br[k] += a.across * lower;
      }
    }
  }
}

// Boxes of one image may overlap: an image belongs to one thread.
void launch_grad_image(const CropGradPlan& p, const LaunchArgs& a) {
  const int32_t* images = a.in<int32_t>(2);
  check_images(p, images);
  const int64_t size = p.h * p.w * p.channels, crop = p.out_h * p.out_w * p.channels;
  parallel_for(p.batch, 1, [&](int64_t begin, int64_t end) {
    for (int64_t n = begin; n < end; ++n) {
      float* image = a.out<float>() + n * size;
      std::fill_n(image, size, 0.0f);
      for (int64_t b = 0; b < p.boxes; ++b) {
        if (images[b] != n) continue;
        spread_box(p, a.in<float>(1) + 4 * b, a.in<float>(0) + b * crop, image);
      }
    }
  });
}

void launch_grad_boxes(const CropGradPlan& p, const LaunchArgs& a) {
  const int32_t* images = a.in<int32_t>(3);
  check_images(p, images);
  const int64_t c = p.channels;
  parallel_for(p.boxes, 1, [&](int64_t begin, int64_t end) {
    for (int64_t b = begin; b < end; ++b) {
      const float* box = a.in<float>(2) + 4 * b;
      const float* grad = a.in<float>(0) + b * p.out_h * p.out_w * c;
      const float* image = a.in<float>(1) + images[b] * p.h * p.w * c;
      const auto at = [&](int64_t y, int64_t x) { return image + (y * p.w + x) * c; };
      double sums[4] = {0, 0, 0, 0};
      for (int64_t i = 0; i < p.out_h; ++i) {
        const float y = crop_place(i, p.out_h, box[0], box[2], p.h);
        const CropSlope by_y = crop_slope(i, p.out_h, p.h);
        for (int64_t j = 0; j < p.out_w; ++j, grad += c) {
          const float x = crop_place(j, p.out_w, box[1], box[3], p.w);
          if (!crop_inside(y, p.h) || !crop_inside(x, p.w)) continue;
          const CropSlope by_x = crop_slope(j, p.out_w, p.w);
          const Around r = around(p, y, x);
          const float *tl = at(r.top, r.left), *tr = at(r.top, r.right),
                      *bl = at(r.bottom, r.left), *br = at(r.bottom, r.right);
          double dy = 0, dx = 0;
          for (int64_t k = 0; k < c; ++k) {
            dy +=
                grad[k] * ((1 - r.across) * (bl[k] - tl[k]) + r.across * (br[k] - tr[k]));
            dx += grad[k] * ((1 - r.down) * (tr[k] - tl[k]) + r.down * (br[k] - bl[k]));
          }
          sums[0] += dy * by_y.low, sums[2] += dy * by_y.high;
          sums[1] += dx * by_x.low, sums[3] += dx * by_x.high;
        }
      }
      for (int k = 0; k < 4; ++k) a.out<float>()[4 * b + k] = static_cast<float>(sums[k]);
    }
  });
}

// The hue is (middle - least) / (6 range) plus or minus a constant; the part of the
// largest channel cancels but for the range. Where channels are equal the first counts.
template <class T>
void colour_gradient(const T* in, const T* grad, T* out) {
  const T top = std::max({in[0], in[1], in[2]}), low = std::min({in[0], in[1], in[2]});
  const T range = top - low;
  const int most = in[0] == top ? 0 : in[1] == top ? 1 : 2;
  const int least = in[2] == low ? 2 : in[1] == low ? 1 : 0;
  std::fill_n(out, 3, T(0));
  out[most] += grad[2];
  if (top > 0) {
    out[most] += grad[1] * low / (top * top);
    out[least] -= grad[1] / top;
  }
  if (range > 0) {
    const int next = (most + 1) % 3, after = (most + 2) % 3;
    const T part = grad[0] / (6 * range);
    out[next] += part;
    out[after] -= part;
    const T by_range = part * (in[next] - in[after]) / range;
    out[most] -= by_range;
    out[least] += by_range;
  }
}

template <class T>
void launch_colour_grad(const ColourPlan& p, const LaunchArgs& a) {
  parallel_for(p.pixels, 2048, [&](int64_t b, int64_t e) {
    for (int64_t i = b; i < e; ++i) {
      colour_gradient(a.in<T>(0) + 3 * i, a.in<T>(1) + 3 * i, a.out<T>() + 3 * i);
    }
  });
}

}  // namespace

void register_image_gradient_kernels(KernelRegistry& registry) {
  registry.add(make_kernel<prepare_grad_image, launch_grad_image>(
      "CropAndResizeGradImage", "cpu.CropAndResizeGradImage"));
  registry.add(make_kernel<prepare_grad_boxes, launch_grad_boxes>(
      "CropAndResizeGradBoxes", "cpu.CropAndResizeGradBoxes"));
  registry.add(make_kernel<prepare_colour, launch_colour_grad<float>>(
      "RGBToHSVGrad", "cpu.RGBToHSVGrad.f32", mask(DType::kFloat32)));
  registry.add(make_kernel<prepare_colour, launch_colour_grad<double>>(
      "RGBToHSVGrad", "cpu.RGBToHSVGrad.f64", mask(DType::kFloat64)));
  registry.add(make_half_kernel<prepare_colour, launch_colour_grad<float>>(
      "RGBToHSVGrad", "cpu.RGBToHSVGrad.half"));
}

}  // namespace tandem::cpu
