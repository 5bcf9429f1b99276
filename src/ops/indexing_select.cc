// OneHot, Where, boolean masks and unique values.
#include <fmt/format.h>

#include "op/emitter.h"
#include "op/op_def.h"
#include "ops/expected_shape.h"
#include "ops/indexing_families.h"
#include "tandem/ops.h"

namespace tandem {

namespace {

// ---- OneHot
// -----------------------------------------------------------------------------------
void infer_one_hot(InferContext& c) {
  c.same_dtype(2, 3);
  c.require(
      c.shape(1).rank() <= 0,
      fmt::format("depth must be a scalar, but its shape is {}", c.shape(1).debug_str()));
  c.require(c.shape(2).rank() <= 0,
            fmt::format("on_value must be a scalar, but its shape is {}",
                        c.shape(2).debug_str()));
  c.require(c.shape(3).rank() <= 0,
            fmt::format("off_value must be a scalar, but its shape is {}",
                        c.shape(3).debug_str()));
  int64_t depth = kUnknownDim;
  if (const int64_t known = scalar_value(c, 1); known != kUnknownValue) {
    depth = known;
    c.require(depth >= 0, fmt::format("depth must be non-negative, got: {}", depth));
  }
  const Shape& indices = c.shape(0);
  if (!indices.has_rank()) {
    c.add_output(c.dtype(2), Shape::unknown());
    return;
  }
  const int64_t axis = c.attrs<AxisAttrs>().axis;
  if (axis < -1 || axis > indices.rank()) {
    c.fail(fmt::format("Expected axis to be -1 or between [0, {}).  But received: {}",
                       indices.rank() + 1, axis));
  }
  Shape out = indices;
  out.insert(axis < 0 ? indices.rank() : static_cast<int>(axis), depth);
  c.add_output(c.dtype(2), out);
}

// ---- Where
// ------------------------------------------------------------------------------------
void infer_where(InferContext& c) {
  const Shape& x = c.shape(0);
  c.require(x.rank() != 0,
            "Unhandled input dimensions: 0. Give the condition at least one.");
  c.add_output(DType::kInt64, Shape{kUnknownDim, x.has_rank() ? x.rank() : kUnknownDim});
}

// ---- Unique
// -----------------------------------------------------------------------------------
void infer_unique(InferContext& c) {
  const Shape& x = c.shape(0);
  const DType idx = c.attrs<UniqueAttrs>().out_idx;
  c.require(mask(idx) & kIndices, "out_idx must be int32 or int64");
  Shape y = Shape::unknown();
  int64_t n = kUnknownDim;
  const bool has_axis = c.num_inputs() > 1;
  const TensorInfo* axis = has_axis ? &c.input(1) : nullptr;
  if (has_axis && axis->shape.has_rank()) {
    c.require(
        axis->shape.rank() == 1 && axis->shape[0] <= 1,
        fmt::format("axis must be a vector of at most one element, but its shape is {}",
                    axis->shape.debug_str()));
  }
  const bool flat = !has_axis || (axis->shape.has_rank() && axis->shape[0] == 0);
  if (flat) {
    c.require(x.rank() < 0 || x.rank() == 1, "unique expects a 1D vector.");
    y = Shape{kUnknownDim};
    n = x.has_rank() ? x[0] : kUnknownDim;
  } else if (x.has_rank() && axis->has_value && !axis->value.empty() &&
             axis->value[0] != kUnknownValue) {
    const int at = c.axis(axis->value[0], x.rank());
    y = x;
    y.set(at, kUnknownDim);
    n = x[at];
  } else if (x.has_rank()) {
    y = Shape::unknown_of_rank(x.rank());
  }
  // Of a size that no memory has, where slices are empty: kernels count bytes by it.
  constexpr int64_t kMost = int64_t{1} << 48;
  c.require(n <= kMost, fmt::format("unique does not support inputs of more than {} "
                                    "slices, got {}",
                                    kMost, n));
  c.add_output(c.dtype(0), y);
  c.add_output(idx, {n});
  if (c.op().outputs.size() > 2) c.add_output(idx, {kUnknownDim});
}

OpDef unique_op(const char* name, const char* doc, bool axis, bool counts) {
  OpDef def;
  def.name = name;
  def.doc = doc;
  def.types = {{'T', kAnyDType}, {'A', kIndices}};
  def.inputs = {{.name = "x"}};
  if (axis) def.inputs.push_back({.name = "axis", .type = 'A', .host = true});
  def.outputs = {"y", "idx"};
  if (counts) def.outputs.push_back("count");
  def.attrs = &attrs_type<UniqueAttrs>();
  def.infer = infer_unique;
  def.differentiable = false;
  def.dynamic = true;
  return def;
}

UniqueResult unique_result(std::vector<Tensor> out) {
  return {out[0], out[1], out.size() > 2 ? out[2] : Tensor()};
}

}  // namespace

void register_select_ops(OpTable& table) {
  table.add(
      {.name = "OneHot",
       .doc = "One value where a new axis' position equals the index, another elsewhere.",
       .types = {{'T', kAnyDType},
                 {'I', kIndices | mask(DType::kInt8, DType::kUInt8)},
                 {'D', kIndices}},
       .inputs = {{.name = "indices", .type = 'I'},
                  {.name = "depth", .type = 'D', .host = true},
                  {.name = "on_value"},
                  {.name = "off_value"}},
       .attrs = &attrs_type<AxisAttrs>(),
       .infer = infer_one_hot,
       .differentiable = false});
  table.add({.name = "Where",
             .doc = "Coordinates of the elements that are not zero.",
             .types = {{'T', kPlain}},
             .inputs = {{.name = "condition"}},
             .outputs = {"index"},
             .infer = infer_where,
             .differentiable = false,
             .dynamic = true});
  table.add(unique_op("Unique", "Distinct values of a vector.", false, false));
  table.add(unique_op("UniqueV2", "Distinct slices along an axis.", true, false));
  table.add(unique_op("UniqueWithCounts",
                      "Distinct values of a vector and how often each appears.", false,
                      true));
  table.add(unique_op("UniqueWithCountsV2",
                      "Distinct slices along an axis and how often each appears.", true,
                      true));
}

Tensor one_hot(const Tensor& indices, const Tensor& depth, const Tensor& on_value,
               const Tensor& off_value, AxisAttrs attrs) {
  static const OpHandle op("OneHot");
  return emit(op, {indices, depth, on_value, off_value}, attrs);
}
Tensor one_hot(const Tensor& indices, int64_t depth, AxisAttrs attrs, DType dtype) {
  return one_hot(indices, constant(static_cast<int32_t>(depth)), scalar(1, dtype),
                 scalar(0, dtype), attrs);
}

Tensor where(const Tensor& condition) {
  static const OpHandle op("Where");
  return emit(op, {condition});
}

Tensor boolean_mask(const Tensor& tensor, const Tensor& mask, AxisAttrs attrs) {
  const Shape &shape = tensor.shape(), &m = mask.shape();
  if (m.rank() == 0) throw ValueError("boolean_mask: mask cannot be scalar.");
  if (!m.has_rank() || !shape.has_rank()) {
    throw ValueError(
        "boolean_mask: Number of mask dimensions must be specified, even if some "
        "dimensions are None.");
  }
  const int64_t axis = attrs.axis < 0 ? attrs.axis + shape.rank() : attrs.axis;
  const auto from = static_cast<int>(axis);
  const int to = from + m.rank();
  if (axis < 0 || to > shape.rank() || !shape.slice(from, to).compatible_with(m)) {
    throw ValueError(fmt::format(
        "boolean_mask: Shapes {} and {} are incompatible: the mask must have the "
        "tensor's "
        "dimensions from axis {} on (tensor {}).",
        axis < 0 || to > shape.rank() ? shape.str() : shape.slice(from, to).str(),
        m.str(), attrs.axis, shape.str()));
  }
  // The masked dimensions become one; sizes come from the tensor itself where they are
  // unknown.
  Tensor flat = tensor;
  if (m.rank() > 1) {
    const Tensor whole = tandem::shape(tensor, {DType::kInt64});
    const int64_t rest = -1;
    const Tensor joined = make_host_ints(std::span(&rest, 1));
    flat = reshape(tensor, concat({slice(whole, Shape{0}, {from}), joined,
                                   slice(whole, Shape{to}, {-1})},
                                  {.axis = 0}));
  }
  const Tensor indices = squeeze(where(reshape(mask, Shape{-1})), {.axis = {1}});
  return gather(flat, indices, {.axis = axis});
}

UniqueResult unique(const Tensor& x, UniqueAttrs attrs) {
  static const OpHandle op("Unique");
  return unique_result(emit_all(op, {x}, attrs));
}
UniqueResult unique_with_counts(const Tensor& x, UniqueAttrs attrs) {
  static const OpHandle op("UniqueWithCounts");
  return unique_result(emit_all(op, {x}, attrs));
}
UniqueResult unique(const Tensor& x, AxisAttrs axis, UniqueAttrs attrs) {
  static const OpHandle op("UniqueV2");
  return unique_result(
      emit_all(op, {x, make_host_ints(std::span(&axis.axis, 1))}, attrs));
}
UniqueResult unique_with_counts(const Tensor& x, AxisAttrs axis, UniqueAttrs attrs) {
  static const OpHandle op("UniqueWithCountsV2");
  return unique_result(
      emit_all(op, {x, make_host_ints(std::span(&axis.axis, 1))}, attrs));
}

}  // namespace tandem
