// Resizing of images, bilinear and nearest neighbour.
#include <fmt/format.h>

#include "op/emitter.h"
#include "op/op_def.h"
#include "ops/expected_shape.h"
#include "ops/image_size.h"
#include "ops/nn_register.h"
#include "tandem/ops.h"

namespace tandem {

namespace {

using nn::ResizeAttrs;

// images [b, h, w, c] with height and width replaced by the values of input i.
Shape resized(InferContext& c, const Shape& images, int i) {
  const auto& attrs = c.attrs<ResizeAttrs>();
  if (attrs.align_corners && attrs.half_pixel_centers) {
    c.fail("If half_pixel_centers is True, align_corners must be False.");
  }
  return with_size(c, images, i);
}

void infer_bilinear(InferContext& c) {
  c.add_output(DType::kFloat32, resized(c, c.shape(0), 1));
}
void infer_nearest(InferContext& c) {
  c.add_output(c.dtype(0), resized(c, c.shape(0), 1));
}
void infer_nearest_grad(InferContext& c) {
  c.add_output(c.dtype(0), resized(c, c.shape(0), 1));
}
void infer_bilinear_grad(InferContext& c) {
  for (int i = 0; i < 2; ++i) c.rank(i, 4);
  const Shape &grads = c.shape(0), &image = c.shape(1);
  c.require(!grads.has_rank() || (grads[1] != 0 && grads[2] != 0),
            "grads must have pixels");
  if (image.has_rank()) {
    expect_shape(c, 0, {image[0], kUnknownDim, kUnknownDim, image[3]});
    c.require(image[1] != 0 && image[2] != 0, "original_image must have pixels");
  }
  c.add_output(c.dtype(1), image.has_rank() ? image : Shape::unknown_of_rank(4));
}

void grad_bilinear(GradContext& c) {
  static const OpHandle op("ResizeBilinearGrad");
  if (!is_floating(c.input(0).dtype())) return;
  c.set(0, emit(op, {c.grad(), c.input(0)}, c.attrs<ResizeAttrs>()));
}
void grad_bilinear_grad(GradContext& c) {
  static const OpHandle op("ResizeBilinear");
  c.set(0, emit(op, {c.grad(), size_of(c, 0)}, c.attrs<ResizeAttrs>()));
}
void grad_nearest(GradContext& c) {
  static const OpHandle op("ResizeNearestNeighborGrad");
  if (!is_floating(c.input(0).dtype())) return;
  c.set(0, emit(op, {c.grad(), size_of(c, 0)}, c.attrs<ResizeAttrs>()));
}
void grad_nearest_grad(GradContext& c) {
  static const OpHandle op("ResizeNearestNeighbor");
  c.set(0, emit(op, {c.grad(), size_of(c, 0)}, c.attrs<ResizeAttrs>()));
}

OpDef resize(const char* name, const char* doc, DTypeMask types) {
  OpDef def;
  def.name = name;
  def.doc = doc;
  def.types = {{'T', types}, {'S', mask(DType::kInt32)}};
  def.inputs = {{.name = "images"}, {.name = "size", .type = 'S', .host = true}};
  def.attrs = &attrs_type<ResizeAttrs>();
  def.grad_inputs = 0;
  def.grad_outputs = 0;
  return def;
}

}  // namespace

void register_nn_resize_ops(OpTable& table) {
  constexpr DTypeMask kTypes = kReals & ~mask(DType::kUInt32, DType::kUInt64);
  OpDef def =
      resize("ResizeBilinear", "Resizes images by bilinear interpolation.", kTypes);
  def.infer = infer_bilinear;
  def.gradient = grad_bilinear;
  table.add(def);

  def = resize("ResizeNearestNeighbor", "Resizes images by taking the nearest pixel.",
               kTypes);
  def.infer = infer_nearest;
  def.gradient = grad_nearest;
  table.add(def);

  def = resize("ResizeNearestNeighborGrad", "The gradient of ResizeNearestNeighbor.",
               kFloats);
  def.inputs[0].name = "grads";
  def.infer = infer_nearest_grad;
  def.gradient = grad_nearest_grad;
  table.add(def);

  def = resize("ResizeBilinearGrad", "The gradient of ResizeBilinear.", kFloats);
  def.types = {{'T', kFloats}, {'G', mask(DType::kFloat32)}};
  def.inputs = {{.name = "grads", .type = 'G'},
                {.name = "original_image", .shape_only = true}};
  def.infer = infer_bilinear_grad;
  def.gradient = grad_bilinear_grad;
  table.add(def);
}

namespace nn {

namespace {
Tensor as_int32(const Tensor& size) {
  return size.dtype() == DType::kInt32 ? size : cast(size, DType::kInt32);
}
}  // namespace

Tensor resize_bilinear(const Tensor& images, const Tensor& size, ResizeAttrs attrs) {
  static const OpHandle op("ResizeBilinear");
  return emit(op, {images, as_int32(size)}, attrs);
}
Tensor resize_nearest_neighbor(const Tensor& images, const Tensor& size,
                               ResizeAttrs attrs) {
  static const OpHandle op("ResizeNearestNeighbor");
  return emit(op, {images, as_int32(size)}, attrs);
}

}  // namespace nn

}  // namespace tandem
