// Resizing by filters: every output row and column is a weighted sum of a few input
// ones, so an image is sampled along rows and then along columns. Inputs: numbers of up
// to 64 bits, float16 and bfloat16 through float32; results are float32.
#include <algorithm>
#include <cmath>
#include <numbers>
#include <vector>

#include "base/parallel.h"
#include "kernels/cpu/image_register.h"
#include "kernels/cpu/nn_through_float.h"
#include "kernels/cpu/resize_scale.h"
#include "op/kernel.h"
#include "tandem/ops/image.h"
#include "tandem/ops/nn_image.h"

namespace tandem::cpu {

namespace {

/// The input positions of one output position, and their weights.
struct Span {
  int64_t start = 0;
  std::vector<float> weights;
};
using Spans = std::vector<Span>;

// ---- Filters: weight by distance

float lanczos(float x, float radius) {
  if (x >= radius) return 0;
  if (x <= 1e-3f) return 1;
  const float pi = std::numbers::pi_v<float>;
  return radius * std::sin(pi * x) * std::sin(pi * x / radius) / (pi * pi * x * x);
}
float keys_cubic(float x) {
  if (x >= 2) return 0;
  if (x >= 1) return ((-0.5f * x + 2.5f) * x - 4) * x + 2;
  return ((1.5f * x - 2.5f) * x) * x + 1;
}
float mitchell(float x) {
  if (x >= 2) return 0;
  if (x >= 1) return (((-7.0f / 18) * x + 2) * x - 10.0f / 3) * x + 16.0f / 9;
  return (((7.0f / 6) * x - 2) * x) * x + 8.0f / 9;
}

struct Filter {
  float radius = 1;
  float (*weight)(float) = nullptr;
};
Filter filter_of(const std::string& name) {
  if (name == "lanczos1") return {1, [](float x) { return lanczos(x, 1); }};
  if (name == "lanczos3") return {3, [](float x) { return lanczos(x, 3); }};
  if (name == "lanczos5") return {5, [](float x) { return lanczos(x, 5); }};
  if (name == "gaussian") {
    return {1.5f, [](float x) {
              constexpr float kSigma = 0.5f;
              return x >= 1.5f ? 0.0f : std::exp(-x * x / (2 * kSigma * kSigma));
            }};
  }
  if (name == "box") {
    return {1, [](float x) { return x < 0.5f ? 1.0f : x == 0.5f ? 0.5f : 0.0f; }};
  }
  if (name == "triangle") return {1, [](float x) { return x < 1 ? 1 - x : 0.0f; }};
  if (name == "keyscubic") return {2, keys_cubic};
  return {2, mitchell};
}

Spans filtered(int64_t in, int64_t out, float scale, float translation,
               const image::ScaleAttrs& attrs) {
  const Filter filter = filter_of(attrs.kernel_type);
  const float step = 1 / scale, shift = -step * translation;
  const float wide = attrs.antialias ? std::max(step, 1.0f) : 1.0f;
  const float reach = filter.radius * wide;
  Spans spans(static_cast<size_t>(out));
  for (int64_t i = 0; i < out; ++i) {
    const float at = (static_cast<float>(i) + 0.5f) * step + shift;
    if (at < 0 || at > static_cast<float>(in)) continue;
    const auto low = static_cast<int64_t>(std::ceil(at - reach - 0.5f));
    const auto high = static_cast<int64_t>(std::floor(at + reach - 0.5f));
    Span& span = spans[static_cast<size_t>(i)];
    span.start = std::clamp<int64_t>(low, 0, in - 1);
    float total = 0;
    for (int64_t k = span.start; k <= std::clamp<int64_t>(high, 0, in - 1); ++k) {
      const float distance = std::abs(static_cast<float>(k) + 0.5f - at) / wide;
      span.weights.push_back(filter.weight(distance));
      total += span.weights.back();
    }
    if (std::abs(total) < 1000 * std::numeric_limits<float>::min()) continue;
    for (float& w : span.weights) w /= total;
  }
  return spans;
}

// TensorFlow looks weights up in a table of this many steps between two pixels, and its
// numbers are wanted.
constexpr float kBicubicSteps = 1024;

Spans bicubic(int64_t in, int64_t out, const nn::ResizeAttrs& attrs) {
  const float scale = resize_scale(in, out, attrs.align_corners);
  // Legacy sampling has a sharper filter and repeats the border.
  const bool keys = attrs.half_pixel_centers;
  const auto weight = [keys](float x) {
    if (keys) return keys_cubic(x);
    constexpr float a = -0.75f;
    return x < 1 ? ((a + 2) * x - (a + 3)) * x * x + 1
                 : ((a * x - 5 * a) * x + 8 * a) * x - 4 * a;
  };
  Spans spans(static_cast<size_t>(out));
  for (int64_t i = 0; i < out; ++i) {
    const auto p = static_cast<float>(i);
    const float at = keys ? (p + 0.5f) * scale - 0.5f : p * scale;
    const float floor = std::floor(at);
    const float t = std::nearbyint((at - floor) * kBicubicSteps) / kBicubicSteps;
    const auto base = static_cast<int64_t>(floor);
    const float parts[] = {weight(1 + t), weight(t), weight(1 - t), weight(2 - t)};
    const int64_t low = std::clamp<int64_t>(base - 1, 0, in - 1);
    const int64_t high = std::clamp<int64_t>(base + 2, 0, in - 1);
    Span span{low, std::vector<float>(static_cast<size_t>(high - low + 1), 0.0f)};
    float total = 0;
    for (int k = 0; k < 4; ++k) {
      const int64_t from = base - 1 + k;
      const bool outside = from < 0 || from >= in;
      if (outside && keys) continue;
      span.weights[static_cast<size_t>(std::clamp<int64_t>(from, 0, in - 1) - low)] +=
          parts[k];
      total += parts[k];
    }
    if (keys && std::abs(total) > 1000 * std::numeric_limits<float>::min()) {
      for (float& w : span.weights) w /= total;
    }
    spans[static_cast<size_t>(i)] = std::move(span);
  }
  return spans;
}

// Shares of input pixels in the area of an output pixel.
Spans areas(int64_t in, int64_t out, const nn::ResizeAttrs& attrs) {
  const float scale = resize_scale(in, out, attrs.align_corners);
  Spans spans(static_cast<size_t>(out));
  for (int64_t i = 0; i < out; ++i) {
    const float from = static_cast<float>(i) * scale;
    const float to = static_cast<float>(i + 1) * scale;
    Span& span = spans[static_cast<size_t>(i)];
    const auto low = static_cast<int64_t>(std::floor(from));
    const auto high = static_cast<int64_t>(std::ceil(to));
    span.start = std::clamp<int64_t>(low, 0, in - 1);
    for (int64_t k = low; k < high; ++k) {
      const auto x = static_cast<float>(k);
      const float part =
          x < from ? (x + 1 > to ? scale : x + 1 - from) : (x + 1 > to ? to - x : 1.0f);
      const auto place =
          static_cast<size_t>(std::clamp<int64_t>(k, 0, in - 1) - span.start);
      if (span.weights.size() <= place) span.weights.resize(place + 1);
      span.weights[place] += part / scale;
    }
  }
  return spans;
}

// ---- Kernels

struct ScalePlan {
  int64_t batch = 0, in_h = 0, in_w = 0, out_h = 0, out_w = 0, channels = 0;
  Spans rows, columns;
  size_t workspace_bytes = 0;  // images after one of the two passes
};

ScalePlan plan_scale(const Shape& image, const Shape& result) {
  ScalePlan p{image[0], image[1], image[2], result[1], result[2], image[3], {}, {}, 0};
  p.workspace_bytes =
      sizeof(float) * static_cast<size_t>(p.batch * p.in_h * p.out_w * p.channels);
  return p;
}

enum class How { kFilter, kBicubic, kArea };

template <How kHow>
void set_spans(const Signature& s, int scale_input, ScalePlan& p) {
  if constexpr (kHow == How::kFilter) {
    const auto& attrs = s.attrs.as<image::ScaleAttrs>();
    const auto* scale = static_cast<const float*>(s.in(scale_input).data);
    const auto* move = static_cast<const float*>(s.in(scale_input + 1).data);
    p.rows = filtered(p.in_h, p.out_h, scale[0], move[0], attrs);
    p.columns = filtered(p.in_w, p.out_w, scale[1], move[1], attrs);
  } else {
    const auto& attrs = s.attrs.as<nn::ResizeAttrs>();
    const auto make = kHow == How::kBicubic ? bicubic : areas;
    p.rows = make(p.in_h, p.out_h, attrs);
    p.columns = make(p.in_w, p.out_w, attrs);
  }
}

template <How kHow>
ScalePlan prepare_scale(const Signature& s) {
  ScalePlan p = plan_scale(s.in(0).shape, s.out().shape);
  set_spans<kHow>(s, 2, p);
  return p;
}
template <How kHow>
ScalePlan prepare_grad(const Signature& s) {
  ScalePlan p = plan_scale(s.out().shape, s.in(0).shape);
  set_spans<kHow>(s, 2, p);
  return p;
}

int64_t grain(int64_t row) {
  return std::max<int64_t>(1, 16384 / std::max<int64_t>(1, row));
}

template <class T>
void launch_scale(const ScalePlan& p, const LaunchArgs& a) {
  const int64_t c = p.channels, row = p.out_w * c;
  auto* between = static_cast<float*>(a.workspace);  // [batch, in_h, out_w, channels]
  parallel_for(p.batch * p.in_h, grain(row), [&](int64_t b, int64_t e) {
    for (int64_t y = b; y < e; ++y) {
      const T* from = a.in<T>(0) + y * p.in_w * c;
      float* to = between + y * row;
      std::fill_n(to, row, 0.0f);
      for (const Span& span : p.columns) {
        const T* pixel = from + span.start * c;
        for (const float w : span.weights) {
          for (int64_t k = 0; k < c; ++k) to[k] += w * static_cast<float>(pixel[k]);
          pixel += c;
        }
        to += c;
      }
    }
  });
  parallel_for(p.batch * p.out_h, grain(row), [&](int64_t b, int64_t e) {
    for (int64_t y = b; y < e; ++y) {
      const Span& span = p.rows[static_cast<size_t>(y % p.out_h)];
      const float* from = between + (y / p.out_h * p.in_h + span.start) * row;
      float* to = a.out<float>() + y * row;
      std::fill_n(to, row, 0.0f);
      for (const float w : span.weights) {
#pragma omp simd
        for (int64_t k = 0; k < row; ++k) to[k] += w * from[k];
        from += row;
      }
    }
  });
}

// The same sums, from outputs back to inputs. Images are independent of one another.
void launch_grad(const ScalePlan& p, const LaunchArgs& a) {
  const int64_t c = p.channels, row = p.out_w * c;
  auto* between = static_cast<float*>(a.workspace);
  parallel_for(p.batch, 1, [&](int64_t b, int64_t e) {
    for (int64_t image = b; image < e; ++image) {
      float* rows = between + image * p.in_h * row;
      std::fill_n(rows, p.in_h * row, 0.0f);
      const float* g = a.in<float>(0) + image * p.out_h * row;
      for (const Span& span : p.rows) {
        float* to = rows + span.start * row;
        for (const float w : span.weights) {
          for (int64_t k = 0; k < row; ++k) to[k] += w * g[k];
          to += row;
        }
        g += row;
      }
      float* out = a.out<float>() + image * p.in_h * p.in_w * c;
      std::fill_n(out, p.in_h * p.in_w * c, 0.0f);
      for (int64_t y = 0; y < p.in_h; ++y) {
        const float* from = rows + y * row;
        for (const Span& span : p.columns) {
          float* to = out + (y * p.in_w + span.start) * c;
          for (const float w : span.weights) {
            for (int64_t k = 0; k < c; ++k) to[k] += w * from[k];
            to += c;
          }
          from += c;
        }
      }
    }
  });
}

template <How kHow, class... T>
void add_scale(KernelRegistry& registry, const std::string& op) {
  (registry.add(make_kernel<prepare_scale<kHow>, launch_scale<T>>(
       op, "cpu." + op + "." + std::string(dtype_name(dtype_of<T>)), mask(dtype_of<T>))),
   ...);
  registry.add(make_half_kernel<prepare_scale<kHow>, launch_scale<float>>(
      op, "cpu." + op + ".half"));
}
template <How kHow>
void add_all(KernelRegistry& registry, const std::string& op) {
  add_scale<kHow, float, double, uint8_t, int8_t, uint16_t, int16_t, int32_t, int64_t>(
      registry, op);
}

}  // namespace

void register_image_scale_kernels(KernelRegistry& registry) {
  add_all<How::kFilter>(registry, "ScaleAndTranslate");
  add_all<How::kBicubic>(registry, "ResizeBicubic");
  add_all<How::kArea>(registry, "ResizeArea");
  registry.add(make_kernel<prepare_grad<How::kFilter>, launch_grad>(
      "ScaleAndTranslateGrad", "cpu.ScaleAndTranslateGrad"));
  registry.add(make_kernel<prepare_grad<How::kBicubic>, launch_grad>(
      "ResizeBicubicGrad", "cpu.ResizeBicubicGrad"));
}

}  // namespace tandem::cpu
