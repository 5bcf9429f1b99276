// ScaleAndTranslate, ResizeBicubic, ResizeArea: numbers of up to 64 bits; their
// gradients, which are float32. Weights are made on the GPU, in the workspace: only sizes
// go there from the host.
#include <algorithm>
#include <cmath>
#include <map>

#include "kernels/cuda/families.h"
#include "kernels/cuda/image_text.h"
#include "tandem/ops/image.h"
#include "tandem/ops/nn_image.h"

namespace tandem::cuda {

namespace {

/// The layouts are known to device/image_resample.cuh.
struct Axis {
  int64_t in = 0, out = 0, most = 0;
  int64_t *start = nullptr, *count = nullptr;
  float* weights = nullptr;
  int64_t *first = nullptr, *end = nullptr;
  float scale = 1, translation = 0;
};
enum ResampleKind : int32_t {
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
  int32_t kind = 0, antialias = 0, half_pixels = 0;
  float radius = 0;
};

struct ResamplePlan {
  Function clear, weights, by_columns, by_rows;
  int64_t batch = 0, channels = 0;
  Axis rows, columns;
  Sampling sampling;
  bool grad = false;
  int64_t between = 0;  // elements of the images after one of the two passes
  size_t workspace_bytes = 0;
};

struct Filter {
  ResampleKind kind;
  float radius;
};
Filter filter_of(const std::string& name) {
  static const std::map<std::string, Filter> all = {
      {"lanczos1", {kLanczos1, 1}},
      {"lanczos3", {kLanczos3, 3}},
      {"lanczos5", {kLanczos5, 5}},
      {"gaussian", {kGaussian, 1.5f}},
      {"box", {kBox, 1}},
      {"triangle", {kTriangle, 1}},
      {"keyscubic", {kKeysCubic, 2}},
      {"mitchellcubic", {kMitchellCubic, 2}}};
  return all.at(name);
}

// At most how many inputs an output reads: `width` and the ends that rounding may add.
int64_t most_of(const Axis& axis, float width) {
  const double n = std::ceil(static_cast<double>(width)) + 2;
  return n < static_cast<double>(axis.in) ? static_cast<int64_t>(n) : axis.in;
}

void set_filter(const Signature& s, ResamplePlan& p) {
  const auto& attrs = s.attrs.as<image::ScaleAttrs>();
  const Filter filter = filter_of(attrs.kernel_type);
  p.sampling = {.kind = filter.kind,
                .antialias = attrs.antialias,
                .half_pixels = 1,
                .radius = filter.radius};
  const auto* scale = static_cast<const float*>(s.in(2).data);
  const auto* move = static_cast<const float*>(s.in(3).data);
  int at = 0;
  for (Axis* axis : {&p.rows, &p.columns}) {
    axis->scale = scale[at];
    axis->translation = move[at++];
    const float wide = attrs.antialias ? std::max(1 / axis->scale, 1.0f) : 1.0f;
    axis->most = most_of(*axis, 2 * filter.radius * wide);
  }
}
void set_resize(const Signature& s, ResampleKind kind, ResamplePlan& p) {
  const auto& attrs = s.attrs.as<nn::ResizeAttrs>();
  p.sampling = {
      .kind = kind, .antialias = 0, .half_pixels = attrs.half_pixel_centers, .radius = 0};
  for (Axis* axis : {&p.rows, &p.columns}) {
    const auto in = static_cast<float>(axis->in), out = static_cast<float>(axis->out);
    axis->scale = attrs.align_corners && axis->out > 1 ? (in - 1) / (out - 1) : in / out;
    axis->most =
        kind == kBicubic ? std::min<int64_t>(4, axis->in) : most_of(*axis, axis->scale);
  }
}

template <ResampleKind kKind>
ResamplePlan plan_resample(const Signature& s, const Shape& image, const Shape& result,
                           bool grad) {
  ResamplePlan p;
  p.grad = grad;
  p.batch = image[0];
  p.channels = image[3];
  p.rows.in = image[1];
  p.rows.out = result[1];
  p.columns.in = image[2];
  p.columns.out = result[2];
  if constexpr (kKind == kBicubic || kKind == kArea) {
    set_resize(s, kKind, p);
  } else {
    set_filter(s, p);
  }
  p.between = p.batch * p.rows.in * p.columns.out * p.channels;
  int64_t words = 0, floats = p.between;
  for (const Axis* axis : {&p.rows, &p.columns}) {
    words += 2 * axis->out + (grad ? 2 * axis->in : 0);
    floats += axis->out * axis->most;
  }
  p.workspace_bytes =
      static_cast<size_t>(words) * sizeof(int64_t) + static_cast<size_t>(floats) * 4;
  const std::string text =
      image_text(grad ? "float" : type_text(s.in(0).dtype), "image_resample.cuh");
  const auto find = [&](const char* entry) {
    return find_function(s.device, s.op->name, text, entry);
  };
  p.weights = find("make_weights");
  if (grad) {
    p.clear = find("clear_readers");
    p.by_rows = p.by_columns = find("spread");
  } else {
    p.by_columns = find("sample_columns");
    p.by_rows = find("sample_rows");
  }
  return p;
}
template <ResampleKind kKind>
ResamplePlan prepare_forward(const Signature& s) {
  return plan_resample<kKind>(s, s.in(0).shape, s.out().shape, false);
}
template <ResampleKind kKind>
ResamplePlan prepare_resample_grad(const Signature& s) {
  return plan_resample<kKind>(s, s.out().shape, s.in(0).shape, true);
}

void launch_resample(const ResamplePlan& p, const LaunchArgs& a) {
  Axis rows = p.rows, columns = p.columns;
  const int64_t results = p.batch * p.channels * (p.grad ? rows.in : rows.out) *
                          (p.grad ? columns.in : columns.out);
  if (results == 0) return;
  auto* words = static_cast<int64_t*>(a.workspace);
  const auto take = [&](int64_t n) { return std::exchange(words, words + n); };
  for (Axis* axis : {&rows, &columns}) {
    axis->start = take(axis->out);
    axis->count = take(axis->out);
    if (!p.grad) continue;
    axis->first = take(axis->in);
    axis->end = take(axis->in);
  }
  auto* floats = reinterpret_cast<float*>(words);
  rows.weights = floats;
  columns.weights = rows.weights + rows.out * rows.most;
  float* between = columns.weights + columns.out * columns.most;
  const int64_t lines = p.batch * rows.in, row = columns.out * p.channels;
  if (p.grad) {
    launch(p.clear, *a.stream, grid_for(p.clear, rows.in + columns.in), rows, columns);
  }
  launch(p.weights, *a.stream, grid_for(p.weights, rows.out + columns.out, 64), rows,
         columns, p.sampling);
  if (p.grad) {
    launch(p.by_rows, *a.stream, grid_for(p.by_rows, p.between), a.inputs[0], between,
           p.batch, row, rows);
    launch(p.by_columns, *a.stream, grid_for(p.by_columns, results), between,
           a.outputs[0], lines, p.channels, columns);
  } else {
    launch(p.by_columns, *a.stream, grid_for(p.by_columns, p.between), a.inputs[0],
           between, lines, p.channels, columns);
    launch(p.by_rows, *a.stream, grid_for(p.by_rows, results), between, a.outputs[0],
           p.batch, row, rows);
  }
}

}  // namespace

void register_image_resample(Kernels& kernels) {
  constexpr DTypeMask kPixels = kReals & ~mask(DType::kUInt32, DType::kUInt64);
  kernels.add(make_kernel<prepare_forward<kLanczos1>, launch_resample>(
      "ScaleAndTranslate", "cuda.scale_and_translate", kPixels));
  kernels.add(make_kernel<prepare_resample_grad<kLanczos1>, launch_resample>(
      "ScaleAndTranslateGrad", "cuda.scale_and_translate_grad"));
  kernels.add(make_kernel<prepare_forward<kBicubic>, launch_resample>(
      "ResizeBicubic", "cuda.resize.bicubic", kPixels));
  kernels.add(make_kernel<prepare_resample_grad<kBicubic>, launch_resample>(
      "ResizeBicubicGrad", "cuda.resize.bicubic_grad"));
  kernels.add(make_kernel<prepare_forward<kArea>, launch_resample>(
      "ResizeArea", "cuda.resize.area", kPixels));
}

}  // namespace tandem::cuda
