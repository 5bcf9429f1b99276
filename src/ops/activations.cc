// Activations of neural networks: elementwise, with gradients as ops of their own.
#include "tandem/ops/activations.h"

#include "ops/elementwise_common.h"
#include "ops/with_attrs.h"

namespace tandem {

namespace {

using namespace elementwise;
using namespace nn;

constexpr double kInvSqrt2Pi = 0.39894228040143267794;
constexpr double kSqrt2OverPi = 0.79788456080286535588;
constexpr double kGeluCubic = 0.044715;

OpDef activation(const char* name, const char* doc, DTypeMask types,
                 const char* expression, Reads reads, GradientFn gradient) {
  OpDef def = with_gradient(unary(name, doc, types, expression), reads, gradient);
  def.inputs = {{.name = "features"}};
  def.outputs = {"activations"};
  return def;
}
void infer_backprop(InferContext& c) {
  c.add_output(c.dtype(0), c.shape(0).merged_with(c.shape(1)));
}
OpDef backprop(const char* name, const char* doc, DTypeMask types, const char* expression,
               const char* second, GradientFn gradient) {
  OpDef def = with_gradient(binary(name, doc, types, expression), kReadsInputs, gradient);
  def.inputs = {{.name = "gradients"}, {.name = second}};
  def.outputs = {"backprops"};
  def.infer = infer_backprop;
  def.cost = cost<3>;
  return def;
}
OpDef with_20_flops(OpDef def) { return with_cost(std::move(def), cost<20>); }

void register_rectifiers(OpTable& t) {
  t.add(activation("Relu", "max(x, 0).", kReals, "x > 0 || x != x ? x : 0", kReadsOutput,
                   [](GradContext& c) { c.set(0, relu_grad(c.grad(), c.output(0))); }));
  t.add(backprop("ReluGrad", "The gradient where features are positive, else 0.", kReals,
                 "y > 0 ? x : 0", "features", [](GradContext& c) {
                   if (c.needs(0)) c.set(0, relu_grad(c.grad(), c.input(1)));
                   if (c.needs(1)) c.set(1, zeros_like(c.input(1)));
                 }));
  t.add(activation("Relu6", "min(max(x, 0), 6).", kReals,
                   "x > 0 || x != x ? (x > 6 ? 6 : x) : 0", kReadsOutput,
                   [](GradContext& c) { c.set(0, relu6_grad(c.grad(), c.output(0))); }));
  t.add(backprop("Relu6Grad", "The gradient where features are inside (0, 6), else 0.",
                 kReals, "y > 0 && y < 6 ? x : 0", "features", [](GradContext& c) {
                   if (c.needs(0)) c.set(0, relu6_grad(c.grad(), c.input(1)));
                   if (c.needs(1)) c.set(1, zeros_like(c.input(1)));
                 }));
  t.add(with_attrs<LeakyReluAttrs>(activation(
      "LeakyRelu", "x where positive, else alpha * x.", kFloats,
      "x > 0 ? x : x * {alpha}", kReadsX, [](GradContext& c) {
        c.set(0, leaky_relu_grad(c.grad(), c.input(0), c.attrs<LeakyReluAttrs>()));
      })));
  t.add(with_attrs<LeakyReluAttrs>(backprop(
      "LeakyReluGrad", "The gradient, times alpha where features are not positive.",
      kFloats, "y > 0 ? x : x * {alpha}", "features", [](GradContext& c) {
        const auto& attrs = c.attrs<LeakyReluAttrs>();
        if (c.needs(0)) c.set(0, leaky_relu_grad(c.grad(), c.input(1), attrs));
        if (c.needs(1)) c.set(1, zeros_like(c.input(1)));
      })));
}

// Second gradients of elu and selu: only where the output is negative.
void set_negative_part(GradContext& c) {
  if (!c.needs(1)) return;
  const Tensor& y = c.input(1);
  c.set(1, where(y < 0, c.grad() * c.input(0), zeros_like(y)));
}
void register_exponential_units(OpTable& t) {
  t.add(with_20_flops(activation(
      "Elu", "x where positive, else exp(x) - 1.", kFloats, "x > 0 ? x : expm1(x)",
      kReadsOutput, [](GradContext& c) { c.set(0, elu_grad(c.grad(), c.output(0))); })));
  t.add(backprop("EluGrad", "Gradient of Elu from its outputs.", kFloats,
                 "y < 0 ? x * (y + 1) : x", "outputs", [](GradContext& c) {
                   if (c.needs(0)) c.set(0, elu_grad(c.grad(), c.input(1)));
                   set_negative_part(c);
                 }));
  t.add(with_20_flops(activation(
      "Selu", "Elu with the scales that keep mean and variance.", kFloats,
      "x > 0 ? 1.0507009873554804934 * x : 1.7580993408473768599 * expm1(x)",
      kReadsOutput, [](GradContext& c) { c.set(0, selu_grad(c.grad(), c.output(0))); })));
  t.add(backprop("SeluGrad", "Gradient of Selu from its outputs.", kFloats,
                 "y < 0 ? x * (y + 1.7580993408473768599) : x * 1.0507009873554804934",
                 "outputs", [](GradContext& c) {
                   if (c.needs(0)) c.set(0, selu_grad(c.grad(), c.input(1)));
                   set_negative_part(c);
                 }));
}

void grad_softplus_grad(GradContext& c) {
  const Tensor &g = c.input(0), &x = c.input(1);
  if (c.needs(0)) c.set(0, softplus_grad(c.grad(), x));
  if (c.needs(1)) {
    const Tensor s = sigmoid(x);
    c.set(1, sigmoid_grad(s, c.grad() * g));
  }
}
void grad_softsign_grad(GradContext& c) {
  const Tensor &g = c.input(0), &x = c.input(1);
  if (c.needs(0)) c.set(0, softsign_grad(c.grad(), x));
  if (c.needs(1)) {
    const Tensor d = abs(x) + 1;
    c.set(1, c.grad() * g * (-2 * sign(x)) / (d * square(d)));
  }
}
void register_soft(OpTable& t) {
  t.add(with_20_flops(activation(
      "Softplus", "log(exp(x) + 1).", kFloats, "(x > 0 ? x : 0) + log1p(exp(-abs(x)))",
      kReadsX, [](GradContext& c) { c.set(0, softplus_grad(c.grad(), c.input(0))); })));
  t.add(with_20_flops(
      backprop("SoftplusGrad", "Gradient of Softplus: gradients / (1 + exp(-features)).",
               kFloats, "x / (1 + exp(-y))", "features", grad_softplus_grad)));
  t.add(
      activation("Softsign", "x / (|x| + 1).", kFloats, "x / (abs(x) + 1)", kReadsX,
                 [](GradContext& c) { c.set(0, softsign_grad(c.grad(), c.input(0))); }));
  t.add(backprop("SoftsignGrad", "Gradient of Softsign: gradients / (|features| + 1)².",
                 kFloats, "x / ((abs(y) + 1) * (abs(y) + 1))", "features",
                 grad_softsign_grad));
}

// f = x s(bx): f'' = b s' (2 + bx (1 - 2s)) with s' = s (1 - s).
void grad_silu_grad(GradContext& c) {
  const Tensor &g = c.input(0), &x = c.input(1);
  const auto& attrs = c.attrs<SiluAttrs>();
  if (c.needs(0)) c.set(0, silu_grad(c.grad(), x, attrs));
  if (c.needs(1)) {
    const Tensor bx = x * attrs.beta;
    const Tensor s = sigmoid(bx);
    const Tensor slope = sigmoid_grad(s, c.grad() * g);
    c.set(1, slope * (2 + bx * (1 - 2 * s)) * attrs.beta);
  }
}
// The second derivative of gelu: density * (2 - x²), or that of the tanh formula.
Tensor gelu_curvature(const Tensor& x, bool approximate) {
  const Tensor x2 = square(x);
  if (!approximate) return kInvSqrt2Pi * exp(x2 * -0.5) * (2 - x2);
  const Tensor th = tanh(kSqrt2OverPi * (x + kGeluCubic * x * x2));
  const Tensor rest = 1 - square(th);
  const Tensor slope = kSqrt2OverPi * (1 + 3 * kGeluCubic * x2);
  const Tensor bend = 6 * kSqrt2OverPi * kGeluCubic * x;
  return rest * (slope + 0.5 * x * (bend - 2 * th * square(slope)));
}
void grad_gelu_grad(GradContext& c) {
  const Tensor &g = c.input(0), &x = c.input(1);
  const auto& attrs = c.attrs<GeluAttrs>();
  if (c.needs(0)) c.set(0, gelu_grad(c.grad(), x, attrs));
  if (c.needs(1)) c.set(1, c.grad() * g * gelu_curvature(x, attrs.approximate));
}
void register_gated(OpTable& t) {
  t.add(with_20_flops(with_attrs<SiluAttrs>(
      activation("Silu", "x * sigmoid(beta * x).", kFloats, "x / (1 + exp(-{beta} * x))",
                 kReadsX, [](GradContext& c) {
                   c.set(0, silu_grad(c.grad(), c.input(0), c.attrs<SiluAttrs>()));
                 }))));
  t.add(with_20_flops(with_attrs<SiluAttrs>(backprop("SiluGrad", "Gradient of Silu.",
                                                     kFloats, "silugrad(x, y, {beta})",
                                                     "features", grad_silu_grad))));
  t.add(with_20_flops(with_attrs<GeluAttrs>(
      activation("Gelu", "x times the normal distribution function of x.", kFloats,
                 "{approximate} ? 0.5 * x * (1 + tanh(0.79788456080286535588 * (x + "
                 "0.044715 * x * x * x)))"
                 " : 0.5 * x * erfc(-x * 0.70710678118654752440)",
                 kReadsX, [](GradContext& c) {
                   c.set(0, gelu_grad(c.grad(), c.input(0), c.attrs<GeluAttrs>()));
                 }))));
  t.add(with_20_flops(with_attrs<GeluAttrs>(
      backprop("GeluGrad", "Gradient of Gelu.", kFloats, "gelugrad(x, y, {approximate})",
               "features", grad_gelu_grad))));
}

}  // namespace

void register_activation_ops(OpTable& t) {
  register_rectifiers(t);
  register_exponential_units(t);
  register_soft(t);
  register_gated(t);
}

namespace nn {

#define TANDEM_UNARY(function, Name) \
  Tensor function(const Tensor& x) { \
    static const OpHandle op(Name);  \
    return emit(op, {x});            \
  }
#define TANDEM_BACKPROP(function, Name)                    \
  Tensor function(const Tensor& g, const Tensor& second) { \
    static const OpHandle op(Name);                        \
    return emit(op, {g, second});                          \
  }
#define TANDEM_BACKPROP_WITH(function, Name, A)                     \
  Tensor function(const Tensor& g, const Tensor& second, A attrs) { \
    static const OpHandle op(Name);                                 \
    return emit(op, {g, second}, attrs);                            \
  }
TANDEM_UNARY(relu, "Relu")
TANDEM_UNARY(relu6, "Relu6")
TANDEM_UNARY(elu, "Elu")
TANDEM_UNARY(selu, "Selu")
TANDEM_UNARY(softplus, "Softplus")
TANDEM_UNARY(softsign, "Softsign")
TANDEM_BACKPROP(relu_grad, "ReluGrad")
TANDEM_BACKPROP(relu6_grad, "Relu6Grad")
TANDEM_BACKPROP(elu_grad, "EluGrad")
TANDEM_BACKPROP(selu_grad, "SeluGrad")
TANDEM_BACKPROP(softplus_grad, "SoftplusGrad")
TANDEM_BACKPROP(softsign_grad, "SoftsignGrad")
TANDEM_BACKPROP_WITH(leaky_relu_grad, "LeakyReluGrad", LeakyReluAttrs)
TANDEM_BACKPROP_WITH(gelu_grad, "GeluGrad", GeluAttrs)
TANDEM_BACKPROP_WITH(silu_grad, "SiluGrad", SiluAttrs)
#undef TANDEM_UNARY
#undef TANDEM_BACKPROP
#undef TANDEM_BACKPROP_WITH

Tensor leaky_relu(const Tensor& x, LeakyReluAttrs attrs) {
  static const OpHandle op("LeakyRelu");
  return emit(op, {is_integer(x.dtype()) ? cast(x, DType::kFloat32) : x}, attrs);
}
Tensor gelu(const Tensor& x, GeluAttrs attrs) {
  static const OpHandle op("Gelu");
  return emit(op, {x}, attrs);
}
Tensor silu(const Tensor& x, SiluAttrs attrs) {
  static const OpHandle op("Silu");
  return emit(op, {x}, attrs);
}
Tensor mish(const Tensor& x) { return x * tanh(softplus(x)); }
Tensor hard_sigmoid(const Tensor& x) { return relu6(x + 3) * (1.0 / 6); }
Tensor hard_silu(const Tensor& x) { return x * hard_sigmoid(x); }
Tensor soft_shrink(const Tensor& x, double threshold) {
  return x - clip_by_value(x, -threshold, threshold);
}
Tensor hard_shrink(const Tensor& x, double threshold) {
  return where(abs(x) > threshold, x, scalar(0, x.dtype()));
}
Tensor hard_tanh(const Tensor& x) { return clip_by_value(x, -1, 1); }
Tensor tanh_shrink(const Tensor& x) { return x - tanh(x); }
Tensor crelu(const Tensor& x) { return relu(concat({x, negative(x)}, {.axis = -1})); }
Tensor celu(const Tensor& x, double alpha) {
  return maximum(x, 0) + alpha * expm1(minimum(x, 0) / alpha);
}

}  // namespace nn
}  // namespace tandem
