// Activations and their gradients.
#include "ops/elementwise_cases.h"
#include "tandem/ops/activations.h"

namespace tandem::testing {

namespace {

double logistic(double x) { return 1 / (1 + std::exp(-x)); }
double normal_cdf(double x) { return 0.5 * (1 + std::erf(x * M_SQRT1_2)); }
double normal_pdf(double x) { return std::exp(-x * x / 2) / std::sqrt(2 * M_PI); }
double gelu_tanh(double x) {
  return 0.5 * x * (1 + std::tanh(std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x)));
}

// Spread so that no value lies near a corner of the function.
OpCase activation(const char* op, Real1 f, Attrs attrs = {}) {
  OpCase c = unary_case(op, -4.033, 4, f);
  c.inputs[0].spread = 0.0731;
  c.attrs = attrs;
  return c;
}
OpCase backprop(const char* op, double low, double spread, Real2 f, Attrs attrs = {}) {
  OpCase c;
  c.op = op;
  c.inputs = {{.shape = {3, 37}}, {.shape = {3, 37}, .low = low, .spread = spread}};
  c.dtypes = kFloatTypes;
  c.reference = each_real(f);
  c.attrs = attrs;
  return c;
}
template <class A>
Attrs with(const A& attrs) {
  return Attrs(attrs_ref(attrs));
}

void add_rectifiers(CaseList& cases) {
  std::vector<DType> reals = kFloatTypes;
  reals.insert(reals.end(), kSignedTypes.begin(), kSignedTypes.end());
  cases.push_back(activation("Relu", [](double x) { return x > 0 ? x : 0; }));
  cases.back().dtypes = reals;
  cases.push_back(
      activation("Relu6", [](double x) { return std::min(std::max(x, 0.0), 6.0); }));
  cases.back().dtypes = reals;
  cases.back().inputs[0].spread = 0.137;
  cases.push_back(fixed_case("Relu", "corners", {{kNan, kInf, -kInf, 0}},
                             {kNan, kInf, 0, 0}, kFloatTypes));
  cases.push_back(fixed_case("Relu6", "corners", {{kNan, kInf, -kInf, 0}},
                             {kNan, 6, 0, 0}, kFloatTypes));
  cases.push_back(backprop("ReluGrad", -4.033, 0.0731,
                           [](double g, double x) { return x > 0 ? g : 0; }));
  cases.push_back(backprop("Relu6Grad", -4.033, 0.137,
                           [](double g, double x) { return x > 0 && x < 6 ? g : 0; }));
  cases.push_back(fixed_case("ReluGrad", "nan", {{1, 2, 3}, {kNan, 0, 1}}, {0, 0, 3}));
  const auto leaky = [](double x) { return x > 0 ? x : 0.2 * x; };
  cases.push_back(activation("LeakyRelu", leaky));
  cases.push_back(activation(
      "LeakyRelu", [](double x) { return x > 0 ? x : 0.01 * x; },
      with(nn::LeakyReluAttrs{.alpha = 0.01})));
  cases.push_back(backprop(
      "LeakyReluGrad", -4.033, 0.0731,
      [](double g, double x) { return x > 0 ? g : 0.3 * g; },
      with(nn::LeakyReluAttrs{.alpha = 0.3})));
}

void add_exponential_units(CaseList& cases) {
  constexpr double kScale = 1.0507009873554805, kAlpha = 1.6732632423543772;
  cases.push_back(activation("Elu", [](double x) { return x > 0 ? x : std::expm1(x); }));
  cases.push_back(activation("Selu", [](double x) {
    return x > 0 ? kScale * x : kScale * kAlpha * std::expm1(x);
  }));
  cases.push_back(fixed_case("Elu", "corners", {{kNan, kInf, -kInf, 0}},
                             {kNan, kInf, -1, 0}, kFloatTypes));
  cases.push_back(backprop("EluGrad", -0.9013, 0.0171,
                           [](double g, double y) { return y < 0 ? g * (y + 1) : g; }));
  cases.push_back(backprop("SeluGrad", -0.9013, 0.0171, [](double g, double y) {
    return y < 0 ? g * (y + kScale * kAlpha) : g * kScale;
  }));
}

void add_soft(CaseList& cases) {
  cases.push_back(
      activation("Softplus", [](double x) { return std::log1p(std::exp(x)); }));
  cases.push_back(fixed_case("Softplus", "corners", {{kNan, kInf, -kInf, 0, 500, -80}},
                             {kNan, kInf, 0, std::log(2), 500, std::exp(-80.0)}));
  cases.push_back(backprop("SoftplusGrad", -4.033, 0.0731,
                           [](double g, double x) { return g * logistic(x); }));
  cases.push_back(
      activation("Softsign", [](double x) { return x / (std::fabs(x) + 1); }));
  cases.push_back(backprop("SoftsignGrad", -4.033, 0.0731, [](double g, double x) {
    const double d = std::fabs(x) + 1;
    return g / (d * d);
  }));
  const auto silu = [](double beta) {
    return [beta](double x) { return x * logistic(beta * x); };
  };
  const auto silu_grad = [](double beta) {
    return [beta](double g, double x) {
      const double s = logistic(beta * x);
      return g * (s + beta * x * s * (1 - s));
    };
  };
  cases.push_back(activation("Silu", silu(1)));
  cases.push_back(activation("Silu", silu(1.7), with(nn::SiluAttrs{.beta = 1.7})));
  cases.push_back(backprop("SiluGrad", -4.033, 0.0731, silu_grad(1)));
  cases.push_back(backprop("SiluGrad", -4.033, 0.0731, silu_grad(1.7),
                           with(nn::SiluAttrs{.beta = 1.7})));
}

void add_gelu(CaseList& cases) {
  const Attrs approximate = with(nn::GeluAttrs{.approximate = true});
  cases.push_back(activation("Gelu", [](double x) { return x * normal_cdf(x); }));
  cases.push_back(activation("Gelu", gelu_tanh, approximate));
  cases.push_back(backprop("GeluGrad", -4.033, 0.0731, [](double g, double x) {
    return g * (normal_cdf(x) + x * normal_pdf(x));
  }));
  cases.push_back(backprop(
      "GeluGrad", -4.033, 0.0731,
      [](double g, double x) {
        const double k = std::sqrt(2 / M_PI),
                     t = std::tanh(k * (x + 0.044715 * x * x * x));
        return g *
               (0.5 * (1 + t) + 0.5 * x * (1 - t * t) * k * (1 + 3 * 0.044715 * x * x));
      },
      approximate));
}

}  // namespace

void add_activation_cases(CaseList& cases) {
  add_rectifiers(cases);
  add_exponential_units(cases);
  add_soft(cases);
  add_gelu(cases);
}

}  // namespace tandem::testing
