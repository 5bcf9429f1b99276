// Layer normalisation: one op for the forward pass and one for the gradient, which
// computes the moments of a row again while the row is in cache.
#include <algorithm>

#include <fmt/format.h>

#include "op/emitter.h"
#include "op/op_def.h"
#include "ops/nn_norm_grad.h"
#include "ops/nn_register.h"
#include "tandem/ops.h"

namespace tandem {

namespace {

using nn::LayerNormAttrs;

// The op takes trailing axes only; layer_normalization() moves others there. Returns
// their number.
int trailing_axes(const InferContext& c, const Shape& x) {
  const Ints& list = c.attrs<LayerNormAttrs>().axis;
  const int n = static_cast<int>(list.size());
  c.require(n > 0, "axis must name at least one dimension");
  if (!x.has_rank()) return n;
  Ints axes;
  for (int64_t a : list) axes.push_back(c.axis(a, x.rank()));
  std::sort(axes.begin(), axes.end());
  for (int i = 0; i < n; ++i) {
    if (axes[static_cast<size_t>(i)] != x.rank() - n + i) {
      c.fail(fmt::format(
          "axis must be the last dimensions of input {}. Transpose it, or call "
          "layer_normalization(), which does.",
          x.debug_str()));
    }
  }
  return n;
}

void check_parameter(const InferContext& c, int i, const Shape& x, int n) {
  if (c.dtype(i) == DType::kInvalid || !x.has_rank()) return;
  const Shape wanted = x.slice(x.rank() - n, x.rank());
  if (!c.shape(i).compatible_with(wanted)) {
    c.fail(fmt::format("{} must have shape {} for input {}, but has {}",
                       c.op().input_def(i).name, wanted.debug_str(), x.debug_str(),
                       c.shape(i).debug_str()));
  }
}

void infer_layer_norm(InferContext& c) {
  const int n = trailing_axes(c, c.shape(0));
  check_parameter(c, 1, c.shape(0), n);
  check_parameter(c, 2, c.shape(0), n);
  c.add_output(c.dtype(0), c.shape(0));
}

void grad_layer_norm(GradContext& c) {
  static const OpHandle op("LayerNormGrad");
  std::vector<Tensor> g =
      emit_all(op, {c.grad(), c.input(0), c.input(1)}, c.attrs<LayerNormAttrs>());
  c.set(0, g[0]);
  if (c.input(1).defined()) c.set(1, g[1]);
  if (c.input(2).defined()) c.set(2, g[2]);
}

void infer_layer_norm_grad(InferContext& c) {
  const Shape& x = c.shape(1);
  const int n = trailing_axes(c, x);
  check_parameter(c, 2, x, n);
  if (!c.shape(0).compatible_with(x)) {
    c.fail(fmt::format("y_backprop {} and x {} must have the same shape",
                       c.shape(0).debug_str(), x.debug_str()));
  }
  const Shape row =
      x.has_rank() ? x.slice(x.rank() - n, x.rank()) : Shape::unknown_of_rank(n);
  c.add_output(c.dtype(1), x);
  c.add_output(c.dtype(1), row);
  c.add_output(c.dtype(1), row);
}

void grad_layer_norm_grad(GradContext& c) {
  const auto& attrs = c.attrs<LayerNormAttrs>();
  const DType dtype = c.input(1).dtype();
  const DType wide = dtype == DType::kFloat64 ? dtype : DType::kFloat32;
  const auto widen = [&](const Tensor& t) {
    return !t.defined() || dtype == wide ? t : cast(t, wide);
  };
  const auto grad_of = [&](int i) { return c.has_grad(i) ? widen(c.grad(i)) : Tensor(); };
  nn::NormGradCall call{.axis = attrs.axis,
                        .dy = widen(c.input(0)),
                        .x = widen(c.input(1)),
                        .scale = widen(c.input(2)),
                        .mean = {},
                        .r = {}};
  const ReduceAttrs over{.axis = attrs.axis, .keepdims = true};
  call.mean = reduce_mean(call.x, over);
  call.r = 1.0 / sqrt(reduce_mean(square(call.x - call.mean), over) + attrs.epsilon);
  const nn::NormGradGrad g = nn::norm_grad_grad(call, grad_of(0), grad_of(1), grad_of(2));
  const auto set = [&](int i, const Tensor& t) {
    if (t.defined()) c.set(i, dtype == wide ? t : cast(t, dtype));
  };
  set(0, g.dy);
  set(1, g.x);
  set(2, g.scale);
}

Cost layer_norm_cost(const Signature& s) {
  Cost cost = default_cost(s);
  cost.flops = 8.0 * static_cast<double>(s.out().shape.num_elements());
  return cost;
}

}  // namespace

void register_nn_layer_norm_ops(OpTable& table) {
  table.add({.name = "LayerNorm",
             .doc = "Normalises over the last dimensions, then scales and shifts.",
             .types = {{'T', kFloats}},
             .inputs = {{.name = "x"},
                        {.name = "gamma", .optional = true},
                        {.name = "beta", .optional = true}},
             .attrs = &attrs_type<LayerNormAttrs>(),
             .infer = infer_layer_norm,
             .gradient = grad_layer_norm,
             .grad_inputs = 0b011,
             .grad_outputs = 0,
             .cost = layer_norm_cost});
  table.add({.name = "LayerNormGrad",
             .doc = "The gradient of LayerNorm.",
             .types = {{'T', kFloats}},
             .inputs = {{.name = "y_backprop"},
                        {.name = "x"},
                        {.name = "gamma", .optional = true}},
             .outputs = {"x_backprop", "gamma_backprop", "beta_backprop"},
             .attrs = &attrs_type<LayerNormAttrs>(),
             .infer = infer_layer_norm_grad,
             .gradient = grad_layer_norm_grad,
             .grad_outputs = 0,
             .cost = layer_norm_cost});
}

namespace nn {

Tensor layer_normalization(const Tensor& x, const Tensor& gamma, const Tensor& beta,
                           LayerNormAttrs attrs) {
  static const OpHandle op("LayerNorm");
  if (!x.shape().has_rank()) return emit(op, {x, gamma, beta}, attrs);
  const int rank = x.rank();
  std::vector<bool> chosen(static_cast<size_t>(rank));
  for (int64_t& a : attrs.axis) {
    if (a < -rank || a >= rank) {
      throw InvalidArgumentError(fmt::format(
          "LayerNorm: axis {} is out of range [{}, {}) for a tensor of rank {}", a, -rank,
          rank, rank));
    }
    chosen[static_cast<size_t>(a < 0 ? a + rank : a)] = true;
  }
  Ints perm;
  for (int i = 0; i < rank; ++i) {
    if (!chosen[static_cast<size_t>(i)]) perm.push_back(i);
  }
  const int kept = static_cast<int>(perm.size());
  for (int i = 0; i < rank; ++i) {
    if (chosen[static_cast<size_t>(i)]) perm.push_back(i);
  }
  attrs.axis = {};
  for (int i = kept; i < rank; ++i) attrs.axis.push_back(i - rank);
  if (std::is_sorted(perm.begin(), perm.end())) return emit(op, {x, gamma, beta}, attrs);
  Ints back(perm.size());
  for (size_t i = 0; i < perm.size(); ++i) {
    back[static_cast<size_t>(perm[i])] = static_cast<int64_t>(i);
  }
  return transpose(emit(op, {transpose(x, {perm}), gamma, beta}, attrs), {back});
}

}  // namespace nn

}  // namespace tandem
