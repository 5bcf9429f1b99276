// Pooling: maximum and average over windows, and their gradients.
#include <fmt/format.h>

#include "op/emitter.h"
#include "op/op_def.h"
#include "ops/nn_geometry.h"
#include "ops/nn_register.h"
#include "tandem/ops.h"

namespace tandem {

namespace {

using nn::MaxPoolArgmaxAttrs;
using nn::PoolAttrs;

Shape pooled(InferContext& c, const PoolAttrs& attrs, const Shape& input) {
  if (!input.has_rank()) return Shape::unknown();
  return nn::pool_output(nn::pool_shape(c.op().name, attrs, input));
}

void infer_pool(InferContext& c) {
  c.add_output(c.dtype(0), pooled(c, c.attrs<PoolAttrs>(), c.shape(0)));
}

void check_same(InferContext& c, const char* what, const Shape& got,
                const Shape& wanted) {
  if (!got.compatible_with(wanted)) {
    c.fail(fmt::format("Expected {} shape to be {}, but got {}", what, wanted.debug_str(),
                       got.debug_str()));
  }
}

// orig_input, orig_output, grad (of the output) → gradient of the input.
void infer_max_grad(InferContext& c) {
  const Shape out = pooled(c, c.attrs<PoolAttrs>(), c.shape(0));
  check_same(c, "orig_output", c.shape(1), out);
  check_same(c, "grad", c.shape(2), out);
  c.add_output(c.dtype(0), c.shape(0));
}
// orig_input, orig_output, grad (of the input's gradient) → what the windows chose from
// it.
void infer_max_grad_grad(InferContext& c) {
  const Shape out = pooled(c, c.attrs<PoolAttrs>(), c.shape(0));
  check_same(c, "orig_output", c.shape(1), out);
  check_same(c, "grad", c.shape(2), c.shape(0));
  c.add_output(c.dtype(0), out);
}
// orig_input_shape, grad → gradient of the input.
void infer_avg_grad(InferContext& c) {
  Shape input = c.shape_from_value(0);
  if (!input.has_rank() && c.shape(1).has_rank()) {
    input = Shape::unknown_of_rank(c.shape(1).rank());
  }
  check_same(c, "grad", c.shape(1), pooled(c, c.attrs<PoolAttrs>(), input));
  c.add_output(c.dtype(1), input);
}

const OpDef& by_rank(const GradContext& c, const OpHandle& two, const OpHandle& three) {
  return c.op().name.find("3D") == std::string::npos ? two : three;
}

void grad_max(GradContext& c) {
  static const OpHandle two("MaxPoolGrad"), three("MaxPool3DGrad");
  c.set(0, emit(by_rank(c, two, three), {c.input(0), c.output(0), c.grad()},
                c.attrs<PoolAttrs>()));
}
void grad_max_grad(GradContext& c) {
  static const OpHandle two("MaxPoolGradGrad"), three("MaxPool3DGradGrad");
  c.set(2, emit(by_rank(c, two, three), {c.input(0), c.input(1), c.grad()},
                c.attrs<PoolAttrs>()));
}
void grad_max_grad_grad(GradContext& c) {
  static const OpHandle two("MaxPoolGrad"), three("MaxPool3DGrad");
  c.set(2, emit(by_rank(c, two, three), {c.input(0), c.input(1), c.grad()},
                c.attrs<PoolAttrs>()));
}
void grad_avg(GradContext& c) {
  static const OpHandle two("AvgPoolGrad"), three("AvgPool3DGrad");
  c.set(0, emit(by_rank(c, two, three), {c.shape_of_input(0), c.grad()},
                c.attrs<PoolAttrs>()));
}
void grad_avg_grad(GradContext& c) {
  static const OpHandle two("AvgPool"), three("AvgPool3D");
  c.set(1, emit(by_rank(c, two, three), {c.grad()}, c.attrs<PoolAttrs>()));
}

// ---- MaxPoolWithArgmax ----

PoolAttrs pool_attrs(const MaxPoolArgmaxAttrs& a) {
  return {.ksize = a.ksize, .strides = a.strides, .padding = a.padding};
}
void infer_argmax(InferContext& c) {
  const auto& attrs = c.attrs<MaxPoolArgmaxAttrs>();
  c.rank(0, 4);
  c.require(attrs.argmax_type == DType::kInt32 || attrs.argmax_type == DType::kInt64,
            "argmax_type must be int32 or int64");
  if (c.shape(0).is_known() && c.shape(0).num_elements() == 0) {
    c.fail(fmt::format("tensor_in must not be empty, its shape is {}",
                       c.shape(0).debug_str()));
  }
  const Shape out = pooled(c, pool_attrs(attrs), c.shape(0));
  c.add_output(c.dtype(0), out);
  c.add_output(attrs.argmax_type, out);
}
void grad_argmax(GradContext& c) {
  if (!c.has_grad(0)) return;
  static const OpHandle op("MaxPoolGradWithArgmax");
  c.set(0, emit(op, {c.input(0), c.grad(), c.output(1)}, c.attrs<MaxPoolArgmaxAttrs>()));
}
void infer_grad_argmax(InferContext& c) {
  const Shape out = pooled(c, pool_attrs(c.attrs<MaxPoolArgmaxAttrs>()), c.shape(0));
  check_same(c, "grad", c.shape(1), out);
  check_same(c, "argmax", c.shape(2), out);
  c.add_output(c.dtype(0), c.shape(0));
}

Cost pool_cost(const Signature& s) {
  Cost cost = default_cost(s);
  cost.flops = cost.bytes / static_cast<double>(dtype_size(s.out().dtype));
  return cost;
}

OpDef pool(const char* name, const char* doc) {
  OpDef def;
  def.name = name;
  def.doc = doc;
  def.types = {{'T', kReals & ~mask(DType::kUInt32, DType::kUInt64)}};
  def.inputs = {{.name = "input"}};
  def.attrs = &attrs_type<PoolAttrs>();
  def.infer = infer_pool;
  def.cost = pool_cost;
  return def;
}

void add_rank(OpTable& table, bool three) {
  OpDef def = pool(three ? "MaxPool3D" : "MaxPool",
                   three ? "Maximum over windows of three spatial dimensions."
                         : "Maximum over windows of one or two spatial dimensions.");
  def.gradient = grad_max;
  def.grad_outputs = 0;
  table.add(def);

  def =
      pool(three ? "MaxPool3DGrad" : "MaxPoolGrad",
           "The gradient of maximum pooling: goes to the first maximum of each window.");
  def.inputs = {{.name = "orig_input"},
                {.name = "orig_output", .shape_only = true},
                {.name = "grad"}};
  def.infer = infer_max_grad;
  def.gradient = grad_max_grad;
  def.grad_inputs = 0b001;
  def.grad_outputs = 0;
  table.add(def);

  def.name = three ? "MaxPool3DGradGrad" : "MaxPoolGradGrad";
  def.doc =
      "The second gradient of maximum pooling: takes what each window's maximum has.";
  def.infer = infer_max_grad_grad;
  def.gradient = grad_max_grad_grad;
  table.add(def);

  def = pool(
      three ? "AvgPool3D" : "AvgPool",
      three ? "Average over windows of three spatial dimensions; padding does not count."
            : "Average over windows of one or two spatial dimensions; padding does not "
              "count.");
  def.types = {{'T', kFloats}};
  def.gradient = grad_avg;
  def.grad_inputs = 0;
  def.grad_outputs = 0;
  table.add(def);

  def.name = three ? "AvgPool3DGrad" : "AvgPoolGrad";
  def.doc = "The gradient of average pooling.";
  def.types = {{'T', kFloats}, {'S', kIndices}};
  def.inputs = {{.name = "orig_input_shape", .type = 'S', .host = true},
                {.name = "grad"}};
  def.infer = infer_avg_grad;
  def.gradient = grad_avg_grad;
  table.add(def);
}

}  // namespace

void register_nn_pool_ops(OpTable& table) {
  add_rank(table, false);
  add_rank(table, true);
  OpDef def =
      pool("MaxPoolWithArgmax", "Maximum pooling with the flat index of each maximum.");
  def.outputs = {"output", "argmax"};
  def.attrs = &attrs_type<MaxPoolArgmaxAttrs>();
  def.infer = infer_argmax;
  def.gradient = grad_argmax;
  def.grad_inputs = 0;
  def.grad_outputs = 0b10;
  table.add(def);
  def = pool("MaxPoolGradWithArgmax", "The gradient of MaxPoolWithArgmax.");
  def.types.push_back({'I', kIndices});
  def.inputs = {{.name = "input", .shape_only = true},
                {.name = "grad"},
                {.name = "argmax", .type = 'I'}};
  def.attrs = &attrs_type<MaxPoolArgmaxAttrs>();
  def.infer = infer_grad_argmax;
  def.differentiable = true;
  def.effects = kMayFail;
  table.add(def);
}

namespace nn {

Tensor max_pool(const Tensor& input, const PoolAttrs& attrs) {
  static const OpHandle two("MaxPool"), three("MaxPool3D");
  return emit(input.rank() == 5 ? three : two, {input}, attrs);
}
Tensor max_pool1d(const Tensor& input, const PoolAttrs& attrs) {
  return max_pool(input, attrs);
}
Tensor max_pool2d(const Tensor& input, const PoolAttrs& attrs) {
  return max_pool(input, attrs);
}
Tensor max_pool3d(const Tensor& input, const PoolAttrs& attrs) {
  return max_pool(input, attrs);
}
Tensor avg_pool(const Tensor& input, const PoolAttrs& attrs) {
  static const OpHandle two("AvgPool"), three("AvgPool3D");
  return emit(input.rank() == 5 ? three : two, {input}, attrs);
}
Tensor avg_pool1d(const Tensor& input, const PoolAttrs& attrs) {
  return avg_pool(input, attrs);
}
Tensor avg_pool2d(const Tensor& input, const PoolAttrs& attrs) {
  return avg_pool(input, attrs);
}
Tensor avg_pool3d(const Tensor& input, const PoolAttrs& attrs) {
  return avg_pool(input, attrs);
}
MaxPoolArgmax max_pool_with_argmax(const Tensor& input, MaxPoolArgmaxAttrs attrs) {
  static const OpHandle op("MaxPoolWithArgmax");
  std::vector<Tensor> out = emit_all(op, {input}, attrs);
  return {std::move(out[0]), std::move(out[1])};
}

}  // namespace nn

}  // namespace tandem
