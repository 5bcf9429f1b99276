// Shape, ShapeN, Size, Rank: what is known about shapes, as tensors. Their values are
// known when the shape is, so that a reshape to them keeps its dimensions.
#include <fmt/format.h>

#include "op/emitter.h"
#include "ops/array_common.h"
#include "tandem/ops.h"

namespace tandem {

namespace {

void check_fits(const InferContext& c, DType out, int64_t n) {
  if (out == DType::kInt32 && n > INT32_MAX) {
    c.fail(fmt::format("{} does not fit in int32. Use out_type int64.", n));
  }
}

DType integer_out_type(const InferContext& c) {
  const DType out_type = c.attrs<ShapeAttrs>().out_type;
  if (out_type != DType::kInt32 && out_type != DType::kInt64) {
    c.fail(fmt::format("out_type is {}, expected int32 or int64", dtype_name(out_type)));
  }
  return out_type;
}

void add_shape(InferContext& c, int i) {
  const DType out_type = integer_out_type(c);
  const Shape& s = c.shape(i);
  TensorInfo& out = c.add_output(out_type, {s.has_rank() ? s.rank() : kUnknownDim});
  if (!s.has_rank()) return;
  PartialValue value;
  for (int64_t d : s) {
    check_fits(c, out_type, d);
    value.push_back(d == kUnknownDim ? kUnknownValue : d);
  }
  set_value(out, std::move(value));
}

void infer_shape(InferContext& c) { add_shape(c, 0); }
void infer_shape_n(InferContext& c) {
  for (int i = 0; i < c.num_inputs(); ++i) add_shape(c, i);
}
void infer_size(InferContext& c) {
  const DType out_type = integer_out_type(c);
  TensorInfo& out = c.add_output(out_type, {});
  const int64_t n = c.shape(0).has_rank() ? c.shape(0).num_elements() : kUnknownDim;
  check_fits(c, out_type, n);
  set_value(out, {n == kUnknownDim ? kUnknownValue : n});
}
void infer_rank(InferContext& c) {
  TensorInfo& out = c.add_output(DType::kInt32, {});
  set_value(out, {c.shape(0).has_rank() ? c.shape(0).rank() : kUnknownValue});
}

// BroadcastArgs: shapes as vectors.
void infer_broadcast_args(InferContext& c) {
  const Shape x = c.shape_from_value(0), y = c.shape_from_value(1);
  const Shape s = c.broadcast(x, y);
  TensorInfo& out = c.add_output(c.dtype(0), {s.has_rank() ? s.rank() : kUnknownDim});
  if (!s.has_rank()) return;
  PartialValue value;
  for (int64_t d : s) value.push_back(d == kUnknownDim ? kUnknownValue : d);
  set_value(out, std::move(value));
}

}  // namespace

void register_array_shape_ops(OpTable& table) {
  table.add({.name = "Shape",
             .doc = "The shape of a tensor as an integer vector.",
             .inputs = {{.name = "input", .shape_only = true}},
             .attrs = &attrs_type<ShapeAttrs>(),
             .infer = infer_shape,
             .differentiable = false});
  table.add({.name = "ShapeN",
             .doc = "The shapes of several tensors as integer vectors.",
             .inputs = {{.name = "input", .shape_only = true, .variadic = true}},
             .outputs = {"output*"},
             .attrs = &attrs_type<ShapeAttrs>(),
             .infer = infer_shape_n,
             .differentiable = false});
  table.add({.name = "Size",
             .doc = "The number of elements of a tensor.",
             .inputs = {{.name = "input", .shape_only = true}},
             .attrs = &attrs_type<ShapeAttrs>(),
             .infer = infer_size,
             .differentiable = false});
  table.add({.name = "Rank",
             .doc = "The number of dimensions of a tensor.",
             .inputs = {{.name = "input", .shape_only = true}},
             .infer = infer_rank,
             .differentiable = false});
  table.add({.name = "BroadcastArgs",
             .doc = "The shape that two shapes, given as integer vectors, broadcast to.",
             .types = {{'T', kIndices}},
             .inputs = {{.name = "s0", .host = true}, {.name = "s1", .host = true}},
             .outputs = {"r0"},
             .infer = infer_broadcast_args,
             .differentiable = false});
}

Tensor shape(const Tensor& x, ShapeAttrs attrs) {
  static const OpHandle op("Shape");
  return emit(op, {x}, attrs);
}
std::vector<Tensor> shape_n(const std::vector<Tensor>& values, ShapeAttrs attrs) {
  static const OpHandle op("ShapeN");
  return emit_list(op, values, attrs);
}
Tensor size(const Tensor& x, ShapeAttrs attrs) {
  static const OpHandle op("Size");
  return emit(op, {x}, attrs);
}
Tensor rank(const Tensor& x) {
  static const OpHandle op("Rank");
  return emit(op, {x});
}

Shape broadcast_static_shape(const Shape& x, const Shape& y) {
  Shape out;
  if (!broadcast_shapes(x, y, &out)) {
    throw ValueError(fmt::format(
        "Incompatible shapes for broadcasting. Two shapes are compatible if for each "
        "dimension "
        "pair they are either equal or one of them is 1. Received: {} and {}.",
        x.str(), y.str()));
  }
  return out;
}
Tensor broadcast_dynamic_shape(const Tensor& x, const Tensor& y) {
  static const OpHandle op("BroadcastArgs");
  return emit(op, {x, y});
}

}  // namespace tandem
