// The second derivative shared by batch and layer normalisation, written with ops.
#pragma once

#include "tandem/ops.h"

namespace tandem::nn {

/// A normalisation gradient op computes, with h = (x - mean) * r, w = dy * scale and m()
/// the mean over `axis`:  dx = r * (w - m(w) - h * m(w * h)),  dscale = Σ dy * h, doffset
/// = Σ dy.
struct NormGradCall {
  Ints axis;
  Tensor dy, x, scale;            // scale broadcasts to x; undefined: 1
  Tensor mean, r;                 // moments of x that broadcast to x
  bool constant_moments = false;  // inference: mean and r do not depend on x, dx = r * w
};
/// Gradients with respect to dy, x (moments included) and scale, for gradients u of dx, v
/// of dscale and z of doffset (v and z broadcast to x; any may be undefined).
struct NormGradGrad {
  Tensor dy, x, scale;
};
NormGradGrad norm_grad_grad(const NormGradCall& call, const Tensor& u, const Tensor& v,
                            const Tensor& z);

}  // namespace tandem::nn
