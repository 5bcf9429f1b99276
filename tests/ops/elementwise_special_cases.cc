// Special functions, against other formulas for them: sums, integrals, functional
// equations.
#include <gtest/gtest.h>

#include "ops/elementwise_cases.h"
#include "ops/values.h"

namespace tandem::testing {

namespace {

// Composite Simpson rule.
double integral(double a, double b, const Real1& f, int n = 2000) {
  const double h = (b - a) / n;
  double sum = f(a) + f(b);
  for (int i = 1; i < n; ++i) sum += f(a + i * h) * (i % 2 ? 4 : 2);
  return sum * h / 3;
}
// The derivative of lgamma as a series with its tail summed by an integral.
double digamma(double x) {
  constexpr int kTerms = 20000;
  double sum = -0.57721566490153286061;
  for (int k = 0; k < kTerms; ++k) sum += 1.0 / (k + 1) - 1 / (k + x);
  return sum + std::log((kTerms + x - 0.5) / (kTerms + 0.5));
}
double zeta(double x, double q) {
  double sum = 0;
  constexpr int kTerms = 20000;
  for (int k = 0; k < kTerms; ++k) sum += std::pow(q + k, -x);
  return sum + std::pow(q + kTerms - 0.5, 1 - x) / (x - 1);
}
double bessel(double x, double order, bool modified) {
  return integral(0, M_PI,
                  [=](double t) {
                    return modified ? std::exp(x * std::cos(t)) * std::cos(order * t)
                                    : std::cos(order * t - x * std::sin(t));
                  }) /
         M_PI;
}
double bessel_k(double x, double order) {
  return integral(0, 12, [=](double t) {
    return std::exp(-x * std::cosh(t)) * std::cosh(order * t);
  });
}

OpCase loose(OpCase c, double tolerance) {
  c.tolerance = tolerance;
  c.grad_tolerance = 1e-4;
  return c;
}

void add_error_functions(CaseList& cases) {
  cases.push_back(unary_case("Erf", -3, 3, [](double x) { return std::erf(x); }));
  cases.push_back(unary_case("Erfc", -3, 3, [](double x) { return std::erfc(x); }));
  // Newton steps from a rough start.
  const auto erfinv = [](double y) {
    double x = y;
    for (int i = 0; i < 60; ++i) {
      x -= (std::erf(x) - y) * std::sqrt(M_PI) / 2 * std::exp(x * x) * 0.9;
    }
    return x;
  };
  cases.push_back(
      unary_case("Erfinv", -0.9, 0.9, erfinv, {DType::kFloat32, DType::kFloat64}));
  cases.back().tolerance = 2e-5;
  cases.push_back(unary_case("Ndtri", 0.06, 0.94,
                             [=](double p) { return std::sqrt(2.0) * erfinv(2 * p - 1); },
                             {DType::kFloat32, DType::kFloat64}));
  cases.back().tolerance = 2e-5;
  cases.push_back(fixed_case("Erfinv", "corners", {{0, 1, -1, 2, kNan}},
                             {0, kInf, -kInf, kNan, kNan}, kFloatTypes));
  cases.push_back(fixed_case("Ndtri", "corners", {{0, 1, -1, 0.5, 1e-30}},
                             {-kInf, kInf, kNan, 0, -11.464024688443613}));
}

void add_gamma_functions(CaseList& cases) {
  const std::vector<DType> two = {DType::kFloat32, DType::kFloat64};
  cases.push_back(unary_case("Lgamma", 0.2, 9, [](double x) { return std::lgamma(x); }));
  cases.push_back(loose(unary_case("Digamma", 0.3, 6, digamma, two), 1e-4));
  cases.push_back(fixed_case("Lgamma", "corners", {{1, 0, -1, -0.5, kInf}},
                             {0, kInf, kInf, 1.2655121234846454, kInf}));
  cases.push_back(fixed_case(
      "Digamma", "corners", {{1, 0, -1, -0.5, kInf, -kInf, kNan}},
      {-0.57721566490153286, kNan, kNan, 0.03648997397857652, kInf, kNan, kNan}));
  const auto binary = [&](const char* op, In x, In y, Real2 f,
                          std::vector<int> gradients) {
    OpCase c;
    c.op = op;
    c.inputs = {x, y};
    c.dtypes = two;
    c.reference = each_real(f);
    c.tolerance = 1e-4;
    c.grad_inputs = gradients;
    c.grad_tolerance = 1e-4;
    cases.push_back(c);
  };
  binary("Zeta", {.shape = {7}, .low = 2, .high = 5},
         {.shape = {3, 7}, .low = 0.5, .high = 4}, zeta, {1});
  cases.push_back(fixed_case("Zeta", "corners", {{2, 1, 0.5, 3, 3}, {1, 1, 1, -1, 0}},
                             {1.6449340668482264, kInf, kNan, kNan, kNan}));
  binary("Polygamma", {.shape = {3}, .fixed = {1, 2, 3}},
         {.shape = {5, 3}, .low = 0.7, .high = 4},
         [](double n, double x) {
           return (std::fmod(n, 2) == 0 ? -1 : 1) * std::tgamma(n + 1) * zeta(n + 1, x);
         },
         {1});
  cases.push_back(fixed_case("Polygamma", "corners", {{0, 1.5, -1}, {1, 2, 1}},
                             {-0.57721566490153286, kNan, kNan}));
  const auto lower = [](double a, double x) {
    return integral(0, x, [a](double t) { return std::exp(-t) * std::pow(t, a - 1); }) /
           std::tgamma(a);
  };
  const In shape{.shape = {7}, .low = 3, .high = 6},
      at{.shape = {3, 7}, .low = 0.5, .high = 9};
  binary("Igamma", shape, at, lower, {0, 1});
  binary("Igammac", shape, at, [lower](double a, double x) { return 1 - lower(a, x); },
         {0, 1});
  binary("IgammaGradA", shape, at,
         [lower](double a, double x) {
           return (lower(a + 1e-4, x) - lower(a - 1e-4, x)) / 2e-4;
         },
         {});
  cases.back().check_gradient = false;
  cases.back().dtypes = {DType::kFloat32};
  cases.push_back(fixed_case("Igamma", "corners", {{1, 0, -1, 1, 5}, {1, 1, 1, -1, 0}},
                             {0.63212055882855768, kNan, kNan, kNan, 0}, kFloatTypes));
  cases.push_back(fixed_case("Igammac", "corners", {{1, 0, -1, 1, 5}, {1, 1, 1, -1, 0}},
                             {0.36787944117144233, kNan, kNan, kNan, 1}, kFloatTypes));
  OpCase beta;
  beta.op = "Betainc";
  beta.inputs = {{.shape = {6}, .low = 5, .high = 8},
                 {.shape = {}, .low = 5, .high = 8},
                 {.shape = {2, 6}, .low = 0.1, .high = 0.9}};
  beta.grad_inputs = {2};
  beta.tolerance = 1e-4;
  beta.reference = each(Function3([](Complex a, Complex b, Complex x) -> Complex {
    const auto density = [&](double t) {
      return std::pow(t, a.real() - 1) * std::pow(1 - t, b.real() - 1);
    };
    return integral(0, x.real(), density) / integral(0, 1, density);
  }));
  cases.push_back(beta);
}

void add_bessel_functions(CaseList& cases) {
  const std::vector<DType> two = {DType::kFloat32, DType::kFloat64};
  const auto add = [&](const char* op, double low, double high, Real1 f) {
    OpCase c = unary_case(op, low, high, f, two);
    c.inputs[0].shape = {23};
    cases.push_back(loose(c, 1e-5));
  };
  add("BesselI0", 0.1, 6, [](double x) { return bessel(x, 0, true); });
  add("BesselI1", 0.1, 6, [](double x) { return bessel(x, 1, true); });
  add("BesselI0e", -40, 40, [](double x) {
    return integral(
               0, M_PI,
               [=](double t) { return std::exp(std::fabs(x) * (std::cos(t) - 1)); }) /
           M_PI;
  });
  add("BesselI1e", 0.1, 40, [](double x) {
    return integral(
               0, M_PI,
               [=](double t) { return std::exp(x * (std::cos(t) - 1)) * std::cos(t); }) /
           M_PI;
  });
  add("BesselJ0", 0.1, 9, [](double x) { return bessel(x, 0, false); });
  add("BesselJ1", 0.1, 9, [](double x) { return bessel(x, 1, false); });
  add("BesselK0", 0.3, 5, [](double x) { return bessel_k(x, 0); });
  add("BesselK1", 0.3, 5, [](double x) { return bessel_k(x, 1); });
  add("BesselK0e", 0.3, 5, [](double x) { return std::exp(x) * bessel_k(x, 0); });
  add("BesselK1e", 0.3, 5, [](double x) { return std::exp(x) * bessel_k(x, 1); });
  // J1 Y0 - J0 Y1 = 2 / (pi x) ties them to each other: both against the library of the C
  // standard.
  add("BesselY0", 0.3, 9, [](double x) { return ::y0(x); });
  add("BesselY1", 0.3, 9, [](double x) { return ::y1(x); });
  // Near its zeros all digits count.
  OpCase zeros = fixed_case("BesselY0", "zeros",
                            {{0.8935769662791, 3.957678419314, 7.08605106, 19.6413097}},
                            {}, {DType::kFloat64});
  zeros.reference = nullptr;
  zeros.check = [](const std::vector<Tensor>& outputs) {
    const Ref got = to_ref(outputs[0]);
    const double expected[] = {-5.938566525390276e-14, 3.4533037273571547e-13,
                               -9.056127969947804e-11, -1.5988511927200768e-10};
    for (size_t i = 0; i < 4; ++i) {
      EXPECT_NEAR(got.re(i) / expected[i], 1, 1e-14);
    }
  };
  cases.push_back(zeros);
  add("Dawsn", -6, 6, [](double x) {
    return integral(0, x, [=](double t) { return std::exp(t * t - x * x); }, 20000);
  });
  cases.back().tolerance = 1e-4;
  add("Expint", 0.3, 5, [](double x) {
    const auto f = [](double t) { return t == 0 ? 1.0 : std::expm1(t) / t; };
    return 0.57721566490153286061 + std::log(x) + integral(0, x, f);
  });
  add("Spence", 0.2, 4, [](double x) {
    const auto f = [](double t) { return t == 1 ? -1.0 : std::log(t) / (1 - t); };
    return integral(1, x, f);
  });
}

}  // namespace

void add_elementwise_special_cases(CaseList& cases) {
  add_error_functions(cases);
  add_gamma_functions(cases);
  add_bessel_functions(cases);
}

}  // namespace tandem::testing
