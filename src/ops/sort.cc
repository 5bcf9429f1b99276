// Sorting, selection and search along the last dimension or an axis.
#include <fmt/format.h>

#include "op/emitter.h"
#include "op/op_def.h"
#include "ops/expected_shape.h"
#include "ops/register.h"
#include "tandem/ops.h"

namespace tandem {

namespace {

// ---- Sort, ArgSort
// ----------------------------------------------------------------------------
void check_sort(InferContext& c) {
  c.rank_at_least(0, 1);
  if (c.shape(0).has_rank()) c.axis(c.attrs<SortAttrs>().axis, c.shape(0).rank());
}
void infer_sort(InferContext& c) {
  check_sort(c);
  c.add_output(c.dtype(0), c.shape(0));
}
void infer_argsort(InferContext& c) {
  check_sort(c);
  c.add_output(DType::kInt32, c.shape(0));
}

// Gradients of chosen elements go back to where these were.
Tensor put_back(const Tensor& grad, const Tensor& indices, const Tensor& x,
                int64_t axis) {
  static const OpHandle op("TakeAlongAxisGrad");
  return emit(op, {grad, indices, x}, AxisAttrs{axis});
}
void grad_sort(GradContext& c) {
  const auto& attrs = c.attrs<SortAttrs>();
  c.set(0, put_back(c.grad(), argsort(c.input(0), attrs), c.input(0), attrs.axis));
}

// ---- TopKV2
// -----------------------------------------------------------------------------------
void infer_top_k(InferContext& c) {
  const auto& attrs = c.attrs<TopKAttrs>();
  const Shape& x = c.shape(0);
  c.require(mask(attrs.index_type) & (kIndices | mask(DType::kInt16)),
            "index_type must be int16, int32 or int64");
  if (x.rank() == 0)
    c.fail(fmt::format("input must be >= 1-D, got shape {}", x.debug_str()));
  c.require(c.shape(1).rank() <= 0,
            fmt::format("k must be scalar, got shape {}", c.shape(1).debug_str()));
  Shape out = x;
  int64_t k = kUnknownDim;
  if (const int64_t known = scalar_value(c, 1); known != kUnknownValue) {
    k = known;
    c.require(k >= 0, fmt::format("Need k >= 0, got {}", k));
  }
  if (x.has_rank()) {
    const int64_t n = x[x.rank() - 1];
    if (k > n && n >= 0) {
      c.fail(fmt::format("input must have at least k columns. Had {}, needed {}", n, k));
    }
    out.set(x.rank() - 1, k);
  }
  c.add_output(c.dtype(0), out);
  c.add_output(attrs.index_type, out);
}
void grad_top_k(GradContext& c) {
  Tensor indices = c.output(1);
  if (indices.dtype() == DType::kInt16) indices = cast(indices, DType::kInt32);
  c.set(0, put_back(c.grad(0), indices, c.input(0), -1));
}

// ---- InTopKV2
// ---------------------------------------------------------------------------------
void infer_in_top_k(InferContext& c) {
  c.rank(0, 2);
  c.rank(1, 1);
  const Shape &predictions = c.shape(0), &targets = c.shape(1);
  if (predictions.has_rank() && targets.has_rank() && predictions[0] >= 0 &&
      targets[0] >= 0 && predictions[0] != targets[0]) {
    c.fail(
        fmt::format("First dimension of predictions {} must match length of targets {}",
                    predictions[0], targets[0]));
  }
  int64_t n = kUnknownDim;
  if (targets.has_rank()) n = targets[0];
  if (n < 0 && predictions.has_rank()) n = predictions[0];
  c.add_output(DType::kBool, {n});
}

// ---- NthElement
// -------------------------------------------------------------------------------
void infer_nth_element(InferContext& c) {
  const Shape& x = c.shape(0);
  if (x.rank() == 0) c.fail("Input must be at least rank 1 but is rank 0");
  if (const int64_t n = scalar_value(c, 1); n != kUnknownValue) {
    c.require(n >= 0, fmt::format("n must be non-negative but is {}", n));
    if (x.has_rank() && x[x.rank() - 1] >= 0 && x[x.rank() - 1] <= n) {
      c.fail(fmt::format("Input must have last dimension > n = {}", n));
    }
  }
  c.add_output(c.dtype(0), x.has_rank() ? x.slice(0, x.rank() - 1) : x);
}
// Elements equal to the result share its gradient.
void grad_nth_element(GradContext& c) {
  static const OpHandle equal("Equal");
  const Tensor g = expand_dims(c.grad(), -1);
  const Tensor chosen =
      cast(emit(equal, {expand_dims(c.output(0), -1), c.input(0)}), g.dtype());
  const Tensor sharers = reduce_sum(chosen, {.axis = {-1}, .keepdims = true});
  c.set(0, chosen / sharers * g);
}

// ---- LowerBound, UpperBound
// -------------------------------------------------------------------
void infer_bound(InferContext& c) {
  c.rank(0, 2);
  c.rank(1, 2);
  const Shape &sorted = c.shape(0), &values = c.shape(1);
  if (sorted.has_rank() && values.has_rank() && sorted[0] >= 0 && values[0] >= 0 &&
      sorted[0] != values[0]) {
    c.fail(fmt::format("Leading dim_size of both tensors must match: {} and {}",
                       sorted.debug_str(), values.debug_str()));
  }
  const DType out = c.attrs<BoundAttrs>().out_type;
  c.require(mask(out) & kIndices, "out_type must be int32 or int64");
  if (out == DType::kInt32 && sorted.has_rank() && sorted[1] > INT32_MAX) {
    c.fail("sorted inputs have more columns than int32 can count. Use out_type int64.");
  }
  c.add_output(out, values);
}

OpDef bound(const char* name, const char* doc) {
  OpDef def;
  def.name = name;
  def.doc = doc;
  def.types = {{'T', kReals}};
  def.inputs = {{.name = "sorted_inputs"}, {.name = "values"}};
  def.attrs = &attrs_type<BoundAttrs>();
  def.infer = infer_bound;
  def.differentiable = false;
  return def;
}

}  // namespace

void register_sort_ops(OpTable& table) {
  table.add({.name = "Sort",
             .doc = "Elements in order along an axis.",
             .types = {{'T', kReals}},
             .inputs = {{.name = "x"}},
             .attrs = &attrs_type<SortAttrs>(),
             .infer = infer_sort,
             .gradient = grad_sort,
             .grad_outputs = 0});
  table.add({.name = "ArgSort",
             .doc = "The indices that put elements in order along an axis.",
             .types = {{'T', kReals}},
             .inputs = {{.name = "x"}},
             .attrs = &attrs_type<SortAttrs>(),
             .infer = infer_argsort,
             .differentiable = false});
  table.add({.name = "TopKV2",
             .doc = "The k largest elements of the last dimension and their indices.",
             .types = {{'T', kReals}, {'K', kIndices | mask(DType::kInt16)}},
             .inputs = {{.name = "input"}, {.name = "k", .type = 'K', .host = true}},
             .outputs = {"values", "indices"},
             .attrs = &attrs_type<TopKAttrs>(),
             .infer = infer_top_k,
             .gradient = grad_top_k,
             .grad_inputs = 0,
             .grad_outputs = 2});
  table.add({.name = "InTopKV2",
             .doc = "Whether targets are among the k largest predictions.",
             .types = {{'T', mask(DType::kFloat32)}, {'I', kIndices}},
             .inputs = {{.name = "predictions"},
                        {.name = "targets", .type = 'I'},
                        {.name = "k", .type = 'I', .host = true}},
             .outputs = {"precision"},
             .infer = infer_in_top_k,
             .differentiable = false});
  table.add({.name = "NthElement",
             .doc = "The n-th smallest (or largest) element of the last dimension.",
             .types = {{'T', kReals}, {'N', mask(DType::kInt32)}},
             .inputs = {{.name = "input"}, {.name = "n", .type = 'N', .host = true}},
             .outputs = {"values"},
             .attrs = &attrs_type<NthElementAttrs>(),
             .infer = infer_nth_element,
             .gradient = grad_nth_element,
             .grad_inputs = 1,
             .grad_outputs = 1});
  table.add(
      bound("LowerBound", "First places at which values could be put into sorted rows."));
  table.add(
      bound("UpperBound", "Last places at which values could be put into sorted rows."));
}

Tensor sort(const Tensor& x, SortAttrs attrs) {
  static const OpHandle op("Sort");
  return emit(op, {x}, attrs);
}
Tensor argsort(const Tensor& x, SortAttrs attrs) {
  static const OpHandle op("ArgSort");
  return emit(op, {x}, attrs);
}

TopKResult top_k(const Tensor& x, const Tensor& k, TopKAttrs attrs) {
  static const OpHandle op("TopKV2");
  const std::vector<Tensor> out = emit_all(op, {x, k}, attrs);
  return {out[0], out[1]};
}
TopKResult top_k(const Tensor& x, int64_t k, TopKAttrs attrs) {
  return top_k(x, constant(k), attrs);
}

Tensor in_top_k(const Tensor& targets, const Tensor& predictions, int64_t k) {
  static const OpHandle op("InTopKV2");
  const Tensor count = scalar(static_cast<long>(k), targets.dtype());
  return emit(op, {predictions, targets, count});
}

Tensor nth_element(const Tensor& x, int64_t n, NthElementAttrs attrs) {
  static const OpHandle op("NthElement");
  return emit(op, {x, constant(static_cast<int32_t>(n))}, attrs);
}

Tensor searchsorted(const Tensor& sorted, const Tensor& values,
                    SearchSortedOptions options) {
  static const OpHandle lower("LowerBound"), upper("UpperBound");
  const OpDef& op = options.side == SearchSide::kLeft ? lower : upper;
  if (sorted.rank() == 0 || values.rank() == 0) {
    throw InvalidArgumentError(
        "searchsorted: sorted_sequence and values need a last dimension. "
        "Give vectors.");
  }
  // All leading dimensions as one; sizes come from the tensors where they are unknown.
  const auto flat = [](const Tensor& x) {
    const int last_dim = x.rank() - 1;
    if (x.shape().is_known()) {
      return reshape(x, {x.shape().slice(0, last_dim).num_elements(), x.dim(last_dim)});
    }
    const Tensor last = slice(shape(x, {DType::kInt64}), Shape{last_dim}, {1});
    const int64_t rest = -1;
    return reshape(x, concat({make_host_ints(std::span(&rest, 1)), last}, {.axis = 0}));
  };
  const BoundAttrs attrs{options.out_type};
  if (sorted.rank() == 2 && values.rank() == 2) return emit(op, {sorted, values}, attrs);
  return reshape_like(emit(op, {flat(sorted), flat(values)}, attrs), values);
}

}  // namespace tandem
