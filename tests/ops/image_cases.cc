// Cases of colours, of resizing by filters, and of boxes. Files are in
// tests/cpu/ops/image_codec_test.cc.
#include <algorithm>
#include <cmath>
#include <numbers>

#include "ops/case_parts.h"
#include "ops/values.h"
#include "tandem/ops/image.h"
#include "tandem/ops/nn_image.h"

namespace tandem::testing {

namespace {

const std::vector<DType> kFloat = {DType::kFloat32};

In two_numbers(double a, double b, DType dtype) {
  return {.shape = {2}, .fixed = {a, b}, .dtype = dtype};
}

// ---- Colours, by the definitions of the hexcone

void to_hsv(const double* in, double* out) {
  const double top = std::max({in[0], in[1], in[2]}),
               low = std::min({in[0], in[1], in[2]});
  double hue = 0;
  if (top > low) {
    if (top == in[0]) {
      hue = std::fmod((in[1] - in[2]) / (top - low) + 6, 6);
    } else if (top == in[1]) {
      hue = (in[2] - in[0]) / (top - low) + 2;
    } else {
      hue = (in[0] - in[1]) / (top - low) + 4;
    }
  }
  out[0] = hue / 6;
  out[1] = top > 0 ? (top - low) / top : 0;
  out[2] = top;
}
void to_rgb(const double* in, double* out) {
  const double h = in[0] * 6, chroma = in[1] * in[2];
  for (int k = 0; k < 3; ++k) {
    const double n = k == 0 ? 5 : k == 1 ? 3 : 1;
    const double x = std::fmod(n + h, 6);
    out[k] = in[2] - chroma * std::max(0.0, std::min({x, 4 - x, 1.0}));
  }
}
Reference pixels(void (*map)(const double*, double*)) {
  return [map](const std::vector<Ref>& in, DType) {
    Ref out = in[0];
    for (size_t i = 0; i < in[0].values.size(); i += 3) {
      const double pixel[] = {in[0].re(i), in[0].re(i + 1), in[0].re(i + 2)};
      double mapped[3];
      map(pixel, mapped);
      for (size_t k = 0; k < 3; ++k) out.re(i + k) = mapped[k];
    }
    return std::vector<Ref>{out};
  };
}

// ---- Resizing: weight(output position, input position) for rows and for columns

struct Scaling {
  int64_t h, w, out_h, out_w;
  static constexpr int64_t kBatch = 2, kChannels = 2;
  std::function<double(int64_t i, int64_t k, int64_t in, int64_t out)> weight;
  Shape image() const { return {kBatch, h, w, kChannels}; }
  Shape result() const { return {kBatch, out_h, out_w, kChannels}; }

