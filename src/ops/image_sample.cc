// Random boxes of images. Definition.
#include "tandem/ops/image_sample.h"

#include <fmt/format.h>

#include "op/emitter.h"
#include "op/op_def.h"
#include "ops/image.h"

namespace tandem {

namespace {

using namespace image;

void check_box_ranges(const InferContext& c) {
  const auto& a = c.attrs<SampleBoxAttrs>();
  c.require(a.min_object_covered >= 0,
            fmt::format("min_object_covered must be non-negative, got {}",
                        a.min_object_covered));
  c.require(a.least_ratio > 0 && a.most_ratio > 0,
            fmt::format("Aspect ratio range must be positive: [{}, {}]", a.least_ratio,
                        a.most_ratio));
  c.require(
      a.least_area > 0 && a.most_area > 0 && a.least_area <= 1 && a.most_area <= 1,
      fmt::format("Area range must lie in (0, 1]: [{}, {}]", a.least_area, a.most_area));
  c.require(a.max_attempts > 0,
            fmt::format("max_attempts must be positive, got {}", a.max_attempts));
}

void infer_sample(InferContext& c) {
  c.rank(0, 1);
  c.rank(2, 1);
  c.require(!c.shape(0).has_rank() || c.shape(0)[0] < 0 || c.shape(0)[0] == 3,
            "image_size must have 3 elements");
  const Shape& boxes = c.shape(1);
  c.require(!boxes.has_rank() || boxes.rank() == 3,
            "bounding_boxes must be 3-dimensional [batch, num_boxes, coords]");
  c.require(!boxes.has_rank() || boxes[2] < 0 || boxes[2] == 4,
            "bounding_boxes must have 4 coordinates");
  check_box_ranges(c);
  c.add_output(DType::kInt32, {3});
  c.add_output(DType::kInt32, {3});
  c.add_output(DType::kFloat32, {1, 1, 4});
}

}  // namespace

void register_image_sample_ops(OpTable& table) {
  OpDef def;
  def.name = "SampleBoxFromWords";
  def.doc =
      "A random box that covers enough of an object, drawn with given random words.";
  def.types = {{'S', mask(DType::kInt32)},
               {'F', mask(DType::kFloat32)},
               {'W', mask(DType::kUInt32)}};
  def.inputs = {{.name = "image_size", .type = 'S'},
                {.name = "bounding_boxes", .type = 'F'},
                {.name = "words", .type = 'W'}};
  def.outputs = {"begin", "size", "bboxes"};
  def.attrs = &attrs_type<SampleBoxAttrs>();
  def.infer = infer_sample;
  def.effects = kMayFail;
  def.differentiable = false;
  table.add(def);
}

namespace image {

SampledBox sample_distorted_bounding_box(const Tensor& image_size, const Tensor& boxes,
                                         const Tensor& words, SampleBoxAttrs attrs) {
  static const OpHandle op("SampleBoxFromWords");
  std::vector<Tensor> out(3);
  const TensorArg args[] = {image_size, boxes, words};
  current_emitter().emit(op, attrs_ref(attrs), args, out);
  return {out[0], out[1], out[2]};
}

}  // namespace image

}  // namespace tandem
