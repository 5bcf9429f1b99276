// Cases of image resizing.
#include <algorithm>
#include <cmath>

#include "ops/nn_cases.h"
#include "tandem/ops/nn_image.h"

namespace tandem::testing {

namespace {

struct Resize {
  const char* name;
  int64_t h, w, out_h, out_w;
  nn::ResizeAttrs attrs;

  static constexpr int64_t kBatch = 2, kChannels = 3;
  Shape image() const { return {kBatch, h, w, kChannels}; }
  Shape result() const { return {kBatch, out_h, out_w, kChannels}; }

  double position(int64_t i, int64_t in, int64_t out, bool nearest) const {
    const double scale = attrs.align_corners && out > 1 ? double(in - 1) / double(out - 1)
                                                        : double(in) / double(out);
    if (!attrs.half_pixel_centers) return double(i) * scale;
    return (double(i) + 0.5) * scale - (nearest ? 0 : 0.5);
  }
  /// visit(element of the image, element of the result, weight)
  template <class Visit>
  void bilinear(Visit visit) const {
    for (int64_t b = 0; b < kBatch; ++b) {
      for (int64_t y = 0; y < out_h; ++y) {
        for (int64_t x = 0; x < out_w; ++x) {
          const double py = position(y, h, out_h, false),
                       px = position(x, w, out_w, false);
          const double fy = py - std::floor(py), fx = px - std::floor(px);
          for (int corner = 0; corner < 4; ++corner) {
            const auto at = [](double p, bool high, int64_t n) {
              return std::clamp<int64_t>(
                  static_cast<int64_t>(high ? std::ceil(p) : std::floor(p)), 0, n - 1);
            };
            const int64_t iy = at(py, corner / 2, h), ix = at(px, corner % 2, w);
            const double weight = (corner / 2 ? fy : 1 - fy) * (corner % 2 ? fx : 1 - fx);
            for (int64_t c = 0; c < kChannels; ++c) {
              visit(((b * h + iy) * w + ix) * kChannels + c,
                    ((b * out_h + y) * out_w + x) * kChannels + c, weight);
            }
          }
        }
      }
    }
  }
  template <class Visit>
  void nearest(Visit visit) const {
    for (int64_t b = 0; b < kBatch; ++b) {
      for (int64_t y = 0; y < out_h; ++y) {
        for (int64_t x = 0; x < out_w; ++x) {
          const auto at = [this](double p, int64_t n) {
            return std::clamp<int64_t>(
                static_cast<int64_t>(attrs.align_corners ? std::round(p) : std::floor(p)),
                0, n - 1);
          };
          const int64_t iy = at(position(y, h, out_h, true), h),
                        ix = at(position(x, w, out_w, true), w);
          for (int64_t c = 0; c < kChannels; ++c) {
            visit(((b * h + iy) * w + ix) * kChannels + c,
                  ((b * out_h + y) * out_w + x) * kChannels + c);
          }
        }
      }
    }
  }
};

In height_and_width(int64_t h, int64_t w) {
  return {.shape = {2}, .fixed = {double(h), double(w)}, .dtype = DType::kInt32};
}

void add_resize(CaseList& cases, const Resize& r) {
  const Attrs attrs(attrs_ref(r.attrs));
  const std::vector<DType> all = {
      DType::kFloat32, DType::kFloat64, DType::kFloat16, DType::kBFloat16, DType::kUInt8,
      DType::kInt8,    DType::kInt16,   DType::kUInt16,  DType::kInt32,    DType::kInt64};
  const std::vector<DType> floats = {all.begin(), all.begin() + 4};
  const In image{.shape = r.image(), .low = 0, .high = 9};
  // The result is float32: differences in float64 are not fine enough for it.
  cases.push_back({.op = "ResizeBilinear",
                   .name = r.name,
                   .inputs = {image, height_and_width(r.out_h, r.out_w)},
                   .attrs = attrs,
                   .dtypes = all,
                   .reference =
                       [r](const std::vector<Ref>& in, DType) {
                         Ref out = zeros_of(r.result());
                         r.bilinear([&](int64_t i, int64_t o, double weight) {
                           out.re(o) += in[0].re(i) * weight;
                         });
                         return std::vector<Ref>{out};
                       },
                   .check_gradient = false});
  cases.push_back(
      {.op = "ResizeBilinearGrad",
       .name = r.name,
       .inputs = {{.shape = r.result(), .dtype = DType::kFloat32}, {.shape = r.image()}},
       .attrs = attrs,
       .dtypes = {DType::kFloat32, DType::kFloat16, DType::kBFloat16},
       .reference =
           [r](const std::vector<Ref>& in, DType) {
             Ref out = zeros_of(r.image());
             r.bilinear([&](int64_t i, int64_t o, double weight) {
               out.re(i) += in[0].re(o) * weight;
             });
             return std::vector<Ref>{out};
           },
       .check_gradient = false});
  cases.push_back({.op = "ResizeNearestNeighbor",
                   .name = r.name,
                   .inputs = {image, height_and_width(r.out_h, r.out_w)},
                   .attrs = attrs,
                   .dtypes = all,
                   .reference = [r](const std::vector<Ref>& in, DType) {
                     Ref out = zeros_of(r.result());
                     r.nearest([&](int64_t i, int64_t o) { out.re(o) = in[0].re(i); });
                     return std::vector<Ref>{out};
                   }});
  cases.push_back({.op = "ResizeNearestNeighborGrad",
                   .name = r.name,
                   .inputs = {{.shape = r.result()}, height_and_width(r.h, r.w)},
                   .attrs = attrs,
                   .dtypes = floats,
                   .reference = [r](const std::vector<Ref>& in, DType) {
                     Ref out = zeros_of(r.image());
                     r.nearest([&](int64_t i, int64_t o) { out.re(i) += in[0].re(o); });
                     return std::vector<Ref>{out};
                   }});
}

}  // namespace

void add_nn_image_cases(CaseList& cases) {
  add_resize(cases, {"half pixel", 4, 5, 7, 8, {.half_pixel_centers = true}});
  add_resize(cases, {"half pixel, smaller", 6, 7, 4, 3, {.half_pixel_centers = true}});
  add_resize(cases, {"align corners", 3, 4, 6, 5, {.align_corners = true}});
  add_resize(cases, {"legacy", 4, 3, 6, 7, {}});
  add_resize(cases, {"many readers", 2, 1, 19, 16, {.half_pixel_centers = true}});
  add_resize(cases, {"few readers", 19, 16, 2, 1, {}});
  add_resize(cases, {"one pixel, corners", 1, 1, 4, 3, {.align_corners = true}});
}

}  // namespace tandem::testing
