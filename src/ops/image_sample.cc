// Random boxes of images. Definition.
#include "tandem/ops/image_sample.h"

#include "op/emitter.h"
#include "op/op_def.h"
#include "ops/image.h"

namespace tandem {

namespace {

using namespace image;

void infer_sample(InferContext& c) {
  c.rank(0, 1);
  c.rank(2, 1);
  c.require(!c.shape(0).has_rank() || c.shape(0)[0] < 0 || c.shape(0)[0] == 3,
            "image_size must have 3 elements");
  const Shape& boxes = c.shape(1);
  c.require(!boxes.has_rank() || boxes.rank() == 3,
            "bounding_boxes must be 3-dimensional [batch, num_boxes, coords]");
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
