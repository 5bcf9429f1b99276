// Selection, clipping and sums of many tensors.
#include <fmt/format.h>

#include "ops/elementwise_common.h"
#include "tandem/error.h"

namespace tandem {

namespace {

using namespace elementwise;

void infer_select(InferContext& c) {
  const Shape shape = c.broadcast(c.broadcast(c.shape(0), c.shape(1)), c.shape(2));
  TensorInfo& out = c.add_output(c.dtype(1), shape);
  const TensorInfo &condition = c.input(0), &x = c.input(1), &y = c.input(2);
  if (!is_integer(out.dtype) || !condition.has_value || condition.value.size() != 1 ||
      condition.value[0] == kUnknownValue) {
    return;
  }
  const TensorInfo& taken = condition.value[0] ? x : y;
  if (!taken.has_value || !(taken.shape == shape)) return;
  out.value = taken.value;
  out.has_value = true;
}
void grad_select(GradContext& c) {
  const Tensor& condition = c.input(0);
  const Tensor zero = scalar(0, c.output(0).dtype());
  if (c.needs(1)) c.set(1, sum_to(where(condition, c.grad(), zero), c.input(1)));
  if (c.needs(2)) c.set(2, sum_to(where(condition, zero, c.grad()), c.input(2)));
}

void infer_clip(InferContext& c) {
  const Shape& x = c.shape(0);
  for (int i = 1; i <= 2; ++i) {
    const Shape broadcast = c.broadcast(x, c.shape(i));
    if (!broadcast.has_rank() || !x.has_rank()) continue;
    if (!broadcast.compatible_with(x)) {
      c.fail(fmt::format(
          "clip_value_min and clip_value_max must be either of the same shape as "
          "input, or broadcast to it: Shapes {} and {} are incompatible",
          x.str(), broadcast.str()));
    }
  }
  c.add_output(c.dtype(0), x);
}
// As for the minimum with the upper limit, then the maximum with the lower one.
void grad_clip(GradContext& c) {
  const Tensor &x = c.input(0), &low = c.input(1), &high = c.input(2);
  const Tensor zero = scalar(0, x.dtype());
  const Tensor below = minimum(x, high);
  const Tensor inner = where(below >= low, c.grad(), zero);
  if (c.needs(0)) c.set(0, where(x <= high, inner, zero));
  if (c.needs(1)) c.set(1, sum_to(where(below >= low, zero, c.grad()), low));
  if (c.needs(2)) c.set(2, sum_to(where(x <= high, zero, inner), high));
}

void infer_add_n(InferContext& c) {
  if (c.num_inputs() == 0) c.fail("there is nothing to add. Give at least one tensor.");
  Shape shape = c.shape(0);
  for (int i = 1; i < c.num_inputs(); ++i) {
    if (!shape.compatible_with(c.shape(i))) {
      throw InvalidArgumentError(fmt::format(
          "Inputs to operation AddN of type AddN must have the same size and shape.  "
          "Input 0: {} != input {}: {} [Op:AddN]",
          c.shape(0).debug_str(), i, c.shape(i).debug_str()));
    }
    shape = shape.merged_with(c.shape(i));
  }
  c.add_output(c.dtype(0), shape);
}
void grad_add_n(GradContext& c) {
  for (int i = 0; i < c.num_inputs(); ++i) c.set(i, c.grad());
}
Cost cost_add_n(const Signature& s) {
  Cost c = default_cost(s);
  if (s.out().shape.is_known()) {
    c.flops = static_cast<double>(s.out().shape.num_elements()) *
              static_cast<double>(s.inputs.size() - 1);
  }
  return c;
}

}  // namespace

void register_elementwise_select_ops(OpTable& t) {
  t.add({.name = "SelectV2",
         .doc = "t where the condition holds, else e; all three broadcast.",
         .types = {{'T', kAnyDType}, {'B', mask(DType::kBool)}},
         .inputs = {{.name = "condition", .type = 'B'}, {.name = "t"}, {.name = "e"}},
         .infer = infer_select,
         .gradient = grad_select,
         .grad_inputs = 1,
         .grad_outputs = 0,
         .cost = cost<1>,
         .inplace = 6,
         .expression = "x ? y : z"});
  t.add(
      {.name = "ClipByValue",
       .doc = "t limited to the range from clip_value_min to clip_value_max.",
       .types = {{'T', kReals}},
       .inputs = {{.name = "t"}, {.name = "clip_value_min"}, {.name = "clip_value_max"}},
       .infer = infer_clip,
       .gradient = grad_clip,
       .grad_outputs = 0,
       .cost = cost<2>,
       .inplace = 1,
       .expression = "maximum(minimum(x, z), y)"});
  t.add({.name = "AddN",
         .doc = "The sum of tensors of one shape.",
         .types = {{'T', kNumbers}},
         .inputs = {{.name = "inputs", .variadic = true}},
         .outputs = {"sum"},
         .infer = infer_add_n,
         .gradient = grad_add_n,
         .grad_inputs = 0,
         .grad_outputs = 0,
         .cost = cost_add_n,
         .inplace = 1});
}

Tensor where(const Tensor& condition, const Tensor& x, const Tensor& y) {
  static const OpHandle op("SelectV2");
  return emit(op, {condition, x, y});
}
Tensor clip_by_value(const Tensor& x, const Tensor& low, const Tensor& high) {
  static const OpHandle op("ClipByValue");
  return emit(op, {x, low, high});
}
Tensor clip_by_value(const Tensor& x, Scalar low, Scalar high) {
  return clip_by_value(x, scalar(low, x.dtype()), scalar(high, x.dtype()));
}
Tensor add_n(const std::vector<Tensor>& inputs) {
  static const OpHandle op("AddN");
  if (inputs.empty()) {
    throw ValueError(
        "add_n: Inputs must be an iterable of at least one Tensor/IndexedSlices with "
        "the same dtype and shape.");
  }
  if (inputs.size() == 1) return inputs[0];
  return emit_list(op, inputs, NoAttrs{})[0];
}

}  // namespace tandem
