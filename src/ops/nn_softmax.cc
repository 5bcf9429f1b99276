// Softmax and LogSoftmax over one axis, with fused gradients.
#include <fmt/format.h>

#include "op/emitter.h"
#include "op/op_def.h"
#include "ops/nn_register.h"
#include "tandem/ops.h"

namespace tandem {

namespace {

using nn::SoftmaxAttrs;

void infer_softmax(InferContext& c) {
  c.rank_at_least(0, 1);
  if (c.shape(0).has_rank()) c.axis(c.attrs<SoftmaxAttrs>().axis, c.shape(0).rank());
  c.add_output(c.dtype(0), c.shape(0));
}
void infer_softmax_grad(InferContext& c) {
  infer_softmax(c);
  if (!c.shape(0).compatible_with(c.shape(1))) {
    c.fail(
        fmt::format("the forward result {} and its gradient {} must have the same shape",
                    c.shape(0).debug_str(), c.shape(1).debug_str()));
  }
  c.outputs()[0].shape = c.shape(0).merged_with(c.shape(1));
}

void grad_softmax(GradContext& c) {
  static const OpHandle op("SoftmaxGrad");
  c.set(0, emit(op, {c.output(0), c.grad()}, c.attrs<SoftmaxAttrs>()));
}
void grad_log_softmax(GradContext& c) {
  static const OpHandle op("LogSoftmaxGrad");
  c.set(0, emit(op, {c.output(0), c.grad()}, c.attrs<SoftmaxAttrs>()));
}

Tensor sum_axis(const GradContext& c, const Tensor& t) {
  return reduce_sum(t, {.axis = {c.attrs<SoftmaxAttrs>().axis}, .keepdims = true});
}
// y * (g - Σ g y)
void grad_softmax_grad(GradContext& c) {
  static const OpHandle op("SoftmaxGrad");
  const Tensor &y = c.input(0), &g = c.input(1), u = c.grad();
  if (c.needs(0)) {
    c.set(0, u * (g - sum_axis(c, g * y)) - g * sum_axis(c, u * y));
  }
  if (c.needs(1)) c.set(1, emit(op, {y, u}, c.attrs<SoftmaxAttrs>()));
}
// g - exp(y) * Σ g
void grad_log_softmax_grad(GradContext& c) {
  const Tensor &y = c.input(0), &g = c.input(1), u = c.grad();
  const Tensor weighted = u * exp(y);
  if (c.needs(0)) c.set(0, negative(weighted * sum_axis(c, g)));
  if (c.needs(1)) c.set(1, u - sum_axis(c, weighted));
}

Cost softmax_cost(const Signature& s) {
  Cost cost = default_cost(s);
  cost.flops = 12.0 * static_cast<double>(s.out().shape.num_elements());
  return cost;
}

OpDef base(const char* name, const char* doc) {
  OpDef def;
  def.name = name;
  def.doc = doc;
  def.types = {{'T', kFloats}};
  def.inputs = {{.name = "logits"}};
  def.attrs = &attrs_type<SoftmaxAttrs>();
  def.infer = infer_softmax;
  def.grad_inputs = 0;
  def.cost = softmax_cost;
  return def;
}

}  // namespace

void register_nn_softmax_ops(OpTable& table) {
  OpDef def = base("Softmax", "exp(x) divided by its sum over an axis.");
  def.gradient = grad_softmax;
  table.add(def);
  def = base("LogSoftmax", "Logarithm of the softmax over an axis.");
  def.gradient = grad_log_softmax;
  table.add(def);
  def = base("SoftmaxGrad", "The gradient of Softmax, from its result.");
  def.inputs = {{.name = "softmax"}, {.name = "grad"}};
  def.infer = infer_softmax_grad;
  def.gradient = grad_softmax_grad;
  def.grad_inputs = ~0u;
  def.grad_outputs = 0;
  table.add(def);
  def.name = "LogSoftmaxGrad";
  def.doc = "The gradient of LogSoftmax, from its result.";
  def.inputs = {{.name = "log_softmax"}, {.name = "grad"}};
  def.gradient = grad_log_softmax_grad;
  table.add(def);
}

namespace nn {

Tensor softmax(const Tensor& logits, AxisAttrs attrs) {
  static const OpHandle op("Softmax");
  return emit(op, {logits}, SoftmaxAttrs{attrs.axis});
}
Tensor log_softmax(const Tensor& logits, AxisAttrs attrs) {
  static const OpHandle op("LogSoftmax");
  return emit(op, {logits}, SoftmaxAttrs{attrs.axis});
}

}  // namespace nn

}  // namespace tandem
