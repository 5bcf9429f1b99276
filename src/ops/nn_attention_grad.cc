// The second derivative of attention, written with ops on whole matrices of scores. It is
// asked for rarely.
#include <cmath>

#include <fmt/format.h>

#include "op/grad.h"
#include "ops/accumulate.h"
#include "ops/nn_attention.h"
#include "tandem/ops.h"

namespace tandem::nn {

namespace {

// Keys that each query may see, [queries, keys].
Tensor causal_mask(const Tensor& scores) {
  const Tensor sizes = shape(scores);
  const auto size_at = [&](int64_t i) {
    return reshape(slice(sizes, Shape{i}, Ints{1}), Shape{});
  };
  const Tensor queries = size_at(2), keys = size_at(3);
  const Tensor zero = scalar(0, DType::kInt32), one = scalar(1, DType::kInt32);
  const Tensor last = reshape(range(zero, queries, one), Shape{-1, 1}) + (keys - queries);
  return less_equal(range(zero, keys, one), last);
}

Tensor hide(const Tensor& mask, const Tensor& x, double value) {
  return mask.defined() ? where(mask, x, scalar(value, x.dtype())) : x;
}

Tensor row_sum(const Tensor& x) {
  return reduce_sum(x, {.axis = {-1}, .keepdims = true});
}

}  // namespace

void grad_attention_grad(GradContext& c) {
  const auto& attrs = c.attrs<AttentionGradAttrs>();
  const DType dtype = c.input(0).dtype();
  const DType wide = dtype == DType::kFloat64 ? dtype : DType::kFloat32;
  const int head_axis = attrs.heads_first ? 1 : 2;
  if (c.input(0).dim(head_axis) != c.input(1).dim(head_axis)) {
    throw UnimplementedError(fmt::format(
        "ScaledDotProductAttentionGrad: no second derivative for {} query heads "
        "that share {} key heads. Repeat key and value for each query head.",
        c.input(0).dim(head_axis), c.input(1).dim(head_axis)));
  }
  // [batch, heads, time, size] in a dtype to compute with, and back.
  const auto open = [&](const Tensor& x) {
    const Tensor y = attrs.heads_first ? x : transpose(x, {{0, 2, 1, 3}});
    return dtype == wide ? y : cast(y, wide);
  };
  const auto close = [&](const Tensor& x) {
    const Tensor y = attrs.heads_first ? x : transpose(x, {{0, 2, 1, 3}});
    return dtype == wide ? y : cast(y, dtype);
  };
  const auto times = [](const Tensor& a, const Tensor& b) { return matmul(a, b); };
  const auto times_t = [](const Tensor& a, const Tensor& b) {
    return matmul(a, b, {.transpose_b = true});
  };
  const auto t_times = [](const Tensor& a, const Tensor& b) {
    return matmul(a, b, {.transpose_a = true});
  };

  const Tensor q = open(c.input(0)), k = open(c.input(1)), v = open(c.input(2)),
               dout = open(c.input(7));
  const double scale =
      attrs.scale != 0 ? attrs.scale : 1 / std::sqrt(static_cast<double>(q.dim(-1)));
  Tensor scores = times_t(q, k) * scale;
  if (c.input(4).defined()) {
    scores = scores + (dtype == wide ? c.input(4) : cast(c.input(4), wide));
  }
  Tensor mask = c.input(3);
  if (attrs.causal) {
    const Tensor causal = causal_mask(scores);
    mask = mask.defined() ? logical_and(mask, causal) : causal;
  }
  const Tensor p = hide(mask, softmax(hide(mask, scores, -1e30)), 0);
  const Tensor dp = times_t(dout, v);
  const Tensor dot = row_sum(p * dp);
  const Tensor ds = p * (dp - dot);

  // Gradients of what the op returns: dq = ds k scale, dk = dsᵀ q scale, dv = pᵀ dout,
  // ds.
  Tensor by_ds, by_p, by_q, by_k, by_dout;
  if (c.has_grad(0)) {
    const Tensor u = open(c.grad(0)) * scale;
    accumulate(by_ds, times_t(u, k));
    accumulate(by_k, t_times(ds, u));
  }
  if (c.has_grad(1)) {
    const Tensor u = open(c.grad(1)) * scale;
    accumulate(by_ds, times_t(q, u));
    accumulate(by_q, times(ds, u));
  }
  if (c.has_grad(2)) {
    const Tensor u = open(c.grad(2));
    accumulate(by_p, times_t(dout, u));
    accumulate(by_dout, times(p, u));
  }
  if (attrs.bias_grad && c.has_grad(3)) {
    accumulate(by_ds, dtype == wide ? c.grad(3) : cast(c.grad(3), wide));
  }
  if (by_ds.defined()) {
    const Tensor mixed = row_sum(by_ds * p);
    const Tensor by_dp = p * (by_ds - mixed);
    accumulate(by_dout, times(by_dp, v));
    c.set(2, close(t_times(by_dp, dout)));
    accumulate(by_p, by_ds * (dp - dot) - dp * mixed);
  }
  if (by_p.defined()) {
    const Tensor by_scores = p * (by_p - row_sum(by_p * p));
    accumulate(by_q, times(by_scores, k) * scale);
    accumulate(by_k, t_times(by_scores, q) * scale);
    if (c.input(4).defined()) {
      c.set(4, sum_like(dtype == wide ? by_scores : cast(by_scores, dtype), c.input(4)));
    }
  }
  if (by_q.defined()) c.set(0, close(by_q));
  if (by_k.defined()) c.set(1, close(by_k));
  if (by_dout.defined()) c.set(7, close(by_dout));
}

}  // namespace tandem::nn
