// Elementwise activations of neural networks.
#pragma once

#include "tandem/ops/attrs.h"
#include "tandem/tensor.h"

namespace tandem::nn {

/// max(x, 0). Also declared in nn.h.
Tensor relu(const Tensor& x);
/// min(max(x, 0), 6).
Tensor relu6(const Tensor& x);

struct LeakyReluAttrs {
  double alpha = 0.2;
  TANDEM_ATTRS(LeakyReluAttrs, alpha)
};
/// x where positive, else alpha * x. Integers become float32.
Tensor leaky_relu(const Tensor& x, LeakyReluAttrs attrs = {});
/// x where positive, else exp(x) - 1.
Tensor elu(const Tensor& x);
/// elu with the fixed scales that keep mean and variance.
Tensor selu(const Tensor& x);

struct GeluAttrs {
  /// The tanh formula instead of the error function.
  bool approximate = false;
  TANDEM_ATTRS(GeluAttrs, approximate)
};
/// x times the normal distribution function of x.
Tensor gelu(const Tensor& x, GeluAttrs attrs = {});

struct SiluAttrs {
  double beta = 1;
  TANDEM_ATTRS(SiluAttrs, beta)
};
/// x * sigmoid(beta * x).
Tensor silu(const Tensor& x, SiluAttrs attrs = {});
inline Tensor swish(const Tensor& x, SiluAttrs attrs = {}) { return silu(x, attrs); }

/// log(exp(x) + 1).
Tensor softplus(const Tensor& x);
/// x / (|x| + 1).
Tensor softsign(const Tensor& x);
/// x * tanh(softplus(x)).
Tensor mish(const Tensor& x);
/// relu6(x + 3) / 6.
Tensor hard_sigmoid(const Tensor& x);
/// x * hard_sigmoid(x).
Tensor hard_silu(const Tensor& x);
/// x where |x| exceeds the threshold, moved toward zero by it; else 0.
Tensor soft_shrink(const Tensor& x, double threshold = 0.5);
/// x where |x| exceeds the threshold, else 0.
Tensor hard_shrink(const Tensor& x, double threshold = 0.5);
/// x clipped to [-1, 1].
Tensor hard_tanh(const Tensor& x);
/// x - tanh(x).
Tensor tanh_shrink(const Tensor& x);
/// relu of x and of -x side by side on the last axis.
Tensor crelu(const Tensor& x);
/// elu with a scale: x where positive, else alpha * (exp(x / alpha) - 1).
Tensor celu(const Tensor& x, double alpha = 1);

// Gradients as ops of their own: the gradient that arrives, and the forward input (or
// output).
Tensor relu_grad(const Tensor& gradients, const Tensor& features);
Tensor relu6_grad(const Tensor& gradients, const Tensor& features);
Tensor leaky_relu_grad(const Tensor& gradients, const Tensor& features,
                       LeakyReluAttrs attrs = {});
/// `outputs` of elu and selu.
Tensor elu_grad(const Tensor& gradients, const Tensor& outputs);
Tensor selu_grad(const Tensor& gradients, const Tensor& outputs);
Tensor gelu_grad(const Tensor& gradients, const Tensor& features, GeluAttrs attrs = {});
Tensor silu_grad(const Tensor& gradients, const Tensor& features, SiluAttrs attrs = {});
Tensor softplus_grad(const Tensor& gradients, const Tensor& features);
Tensor softsign_grad(const Tensor& gradients, const Tensor& features);

}  // namespace tandem::nn
