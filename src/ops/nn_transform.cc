// Projective transforms of images.
#include "tandem/ops/nn_transform.h"

#include <fmt/format.h>

#include "op/emitter.h"
#include "op/op_def.h"
#include "ops/nn_register.h"
#include "tandem/ops.h"

namespace tandem {

namespace {

using nn::ProjectiveAttrs;

void check_modes(InferContext& c) {
  const auto& a = c.attrs<ProjectiveAttrs>();
  if (a.interpolation != "NEAREST" && a.interpolation != "BILINEAR") {
    c.fail(fmt::format("Invalid interpolation {}. Supported types: NEAREST, BILINEAR",
                       a.interpolation));
  }
  for (const char* mode : {"CONSTANT", "REFLECT", "WRAP", "NEAREST"}) {
    if (a.fill_mode == mode) return;
  }
  c.fail(fmt::format("Invalid mode {}. Supported types: REFLECT, WRAP, CONSTANT, NEAREST",
                     a.fill_mode));
}

void infer_projective(InferContext& c) {
  check_modes(c);
  c.rank(0, 4);
  c.rank(1, 2);
  c.rank(3, 0);
  const Shape &images = c.shape(0), &transforms = c.shape(1);
  if (transforms.has_rank()) {
    const bool fits = transforms[0] < 0 || transforms[0] == 1 || !images.has_rank() ||
                      images[0] < 0 || images[0] == transforms[0];
    if (!fits || (transforms[1] >= 0 && transforms[1] != 8)) {
      c.fail(
          fmt::format("Input transform should be num_images x 8 or 1 x 8, got {} for "
                      "images {}",
                      transforms.debug_str(), images.debug_str()));
    }
  }
  const TensorInfo& size = c.input(2);
  if (size.shape.has_rank() &&
      (size.shape.rank() != 1 || (size.shape[0] >= 0 && size.shape[0] != 2))) {
    c.fail(fmt::format("output shape must be 1-dimensional with two elements: {}",
                       size.shape.debug_str()));
  }
  Shape out = images.has_rank() ? images : Shape::unknown_of_rank(4);
  for (int k = 0; k < 2; ++k) {
    const int64_t v = size.has_value ? size.value[static_cast<size_t>(k)] : kUnknownValue;
    if (v != kUnknownValue && v <= 0) {
      c.fail(fmt::format("new width and height must be positive, got {}", v));
    }
    out.set(1 + k, v == kUnknownValue ? kUnknownDim : v);
  }
  c.add_output(c.dtype(0), out);
}

// The transform back: rows of eight as 3x3 matrices whose last element is 1.
Tensor inverse(const Tensor& transforms) {
  const Tensor one = ones_like(slice(transforms, {0, 0}, {-1, 1}));
  const Tensor whole = concat({transforms, one}, {.axis = 1});
  const Tensor back = reshape(linalg::inv(reshape(whole, Shape{-1, 3, 3})), Shape{-1, 9});
  return slice(back, {0, 0}, {-1, 8}) / slice(back, {0, 8}, {-1, 1});
}

// TensorFlow's: the gradient image is transformed back. It is exact where pixels map to
// pixels.
void grad_projective(GradContext& c) {
  static const OpHandle op("ImageProjectiveTransformV3");
  if (!c.needs(0) || !is_floating(c.input(0).dtype())) return;
  const Tensor size = slice(c.shape_of_input(0), {1}, {2});
  c.set(0, emit(op, {c.grad(), inverse(c.input(1)), size, c.input(3)},
                c.attrs<ProjectiveAttrs>()));
}

Cost projective_cost(const Signature& s) {
  Cost cost = default_cost(s);
  cost.flops = 20.0 * static_cast<double>(s.out().shape.num_elements());
  return cost;
}

}  // namespace

void register_nn_transform_ops(OpTable& table) {
  table.add({.name = "ImageProjectiveTransformV3",
             .doc = "Applies a projective transform to each image.",
             .types = {{'T', mask(DType::kUInt8, DType::kInt32, DType::kInt64) | kFloats},
                       {'F', mask(DType::kFloat32)},
                       {'S', mask(DType::kInt32)}},
             .inputs = {{.name = "images"},
                        {.name = "transforms", .type = 'F'},
                        {.name = "output_shape", .type = 'S', .host = true},
                        {.name = "fill_value", .type = 'F'}},
             .attrs = &attrs_type<ProjectiveAttrs>(),
             .infer = infer_projective,
             .gradient = grad_projective,
             .grad_inputs = 0b1010,
             .grad_outputs = 0,
             .cost = projective_cost});
}

namespace nn {

Tensor projective_transform(const Tensor& images, const Tensor& transforms,
                            const Tensor& output_shape, const Tensor& fill_value,
                            ProjectiveAttrs attrs) {
  static const OpHandle op("ImageProjectiveTransformV3");
  return emit(op, {images, transforms, output_shape, fill_value}, attrs);
}

}  // namespace nn

}  // namespace tandem