  /// visit(element of the image, element of the result, weight)
  template <class Visit>
  void each(Visit visit) const {
    for (int64_t b = 0; b < kBatch; ++b) {
      for (int64_t y = 0; y < out_h; ++y) {
        for (int64_t x = 0; x < out_w; ++x) {
          for (int64_t iy = 0; iy < h; ++iy) {
            for (int64_t ix = 0; ix < w; ++ix) {
              const double v = weight(y, iy, h, out_h) * weight(x, ix, w, out_w);
              for (int64_t c = 0; v != 0 && c < kChannels; ++c) {
                visit(((b * h + iy) * w + ix) * kChannels + c,
                      ((b * out_h + y) * out_w + x) * kChannels + c, v);
              }
            }
          }
        }
      }
    }
  }
  Reference forward() const {
    return [s = *this](const std::vector<Ref>& in, DType) {
      Ref out = zeros_of(s.result());
      s.each([&](int64_t i, int64_t o, double v) {
        out.re(static_cast<size_t>(o)) += in[0].re(static_cast<size_t>(i)) * v;
      });
      return std::vector<Ref>{out};
    };
  }
  Reference backward() const {
    return [s = *this](const std::vector<Ref>& in, DType) {
      Ref out = zeros_of(s.image());
      s.each([&](int64_t i, int64_t o, double v) {
        out.re(static_cast<size_t>(i)) += in[0].re(static_cast<size_t>(o)) * v;
      });
      return std::vector<Ref>{out};
    };
  }
};

// A filter around the place of an output pixel, its weights adding up to one.
auto filtered(double (*filter)(double), bool antialias) {
  return [=](int64_t i, int64_t k, int64_t in, int64_t out) {
    const double step = double(in) / double(out), at = (double(i) + 0.5) * step;
    const double wide = antialias ? std::max(step, 1.0) : 1.0;
    double total = 0;
    for (int64_t j = 0; j < in; ++j)
      total += filter(std::abs(double(j) + 0.5 - at) / wide);
    return filter(std::abs(double(k) + 0.5 - at) / wide) / total;
  };
}
double triangle(double x) { return std::max(0.0, 1 - x); }
double lanczos3(double x) {
  if (x >= 3) return 0;
  if (x < 1e-3) return 1;
  const double p = std::numbers::pi * x;
  return 3 * std::sin(p) * std::sin(p / 3) / (p * p);
}
double gaussian(double x) { return x >= 1.5 ? 0 : std::exp(-2 * x * x); }
double keys(double x) {
  if (x >= 2) return 0;
  return x >= 1 ? ((-0.5 * x + 2.5) * x - 4) * x + 2 : (1.5 * x - 2.5) * x * x + 1;
}
double mitchell(double x) {
  if (x >= 2) return 0;
  return x >= 1 ? ((-7 / 18.0 * x + 2) * x - 10 / 3.0) * x + 16 / 9.0
                : (7 / 6.0 * x - 2) * x * x + 8 / 9.0;
}
// How much of the area of an output pixel an input pixel covers.
double area(int64_t i, int64_t k, int64_t in, int64_t out) {
  const double step = double(in) / double(out);
  const double low = std::max(double(i) * step, double(k));
  const double high = std::min(double(i + 1) * step, double(k + 1));
  return std::max(0.0, high - low) / step;
}

void add_filter(CaseList& cases, const char* kernel, double (*filter)(double),
                bool antialias) {
  const Scaling s{6, 7, 4, 9, filtered(filter, antialias)};
  const Attrs a = owned(image::ScaleAttrs{kernel, antialias});
  const In scale = two_numbers(4 / 6.0, 9 / 7.0, DType::kFloat32),
           move = two_numbers(0, 0, DType::kFloat32);
  cases.push_back({.op = "ScaleAndTranslate",
                   .name = kernel,
                   .inputs = {{.shape = s.image(), .low = 0, .high = 9},
                              two_numbers(4, 9, DType::kInt32),
                              scale,
                              move},
                   .attrs = a,
                   .dtypes = {DType::kFloat32, DType::kFloat64, DType::kUInt8,
                              DType::kInt32, DType::kFloat16, DType::kBFloat16},
                   .reference = s.forward(),
                   .tolerance = 1e-4,
                   .check_gradient = false});
  cases.push_back({.op = "ScaleAndTranslateGrad",
                   .name = kernel,
                   .inputs = {{.shape = s.result()}, {.shape = s.image()}, scale, move},
                   .attrs = a,
                   .dtypes = kFloat,
                   .reference = s.backward(),
                   .tolerance = 1e-4,
                   .check_gradient = false});
}

void add_resizes(CaseList& cases) {
  // Sizes at which TensorFlow's table of weights has the very distances.
  const Scaling s{6, 8, 3, 16, filtered(keys, false)};
  const Attrs a = owned(nn::ResizeAttrs{.half_pixel_centers = true});
  cases.push_back({.op = "ResizeBicubic",
                   .inputs = {{.shape = s.image(), .low = 0, .high = 9},
                              two_numbers(3, 16, DType::kInt32)},
                   .attrs = a,
                   .dtypes = {DType::kFloat32, DType::kUInt8, DType::kBFloat16},
                   .reference = s.forward(),
                   .tolerance = 1e-4,
                   .check_gradient = false});
  cases.push_back({.op = "ResizeBicubicGrad",
                   .inputs = {{.shape = s.result()}, {.shape = s.image()}},
                   .attrs = a,
                   .dtypes = kFloat,
                   .reference = s.backward(),
                   .tolerance = 1e-4,
                   .check_gradient = false});
  const Scaling t{6, 7, 4, 9, area};
  cases.push_back({.op = "ResizeArea",
                   .inputs = {{.shape = t.image(), .low = 0, .high = 9},
                              two_numbers(4, 9, DType::kInt32)},
                   .dtypes = {DType::kFloat32, DType::kInt16, DType::kFloat16},
                   .reference = t.forward(),
                   .tolerance = 1e-4,
                   .check_gradient = false});
}

// ---- Boxes

std::vector<Ref> crop_reference(const std::vector<Ref>& in) {
  const Shape& image = in[0].shape;
  const int64_t h = image[1], w = image[2], c = image[3], out_h = 3, out_w = 4;
  Ref out = zeros_of({in[1].shape[0], out_h, out_w, c});
  size_t o = 0;
  for (int64_t box = 0; box < in[1].shape[0]; ++box) {
    const auto edge = [&](int64_t k) {
      return in[1].re(static_cast<size_t>(box * 4 + k));
    };
    const auto which = static_cast<int64_t>(in[2].re(static_cast<size_t>(box)));
    for (int64_t y = 0; y < out_h; ++y) {
      for (int64_t x = 0; x < out_w; ++x) {
        const double py =
            (edge(0) + (edge(2) - edge(0)) * double(y) / (out_h - 1)) * double(h - 1);
        const double px =
            (edge(1) + (edge(3) - edge(1)) * double(x) / (out_w - 1)) * double(w - 1);
        for (int64_t k = 0; k < c; ++k, ++o) {
          if (py < 0 || py > double(h - 1) || px < 0 || px > double(w - 1)) {
            out.re(o) = 5;
            continue;
          }
          for (int corner = 0; corner < 4; ++corner) {
            const double cy = corner / 2 ? std::ceil(py) : std::floor(py);
            const double cx = corner % 2 ? std::ceil(px) : std::floor(px);
            const double wy =
                corner / 2 ? py - std::floor(py) : 1 - (py - std::floor(py));
            const double wx =
                corner % 2 ? px - std::floor(px) : 1 - (px - std::floor(px));
            const auto at = ((which * h + int64_t(cy)) * w + int64_t(cx)) * c + k;
            out.re(o) += in[0].re(static_cast<size_t>(at)) * wy * wx;
          }
        }
      }
    }
  }
  return {out};
}

In scalar_of(double v, DType dtype) {
  return {.shape = {}, .fixed = {v}, .dtype = dtype};
}
Reference chosen(std::vector<double> indices, std::vector<double> scores) {
  return [=](const std::vector<Ref>&, DType) {
    Ref i = zeros_of({static_cast<int64_t>(indices.size())}), s = i;
    for (size_t k = 0; k < indices.size(); ++k) {
      i.re(k) = indices[k];
      s.re(k) = scores[k];
    }
    return std::vector<Ref>{i, s};
  };
}

void add_boxes(CaseList& cases) {
  cases.push_back(
      {.op = "CropAndResize",
       .inputs = {{.shape = {2, 5, 6, 2}, .low = 0, .high = 9},
                  {.shape = {2, 4},
                   .fixed = {0.1, 0.2, 0.7, 0.9, 0.5, -0.25, 0.8, 0.6},
                   .dtype = DType::kFloat32},
                  {.shape = {2}, .fixed = {1, 0}, .dtype = DType::kInt32},
                  two_numbers(3, 4, DType::kInt32)},
       .attrs = owned(image::CropAndResizeAttrs{.extrapolation_value = 5}),
       .dtypes = {DType::kFloat32, DType::kFloat64, DType::kFloat16, DType::kBFloat16,
                  DType::kUInt8, DType::kInt64},
       .reference = [](const std::vector<Ref>& in, DType) { return crop_reference(in); },
       .tolerance = 1e-4,
       .check_gradient = false});
  // Boxes 0 and 1 overlap by 81/119, box 2 lies apart, box 3 scores too little.
  const In boxes{.shape = {4, 4},
                 .fixed = {0, 0, 1, 1, 0.1, 0.1, 1.1, 1.1, 2, 2, 3, 3, 4, 4, 5, 5},
                 .dtype = DType::kFloat32};
  const In scores{
      .shape = {4}, .fixed = {0.75, 0.875, 0.5, 0.125}, .dtype = DType::kFloat32};
  const auto suppress = [&](const char* op, const char* name, const In& first,
                            double most, double iou, double sigma, Reference reference) {
    cases.push_back(
        {.op = op,
         .name = name,
         .inputs = {first, scores, scalar_of(most, DType::kInt32),
                    scalar_of(iou, DType::kFloat32), scalar_of(0.25, DType::kFloat32),
                    scalar_of(sigma, DType::kFloat32)},
         .dtypes = kFloat,
         .reference = std::move(reference)});
  };
  suppress("NonMaxSuppressionV5", "hard", boxes, 3, 0.5, 0, chosen({1, 2}, {0.875, 0.5}));
  suppress("NonMaxSuppressionV5", "few", boxes, 1, 0.5, 0, chosen({1}, {0.875}));
  const double shared = 0.81 / 1.19, soft = 0.75 * std::exp(-shared * shared / (2 * 0.5));
  suppress("NonMaxSuppressionV5", "soft", boxes, 4, 1, 0.5,
           chosen({1, 2, 0}, {0.875, 0.5, soft}));
  const In overlaps{.shape = {4, 4},
                    .fixed = {1, 0.7, 0, 0, 0.7, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1},
                    .dtype = DType::kFloat32};
  suppress("NonMaxSuppressionWithOverlaps", "", overlaps, 3, 0.5, 0,
           chosen({1, 2}, {0.875, 0.5}));
  cases.push_back(
      {.op = "DrawBoundingBoxesV2",
       .inputs = {{.shape = {1, 5, 5, 3}},
                  {.shape = {1, 1, 4},
                   .fixed = {0.25, 0.25, 0.75, 1},
                   .dtype = DType::kFloat32},
                  {.shape = {1, 3}, .fixed = {9, 8, 7}, .dtype = DType::kFloat32}},
       .dtypes = {DType::kFloat32, DType::kFloat16},
       .reference = [](const std::vector<Ref>& in, DType) {
         Ref out = in[0];
         for (int y = 1; y <= 3; ++y) {
           for (int x = 1; x <= 4; ++x) {
             if (y == 2 && x != 1 && x != 4) continue;
             for (int c = 0; c < 3; ++c) {
               out.re(static_cast<size_t>((y * 5 + x) * 3 + c)) = 9 - c;
             }
           }
         }
         return std::vector<Ref>{out};
       }});
  // Edges that are no places are left of the image, as in TensorFlow.
  const double inf = std::numeric_limits<double>::infinity();
  cases.push_back(
      {.op = "DrawBoundingBoxesV2",
       .name = "far edges",
       .inputs = {{.shape = {1, 5, 5, 3}},
                  {.shape = {1, 3, 4},
                   .fixed = {0.25, inf, 0.75, 0.75, 0.25, 0.25, 1e30, 1, std::nan(""),
                             -1e30, -inf, 0.5},
                   .dtype = DType::kFloat32},
                  {.shape = {1, 3}, .fixed = {9, 8, 7}, .dtype = DType::kFloat32}},
       .dtypes = {DType::kFloat32, DType::kFloat16},
       .reference = [](const std::vector<Ref>& in, DType) {
         Ref out = in[0];
         for (int y = 1; y <= 3; ++y) {
           for (int x = 0; x <= 3; ++x) {
             if (y == 2 && x != 3) continue;
             for (int c = 0; c < 3; ++c) {
               out.re(static_cast<size_t>((y * 5 + x) * 3 + c)) = 9 - c;
             }
           }
         }
         return std::vector<Ref>{out};
       }});
}

}  // namespace

void add_image_cases(CaseList& cases) {
  const std::vector<DType> floats = {DType::kFloat32, DType::kFloat64, DType::kFloat16,
                                     DType::kBFloat16};
  const auto colours = [&](const char* op, void (*map)(const double*, double*)) {
    cases.push_back({.op = op,
                     .inputs = {{.shape = {4, 5, 3}, .low = 0.05, .high = 0.95}},
                     .dtypes = floats,
                     .reference = pixels(map),
                     .tolerance = 1e-4});
  };
  colours("RGBToHSV", to_hsv);
  colours("HSVToRGB", to_rgb);
  cases.push_back({.op = "AdjustHue",
                   .inputs = {{.shape = {4, 5, 3}, .low = 0.05, .high = 0.95},
                              {.shape = {}, .fixed = {0.3}, .dtype = DType::kFloat32}},
                   .dtypes = {DType::kFloat32, DType::kFloat16},
                   .reference = pixels([](const double* in, double* out) {
                     double hsv[3];
                     to_hsv(in, hsv);
                     hsv[0] = std::fmod(hsv[0] + 0.3, 1);
                     to_rgb(hsv, out);
                   }),
                   .tolerance = 1e-4,
                   .check_gradient = false});
  add_filter(cases, "triangle", triangle, true);
  add_filter(cases, "lanczos3", lanczos3, true);
  add_filter(cases, "gaussian", gaussian, false);
  add_filter(cases, "keyscubic", keys, true);
  add_filter(cases, "mitchellcubic", mitchell, false);
  add_resizes(cases);
  add_boxes(cases);
}

}  // namespace tandem::testing
