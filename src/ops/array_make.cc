// Making tensors: Fill, ZerosLike, OnesLike, Empty, Range, LinSpace.
#include <cmath>

#include <fmt/format.h>

#include "op/emitter.h"
#include "ops/array_common.h"
#include "ops/array_range.h"
#include "tandem/ops.h"

namespace tandem {

namespace {

// The shape an input spells out, without "what is left over".
Shape exact_shape(const InferContext& c, int i) {
  if (c.shape(i).has_rank() && c.shape(i).rank() > 1) {
    c.fail(fmt::format("dims must represent a vector, got shape {}",
                       c.shape(i).debug_str()));
  }
  if (c.input(i).has_value) {
    for (int64_t v : c.input(i).value) {
      if (v < 0 && v != kUnknownValue)
        c.fail(fmt::format("Dimension {} must be >= 0", v));
    }
  }
  return c.shape_from_value(i);
}

void infer_fill(InferContext& c) {
  if (c.shape(1).is_known() &&
      (c.shape(1).rank() > 1 || c.shape(1).num_elements() != 1)) {
    c.fail(fmt::format("value must represent a scalar, got shape {}",
                       c.shape(1).debug_str()));
  }
  TensorInfo& out = c.add_output(c.dtype(1), exact_shape(c, 0));
  const TensorInfo& value = c.input(1);
  if (value.has_value && value.value.size() == 1 && out.shape.is_known() &&
      out.shape.rank() <= 1 && out.shape.num_elements() <= kMaxHostValues) {
    set_value(
        out, PartialValue(static_cast<size_t>(out.shape.num_elements()), value.value[0]));
  }
}
void grad_fill(GradContext& c) {
  c.set(1, reshape_like(reduce_sum(c.grad()), c.input(1)));
}

template <int64_t kValue>
void infer_like(InferContext& c) {
  const DType asked = c.attrs<LikeAttrs>().dtype;
  const DType dtype = asked == DType::kInvalid ? c.dtype(0) : asked;
  if (!(mask(dtype) & (kValue == 0 ? kAnyDType : kPlain))) {
    c.fail(fmt::format("there are no such elements of dtype {}", dtype_name(dtype)));
  }
  TensorInfo& out = c.add_output(dtype, c.shape(0));
  if (out.shape.is_known() && out.shape.rank() <= 1 &&
      out.shape.num_elements() <= kMaxHostValues) {
    set_value(out, PartialValue(static_cast<size_t>(out.shape.num_elements()), kValue));
  }
}

void infer_empty(InferContext& c) {
  const DType dtype = c.attrs<EmptyAttrs>().dtype;
  c.require(
      mask(dtype) & kAnyDType,
      fmt::format("dtype is {}, of which there are no elements", dtype_name(dtype)));
  c.add_output(dtype, exact_shape(c, 0));
}

void infer_range(InferContext& c) {
  constexpr const char* kNames[] = {"start", "limit", "delta"};
  for (int i = 0; i < 3; ++i) {
    if (c.shape(i).is_known() && c.shape(i).num_elements() != 1) {
      c.fail(fmt::format("{} must be a scalar, not shape {}", kNames[i],
                         c.shape(i).debug_str()));
    }
  }
  const std::optional<RangeSpec> range = range_spec(inputs_of(c));
  if (!range) {
    c.add_output(c.dtype(0), {kUnknownDim});
    return;
  }
  if (const std::string problem = range->problem(); !problem.empty()) c.fail(problem);
  TensorInfo& out = c.add_output(c.dtype(0), {range->n});
  if (!range->integer || range->n > kMaxHostValues) return;
  PartialValue value;
  for (int64_t i = 0; i < range->n; ++i) value.push_back(range->start + i * range->delta);
  set_value(out, std::move(value));
}

void infer_linspace(InferContext& c) {
  const auto& a = c.attrs<LinSpaceAttrs>();
  if (a.num < 0) c.fail(fmt::format("Requires num >= 0: {}", a.num));
  if (!c.shape(0).compatible_with(c.shape(1))) {
    c.fail(fmt::format("start has shape {} but stop has shape {}. Broadcast one of them.",
                       c.shape(0).debug_str(), c.shape(1).debug_str()));
  }
  Shape out = c.shape(0).merged_with(c.shape(1));
  if (out.has_rank()) out.insert(c.axis(a.axis, out.rank() + 1), a.num);
  c.add_output(c.dtype(0), out);
}
void grad_linspace(GradContext& c) {
  const auto& a = c.attrs<LinSpaceAttrs>();
  const Tensor g = c.grad();
  const int64_t axis = a.axis < 0 ? a.axis + g.shape().rank() : a.axis;
  // The weight of stop along the new axis, broadcast over the dimensions after it.
  const DType t = g.dtype();
  Tensor weight = linspace(scalar(0.0, t), scalar(1.0, t), {a.num, 0});
  for (int i = g.shape().rank() - 1; i > axis; --i) weight = expand_dims(weight, -1);
  const ReduceAttrs sum{.axis = {axis}};
  if (c.needs(0)) c.set(0, reduce_sum(multiply(g, scalar(1.0, t) - weight), sum));
  if (c.needs(1)) c.set(1, reduce_sum(multiply(g, weight), sum));
}

}  // namespace

void register_array_make_ops(OpTable& table) {
  table.add({.name = "Fill",
             .doc = "A tensor of the given shape, every element the given scalar.",
             .types = {{'T', kAnyDType}, {'I', kIndices}},
             .inputs = {{.name = "dims", .type = 'I', .host = true}, {.name = "value"}},
             .infer = infer_fill,
             .gradient = grad_fill,
             .grad_inputs = 0,
             .grad_outputs = 0});
  table.add({.name = "ZerosLike",
             .doc = "Zeros in the shape of a tensor.",
             .inputs = {{.name = "x", .shape_only = true}},
             .outputs = {"y"},
             .attrs = &attrs_type<LikeAttrs>(),
             .infer = infer_like<0>,
             .differentiable = false});
  table.add({.name = "OnesLike",
             .doc = "Ones in the shape of a tensor.",
             .inputs = {{.name = "x", .shape_only = true}},
             .outputs = {"y"},
             .attrs = &attrs_type<LikeAttrs>(),
             .infer = infer_like<1>,
             .differentiable = false});
  table.add({.name = "Empty",
             .doc = "A tensor of the given shape with undefined contents, or zeros.",
             .types = {{'I', kIndices}},
             .inputs = {{.name = "shape", .type = 'I', .host = true}},
             .attrs = &attrs_type<EmptyAttrs>(),
             .infer = infer_empty,
             .differentiable = false});
  table.add({.name = "Range",
             .doc = "Numbers from start up to (without) limit in steps of delta.",
             .types = {{'T', kReals}},
             .inputs = {{.name = "start", .host = true},
                        {.name = "limit", .host = true},
                        {.name = "delta", .host = true}},
             .infer = infer_range,
             .differentiable = false});
  table.add({.name = "LinSpace",
             .doc = "Evenly spaced numbers from start to stop along a new axis.",
             .types = {{'T', kFloats}},
             .inputs = {{.name = "start"}, {.name = "stop"}},
             .attrs = &attrs_type<LinSpaceAttrs>(),
             .infer = infer_linspace,
             .gradient = grad_linspace,
             .grad_inputs = 0,
             .grad_outputs = 0});
}

Tensor fill(const Tensor& shape, const Tensor& value) {
  static const OpHandle op("Fill");
  return emit(op, {shape, value});
}
Tensor fill(const Shape& shape, const Tensor& value) {
  return fill(host_vector(shape.dims()), value);
}
Tensor empty(const Shape& shape, EmptyAttrs attrs) {
  static const OpHandle op("Empty");
  return emit(op, {host_vector(shape.dims())}, attrs);
}
Tensor zeros(const Tensor& shape, DType dtype) {
  static const OpHandle op("Empty");
  return emit(op, {shape}, EmptyAttrs{dtype, true});
}
Tensor zeros(const Shape& shape, DType dtype) { return empty(shape, {dtype, true}); }
Tensor ones(const Shape& shape, DType dtype) { return fill(shape, scalar(1, dtype)); }
Tensor ones(const Tensor& shape, DType dtype) { return fill(shape, scalar(1, dtype)); }
Tensor zeros_like(const Tensor& x, LikeAttrs attrs) {
  static const OpHandle op("ZerosLike");
  return emit(op, {x}, attrs);
}
Tensor ones_like(const Tensor& x, LikeAttrs attrs) {
  static const OpHandle op("OnesLike");
  return emit(op, {x}, attrs);
}
Tensor zeros_like(const Tensor& x) { return zeros_like(x, LikeAttrs{}); }
Tensor ones_like(const Tensor& x) { return ones_like(x, LikeAttrs{}); }

Tensor eye(int64_t n, DType dtype) { return eye(n, {.dtype = dtype}); }
Tensor eye(int64_t rows, EyeOptions options) {
  const int64_t columns = options.columns < 0 ? rows : options.columns;
  Shape shape = options.batch_shape;
  shape.push_back(std::min(rows, columns));
  return matrix_diag(ones(shape, options.dtype), {.num_rows = rows, .num_cols = columns});
}

Tensor range(const Tensor& start, const Tensor& limit, const Tensor& delta) {
  static const OpHandle op("Range");
  return emit(op, {start, limit, delta});
}
Tensor range(Scalar start, Scalar limit, Scalar delta, DType dtype) {
  return range(scalar(start, dtype), scalar(limit, dtype), scalar(delta, dtype));
}
Tensor range(int64_t limit, DType dtype) {
  return range(Scalar(0), Scalar(static_cast<long>(limit)), Scalar(1), dtype);
}

Tensor linspace(const Tensor& start, const Tensor& stop, LinSpaceAttrs attrs) {
  static const OpHandle op("LinSpace");
  if (is_integer(start.dtype())) {
    return linspace(cast(start, DType::kFloat64), cast(stop, DType::kFloat64), attrs);
  }
  if (start.shape() == stop.shape() && start.shape().is_known()) {
    return emit(op, {start, stop}, attrs);
  }
  const Tensor both = broadcast_dynamic_shape(shape(start), shape(stop));
  return emit(op, {broadcast_to(start, both), broadcast_to(stop, both)}, attrs);
}

}  // namespace tandem
