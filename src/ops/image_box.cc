// Boxes of images: cutting out, choosing, drawing. Definitions.
#include <fmt/format.h>

#include "op/emitter.h"
#include "op/op_def.h"
#include "ops/expected_shape.h"
#include "ops/image.h"
#include "tandem/ops/image.h"

namespace tandem {

namespace {

using namespace image;

void infer_crop(InferContext& c) {
  const auto& a = c.attrs<CropAndResizeAttrs>();
  c.require(a.method == "bilinear" || a.method == "nearest",
            "method must be 'bilinear' or 'nearest'");
  c.rank(0, 4);
  c.rank(1, 2);
  c.rank(2, 1);
  Shape out = Shape::unknown_of_rank(4);
  if (c.shape(1).has_rank()) {
    out.set(0, c.shape(1)[0]);
    c.require(c.shape(1)[1] < 0 || c.shape(1)[1] == 4, "boxes must have 4 columns");
  }
  if (c.shape(2).has_rank() && c.shape(2)[0] >= 0) {
    c.require(out[0] < 0 || out[0] == c.shape(2)[0],
              "box_indices must have as many elements as there are boxes");
    out.set(0, c.shape(2)[0]);
  }
  expect_shape(c, 3, {2});
  for (int k = 0; c.input(3).has_value && k < 2; ++k) {
    const int64_t v = c.input(3).value[static_cast<size_t>(k)];
    if (v == kUnknownValue) continue;
    c.require(v > 0, "crop dimensions must be positive");
    out.set(1 + k, v);
  }
  if (c.shape(0).has_rank()) out.set(3, c.shape(0)[3]);
  c.add_output(DType::kFloat32, out);
}

void infer_suppression(InferContext& c) {
  c.rank(0, 2);
  c.rank(1, 1);
  for (int i = 2; i < 6; ++i) c.rank(i, 0);
  const Shape &boxes = c.shape(0), &scores = c.shape(1);
  if (boxes.is_known() && scores.is_known() && boxes[0] != scores[0]) {
    c.fail("scores has incompatible shape");
  }
  if (c.op().name == "NonMaxSuppressionV5") {
    c.require(!boxes.has_rank() || boxes[1] < 0 || boxes[1] == 4,
              "boxes must have 4 columns");
  } else if (scores.has_rank()) {
    expect_shape(c, 0, {scores[0], scores[0]});
  }
  c.require(!scores.has_rank() || scores[0] <= INT32_MAX,
            "there are more boxes than int32 can count");
  c.add_output(DType::kInt32, {kUnknownDim});
  c.add_output(DType::kFloat32, {kUnknownDim});
}

void infer_draw(InferContext& c) {
  c.rank(0, 4);
  c.rank(1, 3);
  c.rank(2, 2);
  const Shape &images = c.shape(0), &colours = c.shape(2);
  expect_shape(c, 1, {images.has_rank() ? images[0] : kUnknownDim, kUnknownDim, 4});
  const int64_t channels = images.has_rank() ? images[3] : kUnknownDim;
  c.require(channels < 0 || channels == 1 || channels == 3 || channels == 4,
            fmt::format("Channel depth should be either 1 (GRY), 3 (RGB), or 4 (RGBA), "
                        "got {}",
                        channels));
  // Without colours there are those of the default palette, of four channels.
  if (colours.has_rank() && colours[0] >= 0) {
    const int64_t given = colours[0] == 0 ? 4 : colours[1];
    c.require(given < 0 || channels <= given,
              fmt::format("colors have {} channels for images of {}", given, channels));
  } else {
    c.require(channels <= 4, fmt::format("images have {} channels", channels));
  }
  c.add_output(c.dtype(0), images);
}

}  // namespace

void register_image_box_ops(OpTable& table) {
  constexpr DTypeMask kTypes = kReals & ~mask(DType::kUInt32, DType::kUInt64);
  OpDef def;
  def.name = "CropAndResize";
  def.doc = "Boxes of images, all of one size.";
  def.types = {{'T', kTypes}, {'F', mask(DType::kFloat32)}, {'S', mask(DType::kInt32)}};
  def.inputs = {{.name = "image"},
                {.name = "boxes", .type = 'F'},
                {.name = "box_ind", .type = 'S'},
                {.name = "crop_size", .type = 'S', .host = true}};
  def.outputs = {"crops"};
  def.attrs = &attrs_type<CropAndResizeAttrs>();
  def.infer = infer_crop;
  def.effects = kMayFail;
  def.gradient = grad_crop_and_resize;
  def.grad_inputs = 7;
  def.grad_outputs = 0;
  table.add(def);

  def = {};
  def.name = "NonMaxSuppressionV5";
  def.doc = "The best boxes that overlap little, best first, and their scores.";
  def.types = {{'F', mask(DType::kFloat32)}, {'S', mask(DType::kInt32)}};
  def.inputs = {
      {.name = "boxes", .type = 'F'},           {.name = "scores", .type = 'F'},
      {.name = "max_output_size", .type = 'S'}, {.name = "iou_threshold", .type = 'F'},
      {.name = "score_threshold", .type = 'F'}, {.name = "soft_nms_sigma", .type = 'F'}};
  def.outputs = {"selected_indices", "selected_scores"};
  def.infer = infer_suppression;
  def.differentiable = false;
  def.dynamic = true;
  table.add(def);
  def.name = "NonMaxSuppressionWithOverlaps";
  def.doc = "The best of things that overlap little, by a matrix of overlaps.";
  def.inputs[0].name = "overlaps";
  table.add(def);

  def = {};
  def.name = "DrawBoundingBoxesV2";
  def.doc = "Images with the outlines of boxes.";
  def.types = {{'T', kFloats & ~mask(DType::kBFloat16, DType::kFloat64)},
               {'F', mask(DType::kFloat32)}};
  def.inputs = {{.name = "images"},
                {.name = "boxes", .type = 'F'},
                {.name = "colors", .type = 'F'}};
  def.infer = infer_draw;
  def.differentiable = false;
  table.add(def);
}

namespace image {

Tensor crop_and_resize(const Tensor& image, const Tensor& boxes, const Tensor& box_ind,
                       const Tensor& crop_size, CropAndResizeAttrs attrs) {
  static const OpHandle op("CropAndResize");
  return emit(op, {image, boxes, box_ind, crop_size}, attrs);
}

}  // namespace image

}  // namespace tandem
