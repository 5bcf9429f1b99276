// Reductions over axes: definitions, gradients and public functions.
#include <algorithm>

#include <fmt/format.h>

#include "ops/reduce_parts.h"
#include "ops/register.h"
#include "tandem/ops.h"

namespace tandem {

Tensor with_reduced_axes(const Tensor& result, const Tensor& x,
                         const ReduceAttrs& attrs) {
  if (attrs.keepdims || attrs.no_axes) return result;
  const Shape& shape = x.shape();
  if (!shape.has_rank()) {
    // Only a full reduction is sure to broadcast as it is; axes of one sign can be put
    // back in order.
    Ints axes = attrs.axis;
    std::sort(axes.begin(), axes.end());
    if (!axes.empty() && axes[0] < 0) std::reverse(axes.begin(), axes.end());
    Tensor y = result;
    for (int64_t a : axes) y = expand_dims(y, a);
    return y;
  }
  const int rank = shape.rank();
  bool reduced[kMaxRank] = {};
  for (int i = 0; i < rank; ++i) reduced[i] = attrs.axis.empty();
  for (int64_t a : attrs.axis) reduced[a < 0 ? a + rank : a] = true;
  Shape kept = shape;
  int open = 0;
  for (int i = 0; i < rank; ++i) {
    if (reduced[i]) kept.set(i, 1);
    if (kept[i] == kUnknownDim) ++open;
  }
  if (open <= 1) return reshape(result, kept);
  Tensor y = result;
  for (int i = 0; i < rank; ++i) {
    if (reduced[i]) y = expand_dims(y, i);
  }
  return y;
}

namespace {

// Marks the reduced dimensions; checks axes with TensorFlow's words.
void reduced_axes(const InferContext& c, const ReduceAttrs& attrs, int rank,
                  bool* reduced) {
  std::fill_n(reduced, rank, attrs.axis.empty() && !attrs.no_axes);
  for (int64_t a : attrs.axis) {
    if (a < -rank || a >= rank) {
      c.fail(
          fmt::format("Invalid reduction dimension ({} for input with {} dimension(s). "
                      "Axes lie in [{}, {}).",
                      a, rank, -rank, rank));
    }
    bool& r = reduced[a < 0 ? a + rank : a];
    if (r) {
      c.fail(fmt::format(
          "Invalid reduction arguments: Axes contains duplicate dimension: {}. "
          "Name each axis once.",
          a < 0 ? a + rank : a));
    }
    r = true;
  }
}

Shape reduced_shape(const InferContext& c) {
  const auto& attrs = c.attrs<ReduceAttrs>();
  const Shape& x = c.shape(0);
  if (!x.has_rank()) {
    if (attrs.axis.empty() && !attrs.keepdims && !attrs.no_axes) return {};
    return Shape::unknown();
  }
  bool reduced[kMaxRank];
  reduced_axes(c, attrs, x.rank(), reduced);
  Shape out;
  for (int i = 0; i < x.rank(); ++i) {
    if (!reduced[i]) {
      out.push_back(x[i]);
    } else if (attrs.keepdims) {
      out.push_back(1);
    }
  }
  return out;
}

void infer_reduce(InferContext& c) {
  TensorInfo& out = c.add_output(c.dtype(0), reduced_shape(c));
  // Products and sums of shapes stay known values (sizes, flattened dimensions).
  const TensorInfo& in = c.input(0);
  const auto& attrs = c.attrs<ReduceAttrs>();
  const bool product = c.op().name == "Prod";
  if (!in.has_value || !is_integer(in.dtype) || in.shape.rank() != 1 || attrs.no_axes ||
      (!product && c.op().name != "Sum")) {
    return;
  }
  uint64_t total = product;
  for (int64_t v : in.value) {
    if (v == kUnknownValue) return;
    total = product ? total * static_cast<uint64_t>(v) : total + static_cast<uint64_t>(v);
  }
  const auto value = static_cast<int64_t>(total);
  const bool fits = in.dtype == DType::kInt64 ||
                    (in.dtype == DType::kInt32 && value == static_cast<int32_t>(value));
  if (!fits) return;
  out.value = {value};
  out.has_value = true;
}

void infer_moments(InferContext& c) {
  const Shape shape = reduced_shape(c);
  c.add_output(c.dtype(0), shape);
  c.add_output(c.dtype(0), shape);
}

void infer_scalar(InferContext& c) { c.add_output(c.dtype(0), {}); }

void infer_sum_like(InferContext& c) {
  const Shape &x = c.shape(0), &like = c.shape(1);
  Shape both;
  if (!broadcast_shapes(x, like, &both) || !both.compatible_with(x)) {
    c.fail(fmt::format(
        "shape {} cannot be summed to shape {}. The second must broadcast to the "
        "first.",
        x.debug_str(), like.debug_str()));
  }
  c.add_output(c.dtype(0), like);
}

// Reducing dimensions of size 1 only (or none) changes nothing but the shape.
std::optional<int64_t> view_same_size(const Signature& s) {
  const int64_t n = s.in(0).shape.num_elements();
  if (n > 0 && n == s.out().shape.num_elements()) return 0;
  return std::nullopt;
}

// How many elements were reduced into each result, as a scalar.
Tensor reduced_count(const GradContext& c, DType dtype) {
  const Shape &x = c.input(0).shape(), &y = c.output(0).shape();
  if (x.is_known() && y.is_known()) {
    const int64_t outputs = y.num_elements();
    const int64_t count = outputs ? x.num_elements() / outputs : 1;
    return scalar(static_cast<double>(count), dtype);
  }
  const Tensor n = c.size_of_input(0, DType::kFloat64);
  const Tensor m = cast(size(c.output(0), {DType::kInt64}), DType::kFloat64);
  return cast(n / maximum(m, ones_like(m)), dtype);
}

// A count may not fit into 16 bits where its inverse does.
Tensor divided_by_count(const GradContext& c, const Tensor& grad) {
  const DType dtype = grad.dtype();
  if (dtype != DType::kFloat16 && dtype != DType::kBFloat16)
    return grad / reduced_count(c, dtype);
  return cast(cast(grad, DType::kFloat32) / reduced_count(c, DType::kFloat32), dtype);
}

Tensor spread(const GradContext& c, const Tensor& grad) {
  return with_reduced_axes(grad, c.input(0), c.attrs<ReduceAttrs>());
}

void grad_sum(GradContext& c) {
  c.set(0, broadcast_like(spread(c, c.grad()), c.input(0)));
}
void grad_mean(GradContext& c) {
  c.set(0, broadcast_like(spread(c, divided_by_count(c, c.grad())), c.input(0)));
}

// The product of all other elements: running products from both sides, right with zeros
// too.
Tensor product_of_others(const Tensor& x, int64_t axis) {
  const Tensor before = cumprod(x, {.axis = axis, .exclusive = true});
  const Tensor after = cumprod(x, {.axis = axis, .exclusive = true, .reverse = true});
  return before * after;
}

void grad_prod(GradContext& c) {
  static const OpHandle conj("Conj");
  const auto& attrs = c.attrs<ReduceAttrs>();
  const Tensor& x = c.input(0);
  if (attrs.no_axes) return c.set(0, c.raw_grad(0));
  Tensor others;
  if (attrs.axis.size() == 1) {
    others = product_of_others(x, attrs.axis[0]);
  } else if (attrs.axis.empty() || (x.shape().has_rank() &&
                                    attrs.axis.size() == static_cast<size_t>(x.rank()))) {
    others = reshape_like(product_of_others(reshape(x, Shape{-1}), 0), x);
  } else {
    // The reduced axes go last and become one.
    const int rank = x.rank();
    bool reduced[kMaxRank] = {};
    for (int64_t a : attrs.axis) reduced[a < 0 ? a + rank : a] = true;
    Ints perm, back(static_cast<size_t>(rank));
    for (int pass = 0; pass < 2; ++pass) {
      for (int i = 0; i < rank; ++i) {
        if (reduced[i] == (pass == 1)) perm.push_back(i);
      }
    }
    for (size_t i = 0; i < perm.size(); ++i) {
      back[static_cast<size_t>(perm[i])] = static_cast<int64_t>(i);
    }
    const Tensor moved = transpose(x, {perm});
    // Sizes of the kept part as a tensor, then one open dimension.
    const auto kept = static_cast<int64_t>(perm.size() - attrs.axis.size());
    const Tensor sizes = concat(
        {slice(shape(moved), {0}, {kept}), constant(std::vector<int32_t>{-1})}, {0});
    others = transpose(
        reshape_like(product_of_others(reshape(moved, sizes), kept), moved), {back});
  }
  if (is_complex(x.dtype())) others = emit(conj, {others});
  c.set(0, others * spread(c, c.grad()));
}

// Equal extremes share the gradient.
void grad_extreme(GradContext& c) {
  static const OpHandle equal("Equal");
  const auto& attrs = c.attrs<ReduceAttrs>();
  const Tensor& x = c.input(0);
  const Tensor chosen = cast(emit(equal, {x, spread(c, c.output(0))}), x.dtype());
  const Tensor number = reduce_sum(chosen, attrs);
  c.set(0, chosen * spread(c, c.grad() / number));
}

void grad_norm(GradContext& c) {
  c.set(0, c.input(0) * spread(c, c.grad() / c.output(0)));
}
void grad_logsumexp(GradContext& c) {
  const Tensor& x = c.input(0);
  c.set(0, exp(x - spread(c, c.output(0))) * spread(c, c.grad()));
}
void grad_moments(GradContext& c) {
  const Tensor& x = c.input(0);
  Tensor result;
  if (c.has_grad(1)) {
    const Tensor g = c.grad(1);
    result = (x - spread(c, c.output(0))) * spread(c, divided_by_count(c, g + g));
    if (c.has_grad(0)) result = result + spread(c, divided_by_count(c, c.grad(0)));
  } else {
    result = broadcast_like(spread(c, divided_by_count(c, c.grad(0))), x);
  }
  c.set(0, result);
}
void grad_l2(GradContext& c) { c.set(0, c.input(0) * c.grad()); }
void grad_sum_like(GradContext& c) { c.set(0, broadcast_like(c.grad(), c.input(0))); }

Cost reduce_cost(const Signature& s) {
  Cost cost = default_cost(s);
  cost.flops = static_cast<double>(s.in(0).shape.num_elements());
  return cost;
}

OpDef reduction(const char* name, const char* doc, DTypeMask types) {
  OpDef def;
  def.name = name;
  def.doc = doc;
  def.types = {{'T', types}};
  def.inputs = {{.name = "input"}};
  def.attrs = &attrs_type<ReduceAttrs>();
  def.infer = infer_reduce;
  def.cost = reduce_cost;
  def.view = view_same_size;
  return def;
}

OpDef differentiable(OpDef def, void (*gradient)(GradContext&), uint32_t inputs,
                     uint32_t outputs) {
  def.gradient = gradient;
  def.grad_inputs = inputs;
  def.grad_outputs = outputs;
  return def;
}

OpDef without_view(OpDef def) {
  def.view = nullptr;
  return def;
}

}  // namespace

void register_reduce_ops(OpTable& table) {
  table.add(differentiable(reduction("Sum", "Sum of elements over axes.", kNumbers),
                           grad_sum, 0, 0));
  table.add(differentiable(
      reduction("Mean", "Mean of elements over axes; integers round toward zero.",
                kNumbers),
      grad_mean, 0, 0));
  table.add(differentiable(reduction("Prod", "Product of elements over axes.", kNumbers),
                           grad_prod, 1, 0));
  table.add(differentiable(
      reduction("Max", "Largest element over axes; NaN when there is one.", kReals),
      grad_extreme, 1, 1));
  table.add(differentiable(
      reduction("Min", "Smallest element over axes; NaN when there is one.", kReals),
      grad_extreme, 1, 1));
  for (bool any : {true, false}) {
    OpDef def = any ? reduction("Any", "Logical or over axes.", mask(DType::kBool))
                    : reduction("All", "Logical and over axes.", mask(DType::kBool));
    def.differentiable = false;
    table.add(def);
  }
  table.add(without_view(
      differentiable(reduction("EuclideanNorm",
                               "Square root of the sum of squares over axes.", kNumbers),
                     grad_norm, 1, 1)));
  table.add(differentiable(
      reduction("LogSumExp", "log(sum(exp(x))) over axes, without overflow.", kFloats),
      grad_logsumexp, 1, 1));

  OpDef moments = without_view(differentiable(
      reduction("Moments", "Mean and variance over axes in one pass.", kFloats),
      grad_moments, 1, 1));
  moments.outputs = {"mean", "variance"};
  moments.infer = infer_moments;
  table.add(moments);

  table.add({.name = "L2Loss",
             .doc = "Half the sum of squares of all elements.",
             .types = {{'T', kFloats}},
             .inputs = {{.name = "t"}},
             .infer = infer_scalar,
             .gradient = grad_l2,
             .grad_inputs = 1,
             .grad_outputs = 0,
             .cost = reduce_cost});
  table.add(
      {.name = "SumLike",
       .doc = "Sums down to the shape of another tensor: the inverse of broadcasting.",
       .types = {{'T', kNumbers}, {'U', kAnyDType}},
       .inputs = {{.name = "input"}, {.name = "like", .type = 'U', .shape_only = true}},
       .infer = infer_sum_like,
       .gradient = grad_sum_like,
       .grad_inputs = 0,
       .grad_outputs = 0,
       .cost = reduce_cost,
       .view = view_same_size});
  register_arg_ops(table);
  register_scan_ops(table);
  register_segment_ops(table);
  register_count_ops(table);
}

Tensor reduce_sum(const Tensor& x, ReduceAttrs attrs) {
  static const OpHandle op("Sum");
  return emit(op, {x}, attrs);
}
Tensor reduce_mean(const Tensor& x, ReduceAttrs attrs) {
  static const OpHandle op("Mean");
  return emit(op, {x}, attrs);
}
Tensor reduce_prod(const Tensor& x, ReduceAttrs attrs) {
  static const OpHandle op("Prod");
  return emit(op, {x}, attrs);
}
Tensor reduce_max(const Tensor& x, ReduceAttrs attrs) {
  static const OpHandle op("Max");
  return emit(op, {x}, attrs);
}
Tensor reduce_min(const Tensor& x, ReduceAttrs attrs) {
  static const OpHandle op("Min");
  return emit(op, {x}, attrs);
}
Tensor reduce_any(const Tensor& x, ReduceAttrs attrs) {
  static const OpHandle op("Any");
  return emit(op, {x}, attrs);
}
Tensor reduce_all(const Tensor& x, ReduceAttrs attrs) {
  static const OpHandle op("All");
  return emit(op, {x}, attrs);
}
Tensor reduce_euclidean_norm(const Tensor& x, ReduceAttrs attrs) {
  static const OpHandle op("EuclideanNorm");
  return emit(op, {x}, attrs);
}
Tensor reduce_logsumexp(const Tensor& x, ReduceAttrs attrs) {
  static const OpHandle op("LogSumExp");
  return emit(op, {x}, attrs);
}
MeanVariance mean_variance(const Tensor& x, ReduceAttrs attrs) {
  static const OpHandle op("Moments");
  std::vector<Tensor> both = emit_all(op, {x}, attrs);
  return {both[0], both[1]};
}
Tensor l2_loss(const Tensor& x) {
  static const OpHandle op("L2Loss");
  return emit(op, {x});
}
Tensor sum_like(const Tensor& x, const Tensor& like) {
  static const OpHandle op("SumLike");
  return emit(op, {x, like});
}

}  // namespace tandem
