// Error, gamma, beta and Bessel functions.
#include "ops/elementwise_common.h"

namespace tandem {

namespace {

using namespace elementwise;

constexpr double kTwoOverSqrtPi = 1.12837916709551257390;
constexpr double kHalfSqrtPi = 0.88622692545275801365;
constexpr double kSqrt2Pi = 2.50662827463100050242;
constexpr double kSqrtHalf = 0.70710678118654752440;
constexpr DTypeMask kSingleOrDouble = mask(DType::kFloat32, DType::kFloat64);

OpDef special(const char* name, const char* doc, const char* expression, Reads reads,
              GradientFn gradient) {
  return with_cost(with_gradient(unary(name, doc, kFloats, expression), reads, gradient),
                   cost<60>);
}
OpDef special2(const char* name, const char* doc, DTypeMask types, const char* expression,
               GradientFn gradient) {
  return with_cost(
      with_gradient(binary(name, doc, types, expression), kReadsInputs, gradient),
      cost<200>);
}

void register_error_functions(OpTable& t) {
  t.add(special("Erf", "The error function.", "erf(x)", kReadsX, [](GradContext& c) {
    c.set(0, c.grad() * (kTwoOverSqrtPi * exp(negative(square(c.input(0))))));
  }));
  t.add(special("Erfc", "1 - erf(x), accurate for large x.", "erfc(x)", kReadsX,
                [](GradContext& c) {
                  c.set(0,
                        c.grad() * (-kTwoOverSqrtPi * exp(negative(square(c.input(0))))));
                }));
  t.add(special("Erfinv", "The inverse of the error function.", "erfinv(x)", kReadsOutput,
                [](GradContext& c) {
                  c.set(0, c.grad() * (kHalfSqrtPi * exp(square(c.output(0)))));
                }));
  t.add(special("Ndtri", "The quantile of the normal distribution.", "ndtri(x)",
                kReadsOutput, [](GradContext& c) {
                  c.set(0, c.grad() * (kSqrt2Pi * exp(square(c.output(0)) * 0.5)));
                }));
}

// The gamma density: d igamma(a, x) / dx.
Tensor gamma_density(const Tensor& a, const Tensor& x) {
  return exp(subtract((a - 1) * log(x) - x, lgamma(a)));
}
void grad_igamma(GradContext& c) {
  const Tensor &a = c.input(0), &x = c.input(1);
  if (c.needs(0)) c.set(0, sum_to(c.grad() * igamma_grad_a(a, x), a));
  if (c.needs(1)) c.set(1, sum_to(c.grad() * gamma_density(a, x), x));
}
void grad_igammac(GradContext& c) {
  const Tensor &a = c.input(0), &x = c.input(1);
  if (c.needs(0)) c.set(0, negative(sum_to(c.grad() * igamma_grad_a(a, x), a)));
  if (c.needs(1)) c.set(1, negative(sum_to(c.grad() * gamma_density(a, x), x)));
}
// No gradient with respect to the order.
void grad_zeta(GradContext& c) {
  const Tensor &x = c.input(0), &q = c.input(1);
  if (c.needs(1)) c.set(1, sum_to(c.grad() * (negative(x) * zeta(x + 1, q)), q));
}
void grad_polygamma(GradContext& c) {
  const Tensor &n = c.input(0), &x = c.input(1);
  if (c.needs(1)) c.set(1, sum_to(c.grad() * polygamma(n + 1, x), x));
}
// No gradient with respect to the shape parameters, as in TensorFlow.
void grad_betainc(GradContext& c) {
  if (!c.needs(2)) return;
  const Tensor &a = c.input(0), &b = c.input(1), &x = c.input(2);
  const Tensor log_beta = lgamma(a) + lgamma(b) - lgamma(a + b);
  const Tensor density = exp((b - 1) * log1p(negative(x)) + (a - 1) * log(x) - log_beta);
  c.set(2, sum_to(c.grad() * density, x));
}

void register_gamma_functions(OpTable& t) {
  t.add(special("Lgamma", "log |gamma(x)|.", "lgamma(x)", kReadsX,
                [](GradContext& c) { c.set(0, c.grad() * digamma(c.input(0))); }));
  t.add(special(
      "Digamma", "The derivative of lgamma.", "digamma(x)", kReadsX, [](GradContext& c) {
        c.set(0, c.grad() * polygamma(scalar(1, c.input(0).dtype()), c.input(0)));
      }));
  OpDef igamma_op = special2("Igamma", "Lower regularised incomplete gamma function.",
                             kFloats, "igamma(x, y)", grad_igamma);
  igamma_op.inputs = {{.name = "a"}, {.name = "x"}};
  t.add(std::move(igamma_op));
  OpDef igammac_op = special2("Igammac", "Upper regularised incomplete gamma function.",
                              kFloats, "igammac(x, y)", grad_igammac);
  igammac_op.inputs = {{.name = "a"}, {.name = "x"}};
  t.add(std::move(igammac_op));
  OpDef grad_a = special2("IgammaGradA", "d igamma(a, x) / d a.", kSingleOrDouble,
                          "igammagrada(x, y)", nullptr);
  grad_a.inputs = {{.name = "a"}, {.name = "x"}};
  t.add(std::move(grad_a));
  OpDef zeta_op = special2("Zeta", "Hurwitz zeta function: the sum of (q + k)^-x.",
                           kSingleOrDouble, "zeta(x, y)", grad_zeta);
  zeta_op.inputs = {{.name = "x"}, {.name = "q"}};
  t.add(std::move(zeta_op));
  OpDef polygamma_op = special2("Polygamma", "The a-th derivative of digamma at x.",
                                kSingleOrDouble, "polygamma(x, y)", grad_polygamma);
  polygamma_op.inputs = {{.name = "a"}, {.name = "x"}};
  t.add(std::move(polygamma_op));
  OpDef betainc_op = special2("Betainc", "Regularised incomplete beta function.",
                              kSingleOrDouble, "betainc(x, y, z)", grad_betainc);
  betainc_op.inputs = {{.name = "a"}, {.name = "b"}, {.name = "x"}};
  betainc_op.infer = infer_ternary;
  betainc_op.inplace = 7;
  t.add(std::move(betainc_op));
}

// i1' = i0 - i1 / x, which is 1/2 at 0.
void grad_bessel_i1(GradContext& c) {
  const Tensor& x = c.input(0);
  const Tensor zero = equal(x, 0);
  const Tensor safe = where(zero, ones_like(x), x);
  const Tensor slope = bessel_i0(x) - c.output(0) / safe;
  c.set(0, c.grad() * where(zero, scalar(0.5, x.dtype()), slope));
}
void grad_bessel_i1e(GradContext& c) {
  const Tensor& x = c.input(0);
  const Tensor zero = equal(x, 0);
  const Tensor safe = where(zero, ones_like(x), x);
  const Tensor slope = bessel_i0e(x) - c.output(0) * (sign(x) + reciprocal(safe));
  c.set(0, c.grad() * where(zero, scalar(0.5, x.dtype()), slope));
}
void grad_bessel_j1(GradContext& c) {
  const Tensor& x = c.input(0);
  const Tensor zero = equal(x, 0);
  const Tensor safe = where(zero, ones_like(x), x);
  const Tensor slope = bessel_j0(x) - c.output(0) / safe;
  c.set(0, c.grad() * where(zero, scalar(0.5, x.dtype()), slope));
}

void register_bessel_functions(OpTable& t) {
  t.add(special("BesselI0", "Modified Bessel function of the first kind, order 0.",
                "besseli0(x)", kReadsX,
                [](GradContext& c) { c.set(0, c.grad() * bessel_i1(c.input(0))); }));
  t.add(special("BesselI0e", "BesselI0 times exp(-|x|).", "besseli0e(x)", kReadsAll,
                [](GradContext& c) {
                  const Tensor& x = c.input(0);
                  c.set(0, c.grad() * (bessel_i1e(x) - sign(x) * c.output(0)));
                }));
  t.add(special("BesselI1", "Modified Bessel function of the first kind, order 1.",
                "besseli1(x)", kReadsAll, grad_bessel_i1));
  t.add(special("BesselI1e", "BesselI1 times exp(-|x|).", "besseli1e(x)", kReadsAll,
                grad_bessel_i1e));
  t.add(special(
      "BesselJ0", "Bessel function of the first kind, order 0.", "besselj0(x)", kReadsX,
      [](GradContext& c) { c.set(0, negative(c.grad() * bessel_j1(c.input(0)))); }));
  t.add(special("BesselJ1", "Bessel function of the first kind, order 1.", "besselj1(x)",
                kReadsAll, grad_bessel_j1));
  t.add(special("BesselK0", "Modified Bessel function of the second kind, order 0.",
                "besselk0(x)", kReadsX, [](GradContext& c) {
                  c.set(0, negative(c.grad() * bessel_k1(c.input(0))));
                }));
  t.add(special("BesselK0e", "BesselK0 times exp(x).", "besselk0e(x)", kReadsAll,
                [](GradContext& c) {
                  c.set(0, c.grad() * (c.output(0) - bessel_k1e(c.input(0))));
                }));
  t.add(special("BesselK1", "Modified Bessel function of the second kind, order 1.",
                "besselk1(x)", kReadsAll, [](GradContext& c) {
                  const Tensor& x = c.input(0);
                  c.set(0, negative(c.grad() * (bessel_k0(x) + c.output(0) / x)));
                }));
  t.add(special("BesselK1e", "BesselK1 times exp(x).", "besselk1e(x)", kReadsAll,
                [](GradContext& c) {
                  const Tensor& x = c.input(0);
                  c.set(0,
                        c.grad() * (c.output(0) * (1 - reciprocal(x)) - bessel_k0e(x)));
                }));
  t.add(special(
      "BesselY0", "Bessel function of the second kind, order 0.", "bessely0(x)", kReadsX,
      [](GradContext& c) { c.set(0, negative(c.grad() * bessel_y1(c.input(0)))); }));
  t.add(special("BesselY1", "Bessel function of the second kind, order 1.", "bessely1(x)",
                kReadsAll, [](GradContext& c) {
                  const Tensor& x = c.input(0);
                  c.set(0, c.grad() * (bessel_y0(x) - c.output(0) / x));
                }));
}

void register_integrals(OpTable& t) {
  t.add(special("Dawsn", "Dawson's integral.", "dawsn(x)", kReadsAll, [](GradContext& c) {
    c.set(0, c.grad() * (1 - 2 * c.input(0) * c.output(0)));
  }));
  t.add(
      special("Expint", "The exponential integral Ei.", "expint(x)", kReadsX,
              [](GradContext& c) { c.set(0, c.grad() * exp(c.input(0)) / c.input(0)); }));
  t.add(special("Spence", "The dilogarithm of 1 - x.", "spence(x)", kReadsX,
                [](GradContext& c) {
                  const Tensor& x = c.input(0);
                  const Tensor one = equal(x, 1);
                  const Tensor safe = where(one, zeros_like(x), x);
                  const Tensor slope = log(x) / (1 - safe);
                  c.set(0, c.grad() * where(one, scalar(-1, x.dtype()), slope));
                }));
}

}  // namespace

void register_elementwise_special_ops(OpTable& t) {
  register_error_functions(t);
  register_gamma_functions(t);
  register_bessel_functions(t);
  register_integrals(t);
}

#define TANDEM_UNARY(function, Name) \
  Tensor function(const Tensor& x) { \
    static const OpHandle op(Name);  \
    return emit(op, {x});            \
  }
#define TANDEM_BINARY(function, Name)                 \
  Tensor function(const Tensor& x, const Tensor& y) { \
    static const OpHandle op(Name);                   \
    return emit(op, {x, y});                          \
  }
TANDEM_UNARY(erf, "Erf")
TANDEM_UNARY(erfc, "Erfc")
TANDEM_UNARY(erfinv, "Erfinv")
TANDEM_UNARY(ndtri, "Ndtri")
TANDEM_UNARY(lgamma, "Lgamma")
TANDEM_UNARY(digamma, "Digamma")
TANDEM_UNARY(bessel_i0, "BesselI0")
TANDEM_UNARY(bessel_i0e, "BesselI0e")
TANDEM_UNARY(bessel_i1, "BesselI1")
TANDEM_UNARY(bessel_i1e, "BesselI1e")
TANDEM_UNARY(bessel_j0, "BesselJ0")
TANDEM_UNARY(bessel_j1, "BesselJ1")
TANDEM_UNARY(bessel_k0, "BesselK0")
TANDEM_UNARY(bessel_k0e, "BesselK0e")
TANDEM_UNARY(bessel_k1, "BesselK1")
TANDEM_UNARY(bessel_k1e, "BesselK1e")
TANDEM_UNARY(bessel_y0, "BesselY0")
TANDEM_UNARY(bessel_y1, "BesselY1")
TANDEM_UNARY(dawsn, "Dawsn")
TANDEM_UNARY(expint, "Expint")
TANDEM_UNARY(spence, "Spence")
TANDEM_BINARY(igamma, "Igamma")
TANDEM_BINARY(igammac, "Igammac")
TANDEM_BINARY(igamma_grad_a, "IgammaGradA")
TANDEM_BINARY(zeta, "Zeta")
TANDEM_BINARY(polygamma, "Polygamma")
#undef TANDEM_UNARY
#undef TANDEM_BINARY

Tensor betainc(const Tensor& a, const Tensor& b, const Tensor& x) {
  static const OpHandle op("Betainc");
  return emit(op, {a, b, x});
}
Tensor erfcinv(const Tensor& x) { return ndtri(x * 0.5) * -kSqrtHalf; }

}  // namespace tandem
