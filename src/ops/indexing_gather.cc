// GatherV2, GatherNd, TakeAlongAxis, the sums that are their gradients, and embedding
// lookup.
#include <fmt/format.h>

#include "op/emitter.h"
#include "op/op_def.h"
#include "ops/expected_shape.h"
#include "ops/indexing_families.h"
#include "tandem/ops.h"

namespace tandem {

namespace {

// ---- GatherV2
// ---------------------------------------------------------------------------------
// Values pass through where a vector of known small integers is indexed by known ones.
void gather_values(const InferContext& c, TensorInfo& out) {
  const TensorInfo &params = c.input(0), &indices = c.input(1);
  if (!params.has_value || !indices.has_value || params.shape.rank() != 1) return;
  PartialValue result;
  for (int64_t i : indices.value) {
    const bool known = i >= 0 && i < static_cast<int64_t>(params.value.size());
    result.push_back(known ? params.value[static_cast<size_t>(i)] : kUnknownValue);
  }
  out.value = std::move(result);
  out.has_value = true;
}

int gather_batch_dims(const InferContext& c, int64_t given, int indices_rank) {
  const int64_t batch_dims = given < 0 ? given + indices_rank : given;
  if (batch_dims < 0 || batch_dims > indices_rank) {
    c.fail(fmt::format("Expected batch_dims in the range [{}, {}], but got {}",
                       -indices_rank, indices_rank, given));
  }
  return static_cast<int>(batch_dims);
}

void check_batch(const InferContext& c, const Shape& params, int batch_dims) {
  for (int i = 0; i < batch_dims; ++i) {
    const int64_t p = params[i], n = c.shape(1)[i];
    if (p < 0 || n < 0 || p == n) continue;
    c.fail(fmt::format(
        "params.shape[{0}]: {1} should be equal to indices.shape[{0}]: {2}", i, p, n));
  }
}

// What indices (input 1) choose of params.
Shape gathered(const InferContext& c, const Shape& params) {
  const auto& attrs = c.attrs<GatherAttrs>();
  const Shape& indices = c.shape(1);
  if (params.rank() == 0) c.fail("params must be at least 1 dimensional");
  if (!params.has_rank() || !indices.has_rank()) return Shape::unknown();
  const int axis = c.axis(attrs.axis, params.rank());
  const int batch_dims = gather_batch_dims(c, attrs.batch_dims, indices.rank());
  if (batch_dims >= params.rank()) {
    c.fail(fmt::format("batch_dims ({}) must be less than rank(params) ({})", batch_dims,
                       params.rank()));
  }
  if (axis < batch_dims) {
    c.fail(fmt::format("batch_dims ({}) must be less than or equal to axis ({})",
                       batch_dims, axis));
  }
  check_batch(c, params, batch_dims);
  Shape out = params.slice(0, axis);
  for (int i = batch_dims; i < indices.rank(); ++i) out.push_back(indices[i]);
  for (int i = axis + 1; i < params.rank(); ++i) out.push_back(params[i]);
  for (int i = 0; i < batch_dims; ++i) {
    if (out[i] < 0) out.set(i, indices[i]);
  }
  return out;
}

void infer_gather(InferContext& c) {
  const Shape out = gathered(c, c.shape(0));
  TensorInfo& info = c.add_output(c.dtype(0), out);
  if (out.has_rank()) gather_values(c, info);
}

void grad_gather(GradContext& c) {
  const auto& attrs = c.attrs<GatherAttrs>();
  const int rank = c.input(0).shape().rank();
  const bool first = attrs.axis == 0 || attrs.axis == -rank;
  if (first && attrs.batch_dims == 0) {
    const Tensor shape = c.shape_of_input(0, DType::kInt64);
    const Tensor indices = reshape(c.input(1), Shape{-1});
    const Tensor rows = expand_dims(size(c.input(1), {DType::kInt64}), 0);
    const Tensor tail = slice(shape, {1}, {-1});
    c.set(0, IndexedSlices{reshape(c.grad(), concat({rows, tail}, {.axis = 0})), indices,
                           shape});
    return;
  }
  static const OpHandle op("GatherV2Grad");
  c.set(0, emit(op, {c.grad(), c.input(1), c.input(0)}, attrs));
}

// grad, indices, params (its shape) → params' shape.
void infer_gather_grad(InferContext& c) {
  expect_shape(c, 0, gathered(c, c.shape(2)));
  c.add_output(c.dtype(2), c.shape(2));
}
void grad_gather_grad(GradContext& c) {
  c.set(0, gather(c.grad(), c.input(1), c.attrs<GatherAttrs>()));
}

// ---- GatherNd
// ---------------------------------------------------------------------------------
void infer_gather_nd(InferContext& c) {
  const Shape &params = c.shape(0), &indices = c.shape(1);
  c.require(params.rank() != 0, "params must be at least a vector");
  c.require(indices.rank() != 0, "indices must be at least a vector");
  if (!params.has_rank() || !indices.has_rank() || indices[indices.rank() - 1] < 0) {
    c.add_output(c.dtype(0), Shape::unknown());
    return;
  }
  const int64_t asked = c.attrs<BatchDimsAttrs>().batch_dims;
  if (asked < 0 || asked >= indices.rank() || asked >= params.rank()) {
    c.fail(fmt::format(
        "batch_dims = {} must be between 0 and the ranks of params {} and indices {}",
        asked, params.debug_str(), indices.debug_str()));
  }
  const auto batch_dims = static_cast<int>(asked);
  check_batch(c, params, batch_dims);
  const int64_t depth = indices[indices.rank() - 1];
  if (depth > params.rank() - batch_dims) {
    c.fail(fmt::format(
        "index innermost dimension length must be <= params rank; saw: {} vs. {}", depth,
        params.rank() - batch_dims));
  }
  Shape out = indices.slice(0, indices.rank() - 1);
  for (int i = batch_dims + static_cast<int>(depth); i < params.rank(); ++i) {
    out.push_back(params[i]);
  }
  for (int i = 0; i < batch_dims; ++i) {
    if (out[i] < 0) out.set(i, params[i]);
  }
  c.add_output(c.dtype(0), out);
}

void grad_gather_nd(GradContext& c) {
  const auto& attrs = c.attrs<BatchDimsAttrs>();
  const Shape& indices = c.input(1).shape();
  const Tensor shape = c.shape_of_input(0, DType::kInt64);
  if (attrs.batch_dims == 0 && indices.rank() == 2 && indices[1] == 1) {
    c.set(0, IndexedSlices{c.grad(), squeeze(c.input(1), {.axis = {-1}}), shape});
    return;
  }
  c.set(0, scatter_nd(c.input(1), c.grad(), shape, attrs));
}

// ---- TakeAlongAxis
// ----------------------------------------------------------------------------
// What indices (input 1) choose of x.
Shape taken(const InferContext& c, const Shape& x) {
  const Shape& indices = c.shape(1);
  c.require(x.rank() != 0, "x must have at least one dimension");
  if (!x.has_rank() || !indices.has_rank()) return indices;
  if (x.rank() != indices.rank()) {
    c.fail(fmt::format("x {} and indices {} must have one rank", x.debug_str(),
                       indices.debug_str()));
  }
  const int axis = c.axis(c.attrs<AxisAttrs>().axis, x.rank());
  Shape out = indices;
  for (int i = 0; i < x.rank(); ++i) {
    if (i == axis) continue;
    if (out[i] < 0) {
      out.set(i, x[i]);
    } else if (x[i] >= 0 && x[i] != out[i]) {
      c.fail(
          fmt::format("x {} and indices {} differ in dimension {}, which is not axis {}. "
                      "Broadcast one of them.",
                      x.debug_str(), indices.debug_str(), i, axis));
    }
  }
  return out;
}
void infer_take(InferContext& c) { c.add_output(c.dtype(0), taken(c, c.shape(0))); }
void grad_take(GradContext& c) {
  static const OpHandle op("TakeAlongAxisGrad");
  c.set(0, emit(op, {c.grad(), c.input(1), c.input(0)}, c.attrs<AxisAttrs>()));
}
void infer_take_grad(InferContext& c) {
  expect_shape(c, 0, taken(c, c.shape(2)));
  c.add_output(c.dtype(2), c.shape(2));
}
void grad_take_grad(GradContext& c) {
  c.set(0, take_along_axis(c.grad(), c.input(1), c.attrs<AxisAttrs>()));
}

std::vector<TypeVar> types(DTypeMask allowed) {
  return {{'T', allowed}, {'I', kIndices}};
}

}  // namespace

void register_gather_ops(OpTable& table) {
  table.add({.name = "GatherV2",
             .doc = "Slices of a tensor along an axis, chosen by indices.",
             .types = types(kAnyDType),
             .inputs = {{.name = "params"}, {.name = "indices", .type = 'I'}},
             .attrs = &attrs_type<GatherAttrs>(),
             .infer = infer_gather,
             .gradient = grad_gather,
             .grad_inputs = 2,
             .grad_outputs = 0,
             .effects = kMayFail});
  table.add({.name = "GatherV2Grad",
             .doc = "The gradient of GatherV2: slices added up along an axis.",
             .types = types(kPlain),
             .inputs = {{.name = "grad"},
                        {.name = "indices", .type = 'I'},
                        {.name = "params", .shape_only = true}},
             .attrs = &attrs_type<GatherAttrs>(),
             .infer = infer_gather_grad,
             .gradient = grad_gather_grad,
             .grad_inputs = 2,
             .grad_outputs = 0,
             .effects = kMayFail});
  table.add({.name = "GatherNd",
             .doc = "Slices of a tensor at coordinates.",
             .types = types(kAnyDType),
             .inputs = {{.name = "params"}, {.name = "indices", .type = 'I'}},
             .attrs = &attrs_type<BatchDimsAttrs>(),
             .infer = infer_gather_nd,
             .gradient = grad_gather_nd,
             .grad_inputs = 2,
             .grad_outputs = 0,
             .effects = kMayFail});
  table.add({.name = "TakeAlongAxis",
             .doc = "Elements of a tensor along an axis, one index for each.",
             .types = types(kAnyDType),
             .inputs = {{.name = "x"}, {.name = "indices", .type = 'I'}},
             .attrs = &attrs_type<AxisAttrs>(),
             .infer = infer_take,
             .gradient = grad_take,
             .grad_inputs = 2,
             .grad_outputs = 0,
             .effects = kMayFail});
  table.add({.name = "TakeAlongAxisGrad",
             .doc = "The gradient of TakeAlongAxis: elements added up along an axis.",
             .types = types(kPlain),
             .inputs = {{.name = "grad"},
                        {.name = "indices", .type = 'I'},
                        {.name = "x", .shape_only = true}},
             .attrs = &attrs_type<AxisAttrs>(),
             .infer = infer_take_grad,
             .gradient = grad_take_grad,
             .grad_inputs = 2,
             .grad_outputs = 0,
             .effects = kMayFail});
}

Tensor gather(const Tensor& params, const Tensor& indices, GatherAttrs attrs) {
  static const OpHandle op("GatherV2");
  if (attrs.axis == 0 && attrs.batch_dims > 0) attrs.axis = attrs.batch_dims;
  return emit(op, {params, indices}, attrs);
}
Tensor gather_nd(const Tensor& params, const Tensor& indices, BatchDimsAttrs attrs) {
  static const OpHandle op("GatherNd");
  return emit(op, {params, indices}, attrs);
}
Tensor take_along_axis(const Tensor& x, const Tensor& indices, AxisAttrs attrs) {
  static const OpHandle op("TakeAlongAxis");
  return emit(op, {x, indices}, attrs);
}

namespace nn {

namespace {
// Rows of rank(ids) dimensions of numbers, each scaled down to the norm.
Tensor clip_rows(const Tensor& rows, int ids_rank, double max_norm) {
  if (max_norm <= 0) return rows;
  Ints axes;
  for (int i = ids_rank; i < rows.rank(); ++i) axes.push_back(i);
  if (axes.empty()) axes.push_back(-1);
  const Tensor norm = sqrt(reduce_sum(square(rows), {.axis = axes, .keepdims = true}));
  const Tensor limit = scalar(max_norm, rows.dtype());
  return rows * limit / maximum(norm, limit);
}
}  // namespace

Tensor embedding_lookup(const Tensor& params, const Tensor& ids,
                        EmbeddingLookupOptions options) {
  return clip_rows(gather(params, ids), ids.rank(), options.max_norm);
}
Tensor embedding_lookup(const Variable& params, const Tensor& ids,
                        EmbeddingLookupOptions options) {
  return clip_rows(params.gather(ids), ids.rank(), options.max_norm);
}

}  // namespace nn

}  // namespace tandem
