// Unary arithmetic, exponentials, logarithms, trigonometry and rounding.
#include "ops/elementwise_common.h"

namespace tandem {

namespace {

using namespace elementwise;

bool fold_neg(int64_t x, int64_t* r) {
  return *r = static_cast<int64_t>(0 - static_cast<uint64_t>(x)), true;
}
bool fold_abs(int64_t x, int64_t* r) { return x < 0 ? fold_neg(x, r) : (*r = x, true); }
bool fold_sign(int64_t x, int64_t* r) { return *r = (x > 0) - (x < 0), true; }
bool fold_square(int64_t x, int64_t* r) {
  return *r = static_cast<int64_t>(static_cast<uint64_t>(x) * static_cast<uint64_t>(x)),
         true;
}

Tensor x_of(const GradContext& c) { return conj(c.input(0)); }
Tensor y_of(const GradContext& c) { return conj(c.output(0)); }

void grad_square(GradContext& c) {
  const Tensor x = x_of(c);
  c.set(0, c.grad() * (x + x));
}
void grad_sign(GradContext& c) { c.set(0, zeros_like(c.input(0))); }
void grad_asin(GradContext& c) { c.set(0, c.grad() * rsqrt(1 - square(x_of(c)))); }
void grad_acos(GradContext& c) {
  c.set(0, negative(c.grad() * rsqrt(1 - square(x_of(c)))));
}

OpDef function(const char* name, const char* doc, DTypeMask types, const char* expression,
               Reads reads, GradientFn gradient) {
  return with_gradient(unary(name, doc, types, expression), reads, gradient);
}
OpDef slow(OpDef def) { return with_cost(std::move(def), cost<15>); }

void register_arithmetic(OpTable& t) {
  constexpr DTypeMask kSignedNumbers = kFloatsAndComplex | kSigned;
  t.add(with_infer(function("Neg", "-x.", kSignedNumbers, "-x", kReadsNothing,
                            [](GradContext& c) { c.set(0, negative(c.grad())); }),
                   infer_unary_fold<fold_neg>));
  t.add(
      with_infer(function("Abs", "|x|.", kFloats | kSigned, "abs(x)", kReadsX,
                          [](GradContext& c) { c.set(0, c.grad() * sign(c.input(0))); }),
                 infer_unary_fold<fold_abs>));
  t.add(with_infer(function("Sign", "-1, 0 or 1; x / |x| for complex numbers.",
                            kSignedNumbers, "sign(x)", kReadsNothing, grad_sign),
                   infer_unary_fold<fold_sign>));
  t.add(with_infer(function("Square", "x².", kNumbers, "x * x", kReadsX, grad_square),
                   infer_unary_fold<fold_square>));
  t.add(with_cost(
      function("Sqrt", "Square root.", kFloatsAndComplex, "sqrt(x)", kReadsOutput,
               [](GradContext& c) { c.set(0, sqrt_grad(c.output(0), c.grad())); }),
      cost<4>));
  t.add(with_cost(
      function("Rsqrt", "1 / sqrt(x).", kFloatsAndComplex, "rsqrt(x)", kReadsOutput,
               [](GradContext& c) { c.set(0, rsqrt_grad(c.output(0), c.grad())); }),
      cost<6>));
  t.add(with_cost(
      function("Reciprocal", "1 / x.", kFloatsAndComplex, "1 / x", kReadsOutput,
               [](GradContext& c) { c.set(0, reciprocal_grad(c.output(0), c.grad())); }),
      cost<4>));
}

void register_exponentials(OpTable& t) {
  constexpr DTypeMask k = kFloatsAndComplex;
  t.add(slow(function("Exp", "e to the power x.", k, "exp(x)", kReadsOutput,
                      [](GradContext& c) { c.set(0, c.grad() * y_of(c)); })));
  t.add(
      slow(function("Expm1", "exp(x) - 1, accurate near 0.", k, "expm1(x)", kReadsOutput,
                    [](GradContext& c) { c.set(0, c.grad() * (y_of(c) + 1)); })));
  t.add(slow(function("Log", "Natural logarithm.", k, "log(x)", kReadsX,
                      [](GradContext& c) { c.set(0, c.grad() / x_of(c)); })));
  t.add(slow(function("Log1p", "log(1 + x), accurate near 0.", k, "log1p(x)", kReadsX,
                      [](GradContext& c) { c.set(0, c.grad() / (x_of(c) + 1)); })));
  t.add(
      slow(function("Tanh", "Hyperbolic tangent.", k, "tanh(x)", kReadsOutput,
                    [](GradContext& c) { c.set(0, tanh_grad(c.output(0), c.grad())); })));
  t.add(slow(
      function("Sigmoid", "1 / (1 + exp(-x)).", k, "1 / (1 + exp(-x))", kReadsOutput,
               [](GradContext& c) { c.set(0, sigmoid_grad(c.output(0), c.grad())); })));
}

void register_trigonometry(OpTable& t) {
  constexpr DTypeMask k = kFloatsAndComplex;
  t.add(slow(function("Sin", "Sine.", k, "sin(x)", kReadsX,
                      [](GradContext& c) { c.set(0, c.grad() * cos(x_of(c))); })));
  t.add(slow(function("Cos", "Cosine.", k, "cos(x)", kReadsX, [](GradContext& c) {
    c.set(0, negative(c.grad() * sin(x_of(c))));
  })));
  t.add(slow(function("Tan", "Tangent.", k, "tan(x)", kReadsOutput, [](GradContext& c) {
    c.set(0, c.grad() * (1 + square(y_of(c))));
  })));
  t.add(slow(function("Asin", "Inverse sine.", k, "asin(x)", kReadsX, grad_asin)));
  t.add(slow(function("Acos", "Inverse cosine.", k, "acos(x)", kReadsX, grad_acos)));
  t.add(
      slow(function("Atan", "Inverse tangent.", k, "atan(x)", kReadsX,
                    [](GradContext& c) { c.set(0, c.grad() / (1 + square(x_of(c)))); })));
  t.add(slow(function("Sinh", "Hyperbolic sine.", k, "sinh(x)", kReadsX,
                      [](GradContext& c) { c.set(0, c.grad() * cosh(x_of(c))); })));
  t.add(slow(function("Cosh", "Hyperbolic cosine.", k, "cosh(x)", kReadsX,
                      [](GradContext& c) { c.set(0, c.grad() * sinh(x_of(c))); })));
  t.add(slow(function("Asinh", "Inverse hyperbolic sine.", k, "asinh(x)", kReadsOutput,
                      [](GradContext& c) { c.set(0, c.grad() / cosh(y_of(c))); })));
  t.add(slow(function("Acosh", "Inverse hyperbolic cosine.", k, "acosh(x)", kReadsOutput,
                      [](GradContext& c) { c.set(0, c.grad() / sinh(y_of(c))); })));
  t.add(
      slow(function("Atanh", "Inverse hyperbolic tangent.", k, "atanh(x)", kReadsX,
                    [](GradContext& c) { c.set(0, c.grad() / (1 - square(x_of(c)))); })));
}

void register_rounding(OpTable& t) {
  t.add(without_gradient(
      unary("Floor", "The next whole number below.", kFloats, "floor(x)")));
  t.add(without_gradient(
      unary("Ceil", "The next whole number above.", kFloats, "ceil(x)")));
  t.add(without_gradient(
      unary("Rint", "The nearest whole number, halves to even.", kFloats, "rint(x)")));
  t.add(with_infer(
      without_gradient(unary("Round", "The nearest whole number, halves to even.",
                             kFloats | kSigned, "round(x)")),
      infer_unary_fold<fold_same>));
}

// ---- Gradients as ops
// --------------------------------------------------------------------------

void grad_sigmoid_grad(GradContext& c) {
  const Tensor a = conj(c.input(0)), b = conj(c.input(1));
  const Tensor gb = c.grad() * b;
  c.set(0, gb - 2 * gb * a);
  c.set(1, sigmoid_grad(a, c.grad()));
}
void grad_tanh_grad(GradContext& c) {
  const Tensor a = conj(c.input(0)), b = conj(c.input(1));
  c.set(0, c.grad() * -2 * b * a);
  c.set(1, tanh_grad(a, c.grad()));
}
void grad_sqrt_grad(GradContext& c) {
  const Tensor ga = c.grad() / c.input(0);
  c.set(0, negative(conj(ga) * c.output(0)));
  c.set(1, ga * 0.5);
}
void grad_rsqrt_grad(GradContext& c) {
  const Tensor a = conj(c.input(0));
  c.set(0, conj(c.grad()) * -1.5 * c.input(1) * square(a));
  c.set(1, rsqrt_grad(a, c.grad()));
}
void grad_reciprocal_grad(GradContext& c) {
  const Tensor a = conj(c.input(0));
  c.set(0, conj(c.grad()) * -2 * c.input(1) * a);
  c.set(1, reciprocal_grad(a, c.grad()));
}

// y and dy have one shape; complex forms conjugate y, for which there is no expression.
void infer_grad(InferContext& c) {
  c.add_output(c.dtype(0), c.shape(0).merged_with(c.shape(1)));
}
OpDef gradient_of(const char* name, const char* doc, const char* expression, Reads reads,
                  GradientFn gradient) {
  OpDef def =
      with_gradient(binary(name, doc, kFloatsAndComplex, expression), reads, gradient);
  def.inputs = {{.name = "y"}, {.name = "dy"}};
  def.infer = infer_grad;
  def.cost = cost<4>;
  return def;
}
void register_gradients(OpTable& t) {
  t.add(gradient_of("SigmoidGrad",
                    "Gradient of Sigmoid from its result y: dy * y * (1 - y).",
                    "y * x * (1 - x)", kReadsInputs, grad_sigmoid_grad));
  t.add(gradient_of("TanhGrad", "Gradient of Tanh from its result y: dy * (1 - y²).",
                    "y * (1 - x * x)", kReadsInputs, grad_tanh_grad));
  t.add(gradient_of("SqrtGrad", "Gradient of Sqrt from its result y: dy * 0.5 / y.",
                    "y * 0.5 / x", {1, 1}, grad_sqrt_grad));
  t.add(gradient_of("RsqrtGrad", "Gradient of Rsqrt from its result y: dy * -0.5 * y³.",
                    "y * (-0.5 * x) * (x * x)", kReadsInputs, grad_rsqrt_grad));
  t.add(gradient_of("ReciprocalGrad",
                    "Gradient of Reciprocal from its result y: -dy * y².", "-y * (x * x)",
                    kReadsInputs, grad_reciprocal_grad));
}

}  // namespace

void register_elementwise_math_ops(OpTable& t) {
  register_arithmetic(t);
  register_exponentials(t);
  register_trigonometry(t);
  register_rounding(t);
  register_gradients(t);
}

#define TANDEM_UNARY(function, Name) \
  Tensor function(const Tensor& x) { \
    static const OpHandle op(Name);  \
    return emit(op, {x});            \
  }
TANDEM_UNARY(negative, "Neg")
TANDEM_UNARY(sign, "Sign")
TANDEM_UNARY(square, "Square")
TANDEM_UNARY(sqrt, "Sqrt")
TANDEM_UNARY(rsqrt, "Rsqrt")
TANDEM_UNARY(reciprocal, "Reciprocal")
TANDEM_UNARY(exp, "Exp")
TANDEM_UNARY(expm1, "Expm1")
TANDEM_UNARY(log, "Log")
TANDEM_UNARY(log1p, "Log1p")
TANDEM_UNARY(sin, "Sin")
TANDEM_UNARY(cos, "Cos")
TANDEM_UNARY(tan, "Tan")
TANDEM_UNARY(asin, "Asin")
TANDEM_UNARY(acos, "Acos")
TANDEM_UNARY(atan, "Atan")
TANDEM_UNARY(sinh, "Sinh")
TANDEM_UNARY(cosh, "Cosh")
TANDEM_UNARY(tanh, "Tanh")
TANDEM_UNARY(asinh, "Asinh")
TANDEM_UNARY(acosh, "Acosh")
TANDEM_UNARY(atanh, "Atanh")
TANDEM_UNARY(sigmoid, "Sigmoid")
TANDEM_UNARY(floor, "Floor")
TANDEM_UNARY(ceil, "Ceil")
TANDEM_UNARY(round, "Round")
TANDEM_UNARY(rint, "Rint")
#undef TANDEM_UNARY

#define TANDEM_GRADIENT(function, Name)                \
  Tensor function(const Tensor& y, const Tensor& dy) { \
    static const OpHandle op(Name);                    \
    return emit(op, {y, dy});                          \
  }
TANDEM_GRADIENT(sigmoid_grad, "SigmoidGrad")
TANDEM_GRADIENT(tanh_grad, "TanhGrad")
TANDEM_GRADIENT(sqrt_grad, "SqrtGrad")
TANDEM_GRADIENT(rsqrt_grad, "RsqrtGrad")
TANDEM_GRADIENT(reciprocal_grad, "ReciprocalGrad")
#undef TANDEM_GRADIENT

Tensor log_sigmoid(const Tensor& x) { return negative(nn::softplus(negative(x))); }
Tensor reciprocal_no_nan(const Tensor& x) {
  return divide_no_nan(scalar(1, x.dtype()), x);
}

}  // namespace tandem
