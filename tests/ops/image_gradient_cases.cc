// Cases of the gradients of images: of cutting boxes out, of colours, and of random
// boxes. References are the definitions differentiated by hand in float64, or known
// answers.
#include "ops/image_gradient_cases.h"

#include <algorithm>
#include <cmath>
#include <complex>

#include "ops/case_parts.h"
#include "tandem/ops/image.h"
#include "tandem/ops/image_sample.h"

namespace tandem::testing {

namespace {

constexpr int64_t kImageHeight = 5, kImageWidth = 6, kImageChannels = 2, kRows = 3,
                  kColumns = 4;

struct Corner {
  int64_t y, x;
  double weight, by_y, by_x;  // of a pixel, and how it moves with the place
};

// The four pixels that an output pixel is made of; none outside of the image.
std::vector<Corner> corners(const double* box, int64_t i, int64_t j) {
  const double y =
      (box[0] + (box[2] - box[0]) * double(i) / (kRows - 1)) * (kImageHeight - 1);
  const double x =
      (box[1] + (box[3] - box[1]) * double(j) / (kColumns - 1)) * (kImageWidth - 1);
  if (y < 0 || y > kImageHeight - 1 || x < 0 || x > kImageWidth - 1) return {};
  const double y0 = std::floor(y), x0 = std::floor(x), wy = y - y0, wx = x - x0;
  std::vector<Corner> found;
  for (int k = 0; k < 4; ++k) {
    const bool low = k / 2, right = k % 2;
    const double vy = low ? wy : 1 - wy, vx = right ? wx : 1 - wx;
    found.push_back({int64_t(low ? std::ceil(y) : y0), int64_t(right ? std::ceil(x) : x0),
                     vy * vx, (low ? 1 : -1) * vx, (right ? 1 : -1) * vy});
  }
  return found;
}

// Calls visit(box, image, output element, channel, row, column, corners of the place).
template <class Visit>
void each_output(const Ref& boxes, const Ref& images, const Visit& visit) {
  size_t at = 0;
  for (int64_t b = 0; b < boxes.shape[0]; ++b) {
    double box[4];
    for (size_t k = 0; k < 4; ++k) box[k] = boxes.re(static_cast<size_t>(4 * b) + k);
    const auto image = static_cast<int64_t>(images.re(static_cast<size_t>(b)));
    for (int64_t i = 0; i < kRows; ++i) {
      for (int64_t j = 0; j < kColumns; ++j) {
        const std::vector<Corner> around = corners(box, i, j);
        for (int64_t c = 0; c < kImageChannels; ++c, ++at)
          visit(b, image, at, c, i, j, around);
      }
    }
  }
}

size_t pixel(int64_t image, int64_t y, int64_t x, int64_t c) {
  return static_cast<size_t>(
      ((image * kImageHeight + y) * kImageWidth + x) * kImageChannels + c);
}

std::vector<Ref> image_gradient(const std::vector<Ref>& in, DType) {
  Ref out = zeros_of({2, kImageHeight, kImageWidth, kImageChannels});
  each_output(in[1], in[2],
              [&](int64_t, int64_t image, size_t at, int64_t c, int64_t, int64_t,
                  const std::vector<Corner>& around) {
                for (const Corner& k : around) {
                  out.re(pixel(image, k.y, k.x, c)) += in[0].re(at) * k.weight;
                }
              });
  return {out};
}

std::vector<Ref> boxes_gradient(const std::vector<Ref>& in, DType) {
  Ref out = zeros_of({in[2].shape[0], 4});
  each_output(in[2], in[3],
              [&](int64_t b, int64_t image, size_t at, int64_t c, int64_t i, int64_t j,
                  const std::vector<Corner>& around) {
                double dy = 0, dx = 0;
                for (const Corner& k : around) {
                  const double value = in[1].re(pixel(image, k.y, k.x, c));
                  dy += value * k.by_y;
                  dx += value * k.by_x;
                }
                const double down = double(i) / (kRows - 1),
                             across = double(j) / (kColumns - 1), g = in[0].re(at);
                const auto first = static_cast<size_t>(4 * b);
                out.re(first) += g * dy * (1 - down) * (kImageHeight - 1);
                out.re(first + 2) += g * dy * down * (kImageHeight - 1);
                out.re(first + 1) += g * dx * (1 - across) * (kImageWidth - 1);
                out.re(first + 3) += g * dx * across * (kImageWidth - 1);
              });
  return {out};
}

// The definition of hue, saturation and value, of complex numbers: an imaginary part that
// is very small comes out multiplied by the derivative.
void to_complex_hsv(const Complex* in, Complex* out) {
  const auto less = [](const Complex& a, const Complex& b) {
    return a.real() < b.real();
  };
  const Complex top = std::max({in[0], in[1], in[2]}, less),
                low = std::min({in[0], in[1], in[2]}, less), range = top - low;
  Complex hue = top == in[0]   ? (in[1] - in[2]) / range
                : top == in[1] ? (in[2] - in[0]) / range + 2.0
                               : (in[0] - in[1]) / range + 4.0;
  if (hue.real() < 0) hue += 6.0;
  out[0] = hue / 6.0;
  out[1] = range / top;
  out[2] = top;
}
std::vector<Ref> colour_gradient(const std::vector<Ref>& in, DType) {
  Ref out = zeros_of(in[0].shape);
  constexpr double kStep = 1e-100;
  for (size_t p = 0; p < in[0].values.size(); p += 3) {
    for (size_t k = 0; k < 3; ++k) {
      Complex at[3], hsv[3];
      for (size_t c = 0; c < 3; ++c) at[c] = in[0].re(p + c);
      at[k] += Complex(0, kStep);
      to_complex_hsv(at, hsv);
      for (size_t c = 0; c < 3; ++c) {
        out.re(p + k) += in[1].re(p + c) * hsv[c].imag() / kStep;
      }
    }
  }
  return {out};
}

}  // namespace

void add_image_gradient_cases(CaseList& cases) {
  // No sample lies on a row or column of the image, where the slope jumps.
  const In boxes{.shape = {2, 4},
                 .fixed = {0.1, 0.22, 0.7, 0.9, 0.55, -0.25, 0.8, 0.63},
                 .dtype = DType::kFloat32};
  const In images{.shape = {2}, .fixed = {1, 0}, .dtype = DType::kInt32};
  const In grads{.shape = {2, kRows, kColumns, kImageChannels}};
  const std::vector<DType> single = {DType::kFloat32};
  cases.push_back({.op = "CropAndResizeGradImage",
                   .inputs = {grads,
                              boxes,
                              images,
                              {.shape = {4},
                               .fixed = {2, kImageHeight, kImageWidth, kImageChannels},
                               .dtype = DType::kInt32}},
                   .dtypes = single,
                   .reference = image_gradient,
                   .tolerance = 1e-4});
  cases.push_back({.op = "CropAndResizeGradBoxes",
                   .inputs = {grads,
                              {.shape = {2, kImageHeight, kImageWidth, kImageChannels}},
                              boxes,
                              images},
                   .dtypes = single,
                   .reference = boxes_gradient,
                   .tolerance = 1e-3});
  cases.push_back(
      {.op = "RGBToHSVGrad",
       .inputs = {{.shape = {4, 3},
                   .fixed = {0.2, 0.5, 0.9, 0.7, 0.3, 0.1, 0.4, 0.9, 0.6, 0.8, 0.25,
                             0.5}},
                  {.shape = {4, 3}}},
       .dtypes = {DType::kFloat32, DType::kFloat64, DType::kFloat16, DType::kBFloat16},
       .reference = colour_gradient,
       .tolerance = 1e-4});
  // Every word 2^31: the least ratio, then 16 + 23 rows of 16 to 40, 29 columns, and
  // column 2 of 21.
  image::SampleBoxAttrs attrs;
  attrs.least_area = 0.1;
  cases.push_back(
      {.op = "SampleBoxFromWords",
       .inputs = {{.shape = {3}, .fixed = {40, 50, 3}, .dtype = DType::kInt32},
                  {.shape = {1, 1, 4}, .fixed = {0, 0, 1, 1}, .dtype = DType::kFloat32},
                  {.shape = {64},
                   .fixed = std::vector<double>(64, 2147483648.0),
                   .dtype = DType::kUInt32}},
       .attrs = Attrs(attrs_ref(attrs)),
       .dtypes = {DType::kInt32},
       .reference = [](const std::vector<Ref>&, DType) {
         return std::vector<Ref>{{{3}, {0, 2, 0}, {}},
                                 {{3}, {39, 29, -1}, {}},
                                 {{1, 1, 4}, {0, 0.04, 0.975, 0.62}, {}}};
       }});
}

}  // namespace tandem::testing
