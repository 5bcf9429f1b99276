// ScatterNd, TensorScatter*, and the two ops that slices of gradients need.
#include <fmt/format.h>

#include "op/emitter.h"
#include "op/op_def.h"
#include "ops/indexing_families.h"
#include "tandem/ops.h"

namespace tandem {

namespace {

// Checks indices [batch…, n…, k] and updates [batch…, n…, slice…] against the shape they
// write to.
void check_scatter(const InferContext& c, const Shape& indices, const Shape& updates,
                   const Shape& shape, int batch_dims) {
  c.require(indices.rank() != 0, "Indices shape must have rank at least one. Found: []");
  if (!indices.has_rank() || !updates.has_rank()) return;
  const int outer = indices.rank() - 1;
  const bool long_enough = updates.rank() >= outer;
  if (!long_enough || !indices.slice(0, outer).compatible_with(updates.slice(0, outer))) {
    c.fail(
        fmt::format("Dimensions [0,{0}) of indices[shape={1}] must match dimensions "
                    "[0,{0}) of updates[shape={2}]",
                    outer, indices.debug_str(), updates.debug_str()));
  }
  const int64_t depth = indices[outer];
  if (depth < 0 || !shape.has_rank()) return;
  const bool deep = depth > shape.rank() - batch_dims;
  const int from = deep ? kMaxRank : batch_dims + static_cast<int>(depth);
  if (deep || !shape.slice(from, shape.rank())
                   .compatible_with(updates.slice(outer, updates.rank()))) {
    c.fail(fmt::format(
        "Dimensions [{},{}) of input[shape={}] must match dimensions [{},{}) of "
        "updates[shape={}]",
        batch_dims + depth, shape.rank(), shape.debug_str(), outer, updates.rank(),
        updates.debug_str()));
  }
  for (int i = 0; i < batch_dims; ++i) {
    if (shape[i] >= 0 && indices[i] >= 0 && shape[i] != indices[i]) {
      c.fail(fmt::format("batch dimension {} is {} in indices and {} in the shape {}", i,
                         indices[i], shape[i], shape.debug_str()));
    }
  }
  const Shape indexed = shape.slice(0, from);
  const Shape places = indices.slice(0, outer);
  if (indexed.is_known() && places.is_known() && indexed.num_elements() == 0 &&
      places.num_elements() > 0) {
    c.fail(
        fmt::format("Indices and updates specified for empty output.  indices shape: {}",
                    indices.debug_str()));
  }
}

// ---- ScatterNd
// --------------------------------------------------------------------------------
void infer_scatter_nd(InferContext& c) {
  const Shape shape = c.shape_from_value(2);
  for (int64_t v : c.input(2).value) {
    c.require(v >= 0 || v == kUnknownValue,
              fmt::format("Shape must be non-negative, got {}", v));
  }
  const int64_t asked = c.attrs<BatchDimsAttrs>().batch_dims;
  if (asked < 0 || (c.shape(0).has_rank() && asked >= std::max(c.shape(0).rank(), 1)) ||
      (shape.has_rank() && asked > shape.rank())) {
    c.fail(fmt::format(
        "batch_dims = {} must be between 0 and the ranks of indices {} and the shape {}",
        asked, c.shape(0).debug_str(), shape.debug_str()));
  }
  const auto batch_dims = static_cast<int>(asked);
  check_scatter(c, c.shape(0), c.shape(1), shape, batch_dims);
  c.add_output(c.dtype(1), shape);
}
void grad_scatter_nd(GradContext& c) {
  c.set(1, gather_nd(c.grad(), c.input(0), c.attrs<BatchDimsAttrs>()));
}

// ---- TensorScatter*
// -----------------------------------------------------------------------------
void infer_tensor_scatter(InferContext& c) {
  c.require(c.shape(0).rank() != 0, "Shape must be at least rank 1 but is rank 0");
  check_scatter(c, c.shape(1), c.shape(2), c.shape(0), 0);
  c.add_output(c.dtype(0), c.shape(0));
}

void grad_scatter_update(GradContext& c) {
  const Tensor g = c.grad();
  if (c.needs(0))
    c.set(0, tensor_scatter_nd_update(g, c.input(1), zeros_like(c.input(2))));
  if (c.needs(2)) c.set(2, gather_nd(g, c.input(1)));
}
void grad_scatter_add(GradContext& c) {
  const Tensor g = c.grad();
  c.set(0, g);
  if (c.needs(2)) c.set(2, gather_nd(g, c.input(1)));
}
void grad_scatter_sub(GradContext& c) {
  const Tensor g = c.grad();
  c.set(0, g);
  if (c.needs(2)) c.set(2, negative(gather_nd(g, c.input(1))));
}
// The gradient goes to whoever supplied the extreme value; equals share it.
void grad_scatter_extreme(GradContext& c) {
  static const OpHandle equal("Equal");
  const Tensor &x = c.input(0), &indices = c.input(1), &y = c.input(2),
               &out = c.output(0);
  const Tensor g = c.grad();
  const Tensor from_x = cast(emit(equal, {x, out}), g.dtype());
  const Tensor from_y = cast(emit(equal, {y, gather_nd(out, indices)}), g.dtype());
  const Tensor sharers = tensor_scatter_nd_add(from_x, indices, from_y);
  const Tensor share = g / sharers;
  if (c.needs(0)) c.set(0, share * from_x);
  if (c.needs(2)) c.set(2, gather_nd(share, indices) * from_y);
}

OpDef tensor_scatter(const char* name, const char* doc, DTypeMask dtypes,
                     void (*gradient)(GradContext&), uint32_t grad_inputs = 2,
                     uint32_t grad_outputs = 0) {
  OpDef def;
  def.name = name;
  def.doc = doc;
  def.types = {{'T', dtypes}, {'I', kIndices}};
  def.inputs = {
      {.name = "tensor"}, {.name = "indices", .type = 'I'}, {.name = "updates"}};
  def.infer = infer_tensor_scatter;
  def.gradient = gradient;
  def.grad_inputs = grad_inputs;
  def.grad_outputs = grad_outputs;
  def.effects = kMayFail;
  def.inplace = 1;
  return def;
}

// ---- IndexedSlices
// ------------------------------------------------------------------------------
void infer_to_dense(InferContext& c) {
  const Shape shape = c.shape_from_value(2);
  const Shape &values = c.shape(0), &indices = c.shape(1);
  if (shape.has_rank()) {
    c.require(shape.rank() > 0, "dense_shape must have at least one dimension");
    if (indices.has_rank()) {
      Shape expected = indices;
      for (int i = 1; i < shape.rank(); ++i) expected.push_back(shape[i]);
      if (!values.compatible_with(expected)) {
        c.fail(fmt::format(
            "values have shape {}, but indices {} into dense_shape {} need {}",
            values.debug_str(), indices.debug_str(), shape.debug_str(),
            expected.debug_str()));
      }
    }
  }
  c.add_output(c.dtype(0), shape);
}
void grad_to_dense(GradContext& c) { c.set(0, gather(c.grad(), c.input(1))); }

Shape joined(const InferContext& c, int a, int b) {
  const Shape &x = c.shape(a), &y = c.shape(b);
  if (!x.has_rank() || !y.has_rank()) return Shape::unknown();
  c.rank_at_least(a, 1);
  if (x.rank() != y.rank() ||
      !x.slice(1, x.rank()).compatible_with(y.slice(1, y.rank()))) {
    c.fail(fmt::format("slices of shapes {} and {} cannot be joined", x.debug_str(),
                       y.debug_str()));
  }
  Shape out = x.slice(1, x.rank()).merged_with(y.slice(1, y.rank()));
  out.insert(0, x[0] < 0 || y[0] < 0 ? kUnknownDim : x[0] + y[0]);
  return out;
}

void infer_slices_concat(InferContext& c) {
  c.add_output(c.dtype(0), joined(c, 0, 2));
  const bool same = c.dtype(1) == c.dtype(3);
  c.add_output(same ? c.dtype(1) : DType::kInt64, joined(c, 1, 3));
}
void grad_slices_concat(GradContext& c) {
  const Tensor g = c.grad(0);
  const Tensor first = slice(c.shape_of_input(0), {0}, {1});
  const Tensor rows_of_b = slice(c.shape_of_input(2), {0}, {1});
  const Tensor none = zeros_like(first);
  const auto rows = [&](const Tensor& begin, const Tensor& count, int input) {
    const Tensor tail = slice(c.shape_of_input(input), {1}, {-1});
    return slice(g, concat({begin, zeros_like(tail)}, {.axis = 0}),
                 concat({count, tail}, {.axis = 0}));
  };
  if (c.needs(0)) c.set(0, rows(none, first, 0));
  if (c.needs(2)) c.set(2, rows(first, rows_of_b, 2));
}

}  // namespace

void register_scatter_ops(OpTable& table) {
  table.add({.name = "ScatterNd",
             .doc = "Updates added up at coordinates of a tensor of zeros.",
             .types = {{'T', kPlain}, {'I', kIndices}, {'S', kIndices}},
             .inputs = {{.name = "indices", .type = 'I'},
                        {.name = "updates"},
                        {.name = "shape", .type = 'S', .host = true}},
             .attrs = &attrs_type<BatchDimsAttrs>(),
             .infer = infer_scatter_nd,
             .gradient = grad_scatter_nd,
             .grad_inputs = 1,
             .grad_outputs = 0,
             .effects = kMayFail});
  table.add(tensor_scatter("TensorScatterUpdate",
                           "A tensor with slices at coordinates replaced.", kAnyDType,
                           grad_scatter_update, 2 | 4));
  table.add(tensor_scatter("TensorScatterAdd",
                           "A tensor with updates added at coordinates.", kPlain,
                           grad_scatter_add));
  table.add(tensor_scatter("TensorScatterSub",
                           "A tensor with updates subtracted at coordinates.", kNumbers,
                           grad_scatter_sub));
  table.add(tensor_scatter("TensorScatterMin",
                           "The minimum of a tensor and updates at coordinates.", kReals,
                           grad_scatter_extreme, ~0u, 1));
  table.add(tensor_scatter("TensorScatterMax",
                           "The maximum of a tensor and updates at coordinates.", kReals,
                           grad_scatter_extreme, ~0u, 1));
  table.add({.name = "IndexedSlicesToDense",
             .doc = "Indexed slices added up into one tensor.",
             .types = {{'T', kPlain}, {'I', kIndices}, {'S', kIndices}},
             .inputs = {{.name = "values"},
                        {.name = "indices", .type = 'I'},
                        {.name = "dense_shape", .type = 'S', .host = true}},
             .infer = infer_to_dense,
             .gradient = grad_to_dense,
             .grad_inputs = 2,
             .grad_outputs = 0,
             .effects = kMayFail});
  table.add({.name = "IndexedSlicesConcat",
             .doc = "Two sets of indexed slices as one.",
             .types = {{'T', kPlain}, {'I', kIndices}, {'J', kIndices}},
             .inputs = {{.name = "values_a"},
                        {.name = "indices_a", .type = 'I'},
                        {.name = "values_b"},
                        {.name = "indices_b", .type = 'J'}},
             .outputs = {"values", "indices"},
             .infer = infer_slices_concat,
             .gradient = grad_slices_concat,
             .grad_inputs = 0,
             .grad_outputs = 0});
}

Tensor scatter_nd(const Tensor& indices, const Tensor& updates, const Tensor& shape,
                  BatchDimsAttrs attrs) {
  static const OpHandle op("ScatterNd");
  return emit(op, {indices, updates, shape}, attrs);
}
Tensor scatter_nd(const Tensor& indices, const Tensor& updates, const Shape& shape,
                  BatchDimsAttrs attrs) {
  return scatter_nd(indices, updates, make_host_ints(shape.dims()), attrs);
}

#define TANDEM_TENSOR_SCATTER(function, name)                                           \
  Tensor function(const Tensor& tensor, const Tensor& indices, const Tensor& updates) { \
    static const OpHandle op(name);                                                     \
    return emit(op, {tensor, indices, updates});                                        \
  }
TANDEM_TENSOR_SCATTER(tensor_scatter_nd_update, "TensorScatterUpdate")
TANDEM_TENSOR_SCATTER(tensor_scatter_nd_add, "TensorScatterAdd")
TANDEM_TENSOR_SCATTER(tensor_scatter_nd_sub, "TensorScatterSub")
TANDEM_TENSOR_SCATTER(tensor_scatter_nd_min, "TensorScatterMin")
TANDEM_TENSOR_SCATTER(tensor_scatter_nd_max, "TensorScatterMax")
#undef TANDEM_TENSOR_SCATTER

}  // namespace tandem
