// ArgMax and ArgMin.
#include <fmt/format.h>

#include "ops/reduce_parts.h"

namespace tandem {

namespace {

void infer_arg(InferContext& c) {
  const auto& attrs = c.attrs<ArgAttrs>();
  const DType out = attrs.output_type;
  const bool small = out == DType::kInt16 || out == DType::kUInt16;
  if (out != DType::kInt32 && out != DType::kInt64 &&
      !(small && c.op().name == "ArgMax")) {
    c.fail(fmt::format(
        "Value for attr 'output_type' of {} is not in the list of allowed values: "
        "int32, int64{}",
        dtype_name(out), c.op().name == "ArgMax" ? ", int16, uint16" : ""));
  }
  const Shape& x = c.shape(0);
  if (!x.has_rank()) {
    c.add_output(out, Shape::unknown());
    return;
  }
  const int rank = x.rank();
  if (attrs.axis < -rank || attrs.axis >= rank) {
    c.fail(fmt::format("Expected dimension in the range [{}, {}), but got {}", -rank,
                       rank, attrs.axis));
  }
  const int axis = static_cast<int>(attrs.axis < 0 ? attrs.axis + rank : attrs.axis);
  if (x[axis] == 0) {
    c.fail(fmt::format("Reduction axis {} is empty in shape {}", axis, x.debug_str()));
  }
  Shape result = x;
  result.erase(axis);
  c.add_output(out, result);
}

Cost arg_cost(const Signature& s) {
  Cost cost = default_cost(s);
  cost.flops = static_cast<double>(s.in(0).shape.num_elements());
  return cost;
}

OpDef arg(const char* name, const char* doc) {
  OpDef def;
  def.name = name;
  def.doc = doc;
  def.types = {{'T', kReals | mask(DType::kBool)}};
  def.inputs = {{.name = "input"}};
  def.attrs = &attrs_type<ArgAttrs>();
  def.infer = infer_arg;
  def.differentiable = false;
  def.cost = arg_cost;
  return def;
}

}  // namespace

void register_arg_ops(OpTable& table) {
  table.add(
      arg("ArgMax", "Index of the largest element along an axis, the first of equals."));
  table.add(
      arg("ArgMin", "Index of the smallest element along an axis, the first of equals."));
}

Tensor argmax(const Tensor& x, ArgAttrs attrs) {
  static const OpHandle op("ArgMax");
  return emit(op, {x}, attrs);
}
Tensor argmin(const Tensor& x, ArgAttrs attrs) {
  static const OpHandle op("ArgMin");
  return emit(op, {x}, attrs);
}

}  // namespace tandem
