#include "ops/nn_norm_grad.h"

#include "ops/accumulate.h"

namespace tandem::nn {

NormGradGrad norm_grad_grad(const NormGradCall& call, const Tensor& u, const Tensor& v,
                            const Tensor& z) {
  const auto mean_of = [&](const Tensor& t) {
    return reduce_mean(t, {.axis = call.axis, .keepdims = true});
  };
  const Tensor& r = call.r;
  const Tensor h = (call.x - call.mean) * r;
  const auto scaled = [&](const Tensor& t) {
    return call.scale.defined() ? t * call.scale : t;
  };
  const Tensor w = scaled(call.dy);
  NormGradGrad result;
  Tensor by_h;  // gradient of h
  if (u.defined()) {
    if (call.constant_moments) {
      const Tensor ru = u * r;
      result.dy = scaled(ru);
      if (call.scale.defined()) result.scale = sum_like(call.dy * ru, call.scale);
    } else {
      const Tensor uh = mean_of(u * h);
      const Tensor wh = mean_of(w * h);
      const Tensor projected = r * (u - mean_of(u) - h * uh);
      result.dy = scaled(projected);
      if (call.scale.defined()) result.scale = sum_like(call.dy * projected, call.scale);
      by_h = negative(r * (u * wh + w * uh));
      // dr/dx = -r² h / n, and Σ u · dx / r is the gradient of r.
      const Tensor dx = r * (w - mean_of(w) - h * wh);
      result.x = negative(mean_of(u * dx) * r * h);
    }
  }
  if (v.defined()) {
    accumulate(result.dy, v * h);
    accumulate(by_h, v * call.dy);
  }
  if (z.defined()) accumulate(result.dy, broadcast_like(z, call.dy));
  if (by_h.defined()) {
    accumulate(result.x, call.constant_moments
                             ? by_h * r
                             : r * (by_h - mean_of(by_h) - h * mean_of(by_h * h)));
  }
  return result;
}

}  // namespace tandem::nn
