// Cases of projective transforms: half and whole steps, so that float32 coordinates are
// exact.
#include <cmath>

#include "ops/nn_cases.h"
#include "tandem/ops/nn_transform.h"

namespace tandem::testing {

namespace {

constexpr int64_t kProjectedBatch = 2, kProjectedHeight = 5, kProjectedWidth = 4,
                  kProjectedChannels = 2;
constexpr double kFill = 3;

// Where an index outside [0, n) is read, or -1: by walking, one pixel at a time.
int64_t place_inside(int64_t i, int64_t n, const std::string& mode) {
  if (i >= 0 && i < n) return i;
  if (mode == "CONSTANT") return -1;
  if (mode == "NEAREST") return i < 0 ? 0 : n - 1;
  if (mode == "WRAP") return ((i % n) + n) % n;
  const int64_t period = ((i % (2 * n)) + 2 * n) % (2 * n);
  return period < n ? period : 2 * n - 1 - period;
}

std::vector<Ref> projected(const std::vector<Ref>& in, const nn::ProjectiveAttrs& attrs,
                           bool whole_numbers) {
  const auto out_h = static_cast<int64_t>(in[2].re(0)),
             out_w = static_cast<int64_t>(in[2].re(1));
  Ref out = zeros_of({kProjectedBatch, out_h, out_w, kProjectedChannels});
  for (int64_t e = 0; e < out.n(); ++e) {
    const int64_t c = e % kProjectedChannels, x = e / kProjectedChannels % out_w;
    const int64_t y = e / kProjectedChannels / out_w % out_h,
                  b = e / kProjectedChannels / out_w / out_h;
    const int64_t m = in[1].shape[0] == 1 ? 0 : b * 8;
    const auto t = [&](int64_t i) { return in[1].re(m + i); };
    const double k = t(6) * double(x) + t(7) * double(y) + 1;
    const double px = (t(0) * double(x) + t(1) * double(y) + t(2)) / k;
    const double py = (t(3) * double(x) + t(4) * double(y) + t(5)) / k;
    const auto read = [&](double row, double column) {
      const int64_t iy = place_inside(int64_t(row), kProjectedHeight, attrs.fill_mode);
      const int64_t ix = place_inside(int64_t(column), kProjectedWidth, attrs.fill_mode);
      if (iy < 0 || ix < 0) return kFill;
      return in[0].re(
          ((b * kProjectedHeight + iy) * kProjectedWidth + ix) * kProjectedChannels + c);
    };
    if (attrs.interpolation == "NEAREST") {
      out.re(e) = read(std::round(py), std::round(px));
      continue;
    }
    const double fy = std::floor(py), fx = std::floor(px);
    const double value =
        (1 - py + fy) * ((1 - px + fx) * read(fy, fx) + (px - fx) * read(fy, fx + 1)) +
        (py - fy) * ((1 - px + fx) * read(fy + 1, fx) + (px - fx) * read(fy + 1, fx + 1));
    out.re(e) = whole_numbers ? std::trunc(value) : value;
  }
  return {out};
}

void add_projection(CaseList& cases, const char* name, const nn::ProjectiveAttrs& attrs,
                    const std::vector<double>& rows, std::vector<DType> dtypes) {
  const auto n = static_cast<int64_t>(rows.size()) / 8;
  cases.push_back(
      {.op = "ImageProjectiveTransformV3",
       .name = name,
       .inputs = {{.shape = {kProjectedBatch, kProjectedHeight, kProjectedWidth,
                             kProjectedChannels},
                   .low = 0,
                   .high = 9},
                  {.shape = {n, 8}, .fixed = rows, .dtype = DType::kFloat32},
                  {.shape = {2}, .fixed = {6, 5}, .dtype = DType::kInt32},
                  {.shape = {}, .fixed = {kFill}, .dtype = DType::kFloat32}},
       .attrs = Attrs(attrs_ref(attrs)),
       .dtypes = std::move(dtypes),
       .reference = [attrs](const std::vector<Ref>& in,
                            DType t) { return projected(in, attrs, !is_floating(t)); },
       // TensorFlow's gradient is an approximation; tests/python compares it.
       .check_gradient = false});
}

}  // namespace

void add_nn_transform_cases(CaseList& cases) {
  const std::vector<double> shift = {1, 0, -2, 0, 1, 3, 0, 0};
  const std::vector<double> two = {0.5, 0, 1, 0, 2,  -1, 0,   0,
                                   1,   1, 0, 0, -1, 4,  0.5, 0.5};
  const std::vector<double> between = {1, 0, 0.5, 0, 1, -1.25, 0, 0};
  const std::vector<DType> some = {DType::kFloat32, DType::kFloat64};
  const std::vector<DType> all = {DType::kFloat32,  DType::kFloat64, DType::kFloat16,
                                  DType::kBFloat16, DType::kUInt8,   DType::kInt32,
                                  DType::kInt64};
  // Divided coordinates are not exact in float32, whatever the images are.
  add_projection(cases, "constant", {"BILINEAR", "CONSTANT"}, two,
                 {DType::kFloat32, DType::kFloat16, DType::kBFloat16});
  add_projection(cases, "between pixels", {"BILINEAR", "CONSTANT"}, between, all);
  add_projection(cases, "nearest pixel", {"NEAREST", "CONSTANT"}, shift, all);
  add_projection(cases, "reflect", {"NEAREST", "REFLECT"}, shift, some);
  add_projection(cases, "nearest", {"NEAREST", "NEAREST"}, shift, some);
  // Beyond twice the image TensorFlow's wrapping is its own: see tests/python.
  add_projection(cases, "wrap", {"NEAREST", "WRAP"}, {1, 0, -2, 0, 1, 2, 0, 0}, some);
}

}  // namespace tandem::testing
