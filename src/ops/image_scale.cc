// Colours, and resizing of images by filters: definitions.
#include <fmt/format.h>

#include "op/emitter.h"
#include "op/op_def.h"
#include "ops/expected_shape.h"
#include "ops/image.h"
#include "ops/image_size.h"
#include "tandem/ops.h"
#include "tandem/ops/image.h"

namespace tandem {

namespace {

using namespace image;
using nn::ResizeAttrs;

void infer_colour(InferContext& c) {
  c.rank_at_least(0, 1);
  const Shape& s = c.shape(0);
  if (s.has_rank() && s[s.rank() - 1] >= 0 && s[s.rank() - 1] != 3) {
    c.fail(fmt::format("input must have 3 channels but input only has {} channels.",
                       s[s.rank() - 1]));
  }
  c.add_output(c.dtype(0), s);
}

void infer_hue(InferContext& c) {
  infer_colour(c);
  c.rank(1, 0);
}

bool known_filter(const std::string& name) {
  for (const char* known : {"lanczos1", "lanczos3", "lanczos5", "gaussian", "box",
                            "triangle", "keyscubic", "mitchellcubic"}) {
    if (name == known) return true;
  }
  return false;
}

void infer_scale(InferContext& c) {
  const auto& a = c.attrs<ScaleAttrs>();
  c.require(known_filter(a.kernel_type),
            fmt::format("Unrecognized kernel type: {}", a.kernel_type));
  expect_shape(c, 2, {2});
  expect_shape(c, 3, {2});
  c.add_output(DType::kFloat32, with_size(c, c.shape(0), 1));
}
void infer_resize(InferContext& c) {
  c.add_output(DType::kFloat32, with_size(c, c.shape(0), 1));
}
// Of the image's shape: input 1.
void infer_resize_grad(InferContext& c) {
  c.rank(0, 4);
  c.rank(1, 4);
  const Shape &grads = c.shape(0), &image = c.shape(1);
  if (image.has_rank()) {
    expect_shape(c, 0, {image[0], kUnknownDim, kUnknownDim, image[3]});
    c.require(image[1] != 0 && image[2] != 0, "original_image must have pixels");
  }
  c.require(!grads.has_rank() || (grads[1] != 0 && grads[2] != 0),
            "grads must have pixels");
  c.add_output(DType::kFloat32, image.has_rank() ? image : Shape::unknown_of_rank(4));
}
void infer_scale_grad(InferContext& c) {
  const auto& a = c.attrs<ScaleAttrs>();
  c.require(known_filter(a.kernel_type),
            fmt::format("Unrecognized kernel type: {}", a.kernel_type));
  expect_shape(c, 2, {2});
  expect_shape(c, 3, {2});
  infer_resize_grad(c);
}

void grad_scale(GradContext& c) {
  static const OpHandle op("ScaleAndTranslateGrad");
  if (!is_floating(c.input(0).dtype())) return;
  const Tensor g =
      emit(op, {c.grad(), c.input(0), c.input(2), c.input(3)}, c.attrs<ScaleAttrs>());
  c.set(0, cast(g, c.input(0).dtype()));
}
void grad_scale_grad(GradContext& c) {
  c.set(0, scale_and_translate(c.grad(), size_of(c, 0), c.input(2), c.input(3),
                               c.attrs<ScaleAttrs>()));
}
void grad_bicubic(GradContext& c) {
  static const OpHandle op("ResizeBicubicGrad");
  if (!is_floating(c.input(0).dtype())) return;
  const Tensor g = emit(op, {c.grad(), c.input(0)}, c.attrs<ResizeAttrs>());
  c.set(0, cast(g, c.input(0).dtype()));
}
void grad_bicubic_grad(GradContext& c) {
  static const OpHandle op("ResizeBicubic");
  c.set(0, emit(op, {c.grad(), size_of(c, 0)}, c.attrs<ResizeAttrs>()));
}

void add_hue(OpTable& table) {
  OpDef def;
  def.name = "AdjustHue";
  def.doc = "Turns the hue of colours.";
  def.types = {{'T', mask(DType::kFloat16, DType::kFloat32)},
               {'F', mask(DType::kFloat32)}};
  def.inputs = {{.name = "images"}, {.name = "delta", .type = 'F'}};
  def.infer = infer_hue;
  def.differentiable = false;
  table.add(def);
}

}  // namespace

void register_image_colour_ops(OpTable& table) {
  for (const auto& [name, doc] :
       {std::pair{"RGBToHSV", "Red, green, blue as hue, saturation, value."},
        std::pair{"HSVToRGB", "Hue, saturation, value as red, green, blue."}}) {
    OpDef def;
    def.name = name;
    def.doc = doc;
    def.types = {{'T', kFloats}};
    def.inputs = {{.name = "images"}};
    def.infer = infer_colour;
    def.differentiable = def.name == "RGBToHSV";
    if (def.differentiable) {
      def.gradient = grad_rgb_to_hsv;
      def.grad_inputs = 1;
      def.grad_outputs = 0;
    }
    table.add(def);
  }
  add_hue(table);
}

void register_image_scale_ops(OpTable& table) {
  constexpr DTypeMask kTypes = kReals & ~mask(DType::kUInt32, DType::kUInt64);
  const InputDef size{.name = "size", .type = 'S', .host = true};
  const InputDef scale{.name = "scale", .type = 'F', .host = true};
  const InputDef translation{.name = "translation", .type = 'F', .host = true};
  const TypeVar sizes{'S', mask(DType::kInt32)}, floats{'F', mask(DType::kFloat32)};

  OpDef def;
  def.name = "ScaleAndTranslate";
  def.doc = "Resizes and moves images by a filter.";
  def.types = {{'T', kTypes}, sizes, floats};
  def.inputs = {{.name = "images"}, size, scale, translation};
  def.attrs = &attrs_type<ScaleAttrs>();
  def.infer = infer_scale;
  def.gradient = grad_scale;
  def.grad_inputs = 0b1100;
  def.grad_outputs = 0;
  table.add(def);

  def.name = "ScaleAndTranslateGrad";
  def.doc = "The gradient of ScaleAndTranslate.";
  def.types = {{'T', kTypes}, {'G', mask(DType::kFloat32)}, floats};
  def.inputs = {{.name = "grads", .type = 'G'},
                {.name = "original_image", .shape_only = true},
                scale,
                translation};
  def.infer = infer_scale_grad;
  def.gradient = grad_scale_grad;
  table.add(def);

  def = {};
  def.name = "ResizeBicubic";
  def.doc = "Resizes images by bicubic interpolation.";
  def.types = {{'T', kTypes}, sizes};
  def.inputs = {{.name = "images"}, size};
  def.attrs = &attrs_type<ResizeAttrs>();
  def.infer = infer_resize;
  def.gradient = grad_bicubic;
  def.grad_inputs = 0;
  def.grad_outputs = 0;
  table.add(def);

  def.name = "ResizeArea";
  def.doc = "Resizes images by averages over areas.";
  def.gradient = nullptr;
  def.differentiable = false;
  table.add(def);
  def.differentiable = true;

  def.name = "ResizeBicubicGrad";
  def.doc = "The gradient of ResizeBicubic.";
  def.types = {{'T', kTypes}, {'G', mask(DType::kFloat32)}};
  def.inputs = {{.name = "grads", .type = 'G'},
                {.name = "original_image", .shape_only = true}};
  def.infer = infer_resize_grad;
  def.gradient = grad_bicubic_grad;
  table.add(def);
}

namespace image {

Tensor rgb_to_hsv(const Tensor& images) {
  static const OpHandle op("RGBToHSV");
  return emit(op, {images});
}
Tensor hsv_to_rgb(const Tensor& images) {
  static const OpHandle op("HSVToRGB");
  return emit(op, {images});
}
Tensor scale_and_translate(const Tensor& images, const Tensor& size, const Tensor& scale,
                           const Tensor& translation, ScaleAttrs attrs) {
  static const OpHandle op("ScaleAndTranslate");
  return emit(op, {images, size, scale, translation}, attrs);
}

}  // namespace image

}  // namespace tandem
