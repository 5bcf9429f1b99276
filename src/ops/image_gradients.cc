// Gradients of cutting boxes out of images and of colours. Definitions.
#include <fmt/format.h>

#include "op/emitter.h"
#include "op/op_def.h"
#include "ops/expected_shape.h"
#include "ops/image.h"
#include "tandem/ops.h"
#include "tandem/ops/image.h"

namespace tandem {

namespace {

using namespace image;

// One crop (input 0), four edges and one number of an image for each box.
void check_boxes(const InferContext& c, int boxes, int numbers) {
  int64_t n = c.shape(0).has_rank() ? c.shape(0)[0] : kUnknownDim;
  expect_shape(c, boxes, {n, 4});
  if (n < 0 && c.shape(boxes).has_rank()) n = c.shape(boxes)[0];
  expect_shape(c, numbers, {n});
}

// Boxes lie in images that have pixels.
void check_not_empty(const InferContext& c, const Shape& images) {
  const Shape& crops = c.shape(0);
  if (!crops.is_known() || crops.num_elements() == 0) return;
  c.require(images[1] != 0 && images[2] != 0, "images must have pixels");
}

void infer_grad_image(InferContext& c) {
  c.rank(0, 4);
  c.rank(1, 2);
  c.rank(2, 1);
  Shape out = c.shape_from_value(3);
  c.require(!out.has_rank() || out.rank() == 4, "image_size must have 4 elements");
  for (int i = 0; i < out.rank(); ++i) {
    c.require(!c.input(3).has_value || out[i] >= 0 ||
                  c.input(3).value[static_cast<size_t>(i)] == kUnknownValue,
              "image_size must not be negative");
  }
  check_boxes(c, 1, 2);
  if (out.has_rank()) {
    expect_shape(c, 0, {kUnknownDim, kUnknownDim, kUnknownDim, out[3]});
    check_not_empty(c, out);
  }
  c.add_output(DType::kFloat32, out.has_rank() ? out : Shape::unknown_of_rank(4));
}

void infer_grad_boxes(InferContext& c) {
  c.rank(0, 4);
  c.rank(1, 4);
  c.rank(2, 2);
  c.rank(3, 1);
  check_boxes(c, 2, 3);
  if (const Shape& images = c.shape(1); images.has_rank()) {
    expect_shape(c, 0, {kUnknownDim, kUnknownDim, kUnknownDim, images[3]});
    check_not_empty(c, images);
  }
  c.add_output(DType::kFloat32, c.shape(2));
}

void infer_grad_colour(InferContext& c) {
  c.same_dtype(0, 1);
  c.rank_at_least(0, 1);
  if (const Shape& images = c.shape(0); images.has_rank()) {
    const int64_t channels = images[images.rank() - 1];
    c.require(channels < 0 || channels == 3,
              fmt::format("images must have 3 channels, got {}", images.debug_str()));
  }
  expect_same_shape(c, 1, 0);
  c.add_output(c.dtype(0), c.shape(0));
}

}  // namespace

void grad_crop_and_resize(GradContext& c) {
  static const OpHandle of_image("CropAndResizeGradImage"),
      of_boxes("CropAndResizeGradBoxes");
  const DType dtype = c.input(0).dtype();
  if (c.needs(0)) {
    c.set(0, cast(emit(of_image, {c.grad(), c.input(1), c.input(2), c.shape_of_input(0)},
                       c.attrs<CropAndResizeAttrs>()),
                  dtype));
  }
  if (c.needs(1)) {
    c.set(1, emit(of_boxes,
                  {c.grad(), cast(c.input(0), DType::kFloat32), c.input(1), c.input(2)}));
  }
}

void grad_rgb_to_hsv(GradContext& c) {
  static const OpHandle op("RGBToHSVGrad");
  c.set(0, emit(op, {c.input(0), c.grad()}));
}

void register_image_gradient_ops(OpTable& table) {
  OpDef def;
  def.name = "CropAndResizeGradImage";
  def.doc = "The gradient of CropAndResize by the images.";
  def.types = {{'T', mask(DType::kFloat32)}, {'S', mask(DType::kInt32)}};
  def.inputs = {{.name = "grads"},
                {.name = "boxes"},
                {.name = "box_ind", .type = 'S'},
                {.name = "image_size", .type = 'S', .host = true}};
  def.attrs = &attrs_type<CropAndResizeAttrs>();
  def.infer = infer_grad_image;
  def.effects = kMayFail;
  def.differentiable = false;
  table.add(def);

  def = {};
  def.name = "CropAndResizeGradBoxes";
  def.doc = "The gradient of CropAndResize by the boxes.";
  def.types = {{'T', mask(DType::kFloat32)}, {'S', mask(DType::kInt32)}};
  def.inputs = {{.name = "grads"},
                {.name = "image"},
                {.name = "boxes"},
                {.name = "box_ind", .type = 'S'}};
  def.infer = infer_grad_boxes;
  def.effects = kMayFail;
  def.differentiable = false;
  table.add(def);

  def = {};
  def.name = "RGBToHSVGrad";
  def.doc = "The gradient of RGBToHSV.";
  def.types = {{'T', kFloats}};
  def.inputs = {{.name = "images"}, {.name = "grads"}};
  def.infer = infer_grad_colour;
  def.differentiable = false;
  table.add(def);
}

}  // namespace tandem
