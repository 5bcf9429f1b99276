// Unary arithmetic, exponentials, trigonometry and rounding.
#include <string_view>
#include <utility>

#include "ops/elementwise_cases.h"

namespace tandem::testing {

namespace {

// Functions that exist for real and complex numbers.
void add_function(CaseList& cases, const char* op, double low, double high, Real1 real,
                  Function1 complex) {
  cases.push_back(unary_case(op, low, high, real));
  OpCase small = unary_case(op, low, high, real);
  small.name = "small";
  small.inputs[0].shape = {5};
  cases.push_back(small);
  if (complex) cases.push_back(complex_case(op, -1.5, 1.5, complex));
}

double half_to_even(double x) { return std::nearbyint(x); }

void add_unary_arithmetic(CaseList& cases) {
  std::vector<DType> with_ints = kFloatTypes;
  with_ints.insert(with_ints.end(), kSignedTypes.begin(), kSignedTypes.end());
  cases.push_back(unary_case("Neg", -9, 9, [](double x) { return -x; }, with_ints));
  cases.push_back(
      unary_case("Abs", -9, 9, [](double x) { return std::fabs(x); }, with_ints));
  cases.push_back(unary_case(
      "Sign", -3, 3, [](double x) { return double((x > 0) - (x < 0)); }, with_ints));
  cases.push_back(unary_case("Square", -9, 9, [](double x) { return x * x; }, with_ints));
  cases.push_back(complex_case("Neg", -2, 2, [](Complex x) { return -x; }));
  cases.push_back(complex_case("Sign", -2, 2, [](Complex x) { return x / std::abs(x); }));
  cases.push_back(complex_case("Square", -2, 2, [](Complex x) { return x * x; }));
  cases.push_back(fixed_case("Abs", "most_negative", {{-128, -1, 127}}, {-128, 1, 127},
                             {DType::kInt8}));
  cases.push_back(
      fixed_case("Sign", "nan", {{kNan, 0, -kInf}}, {kNan, 0, -1}, kFloatTypes));
  add_function(
      cases, "Sqrt", 0.1, 9, [](double x) { return std::sqrt(x); },
      [](Complex x) { return std::sqrt(x); });
  add_function(
      cases, "Rsqrt", 0.1, 9, [](double x) { return 1 / std::sqrt(x); },
      [](Complex x) { return 1.0 / std::sqrt(x); });
  cases.back().inputs[0].low = 0.3;
  add_function(
      cases, "Reciprocal", 0.3, 9, [](double x) { return 1 / x; },
      [](Complex x) { return 1.0 / x; });
  cases.back().inputs[0].low = 0.3;
  cases.push_back(
      fixed_case("Rsqrt", "corners", {{0, -1, 4, kInf}}, {kInf, kNan, 0.5, 0}));
}

void add_exponentials(CaseList& cases) {
  add_function(
      cases, "Exp", -5, 5, [](double x) { return std::exp(x); },
      [](Complex x) { return std::exp(x); });
  add_function(
      cases, "Expm1", -2, 2, [](double x) { return std::expm1(x); },
      [](Complex x) { return std::exp(x) - 1.0; });
  add_function(
      cases, "Log", 0.1, 20, [](double x) { return std::log(x); },
      [](Complex x) { return std::log(x); });
  add_function(
      cases, "Log1p", -0.8, 20, [](double x) { return std::log1p(x); },
      [](Complex x) { return std::log(1.0 + x); });
  add_function(
      cases, "Tanh", -4, 4, [](double x) { return std::tanh(x); },
      [](Complex x) { return std::tanh(x); });
  add_function(
      cases, "Sigmoid", -9, 9, [](double x) { return 1 / (1 + std::exp(-x)); },
      [](Complex x) { return 1.0 / (1.0 + std::exp(-x)); });
  cases.push_back(fixed_case("Exp", "corners", {{-kInf, kInf, kNan, 1000, -1000, 0}},
                             {0, kInf, kNan, kInf, 0, 1}));
  cases.push_back(fixed_case("Log", "corners", {{0, -1, kInf, kNan, 1}},
                             {-kInf, kNan, kInf, kNan, 0}));
  cases.push_back(fixed_case("Log1p", "corners", {{-1, -2, kInf, kNan, 0, 1e-10}},
                             {-kInf, kNan, kInf, kNan, 0, 1e-10}));
  cases.push_back(fixed_case("Expm1", "corners", {{-kInf, kInf, kNan, 1e-10}},
                             {-1, kInf, kNan, 1e-10}));
  cases.push_back(fixed_case("Tanh", "corners", {{-kInf, kInf, kNan, 100, -100, 0}},
                             {-1, 1, kNan, 1, -1, 0}, kFloatTypes));
  cases.push_back(fixed_case("Sigmoid", "corners", {{-kInf, kInf, kNan, 200, -200, 0}},
                             {0, 1, kNan, 1, 0, 0.5}, kFloatTypes));
}

void add_trigonometry(CaseList& cases) {
  add_function(
      cases, "Sin", -7, 7, [](double x) { return std::sin(x); },
      [](Complex x) { return std::sin(x); });
  add_function(
      cases, "Cos", -7, 7, [](double x) { return std::cos(x); },
      [](Complex x) { return std::cos(x); });
  add_function(
      cases, "Tan", -1.2, 1.2, [](double x) { return std::tan(x); },
      [](Complex x) { return std::tan(x); });
  add_function(
      cases, "Asin", -0.95, 0.95, [](double x) { return std::asin(x); },
      [](Complex x) { return std::asin(x); });
  add_function(
      cases, "Acos", -0.95, 0.95, [](double x) { return std::acos(x); },
      [](Complex x) { return std::acos(x); });
  add_function(
      cases, "Atan", -5, 5, [](double x) { return std::atan(x); },
      [](Complex x) { return std::atan(x); });
  add_function(
      cases, "Sinh", -3, 3, [](double x) { return std::sinh(x); },
      [](Complex x) { return std::sinh(x); });
  add_function(
      cases, "Cosh", -3, 3, [](double x) { return std::cosh(x); },
      [](Complex x) { return std::cosh(x); });
  add_function(
      cases, "Asinh", -5, 5, [](double x) { return std::asinh(x); },
      [](Complex x) { return std::asinh(x); });
  add_function(
      cases, "Acosh", 1.2, 9, [](double x) { return std::acosh(x); },
      [](Complex x) { return std::acosh(x); });
  add_function(
      cases, "Atanh", -0.9, 0.9, [](double x) { return std::atanh(x); },
      [](Complex x) { return std::atanh(x); });
  // Near the branch points, where a logarithm of what is nearly nothing loses digits.
  for (const auto& [op, f] :
       {std::pair("Atanh", Function1([](Complex x) { return std::atanh(x); })),
        std::pair("Atan", Function1([](Complex x) { return std::atan(x); }))}) {
    const std::vector<double> along = {-0.875,
                                       -1.0625,
                                       -0.9990234375,
                                       -1.0009765625,
                                       0.875,
                                       1.0625,
                                       0.9990234375,
                                       1.0009765625,
                                       -1.00000011920928955078125,
                                       -1,
                                       1};
    const std::vector<double> across = {0.125,        -0.03125,     0.0009765625,
                                        -0.001953125, 0.125,        -0.03125,
                                        0.0009765625, -0.001953125, 0.0000152587890625,
                                        0.00390625,   -0.00390625};
    const bool turned = std::string_view(op) == "Atan";
    OpCase c = complex_case(op, 0, 0, f);
    c.name = "branch points";
    c.inputs = {{.shape = {static_cast<int64_t>(along.size())},
                 .fixed = turned ? across : along,
                 .imaginary = turned ? along : across}};
    c.tolerance = 2e-6;
    cases.push_back(c);
  }
  cases.push_back(fixed_case("Sin", "corners", {{kInf, kNan, 0, 1e6}},
                             {kNan, kNan, 0, std::sin(1e6)}));
  cases.push_back(
      fixed_case("Acos", "corners", {{2, -1, 1, kNan}}, {kNan, M_PI, 0, kNan}));
  cases.push_back(
      fixed_case("Atanh", "corners", {{1, -1, 2, 0}}, {kInf, -kInf, kNan, 0}));
}

// C99's Annex G, as the C++ library has it.
void add_complex_corners(CaseList& cases) {
  const std::vector<double> along = {kInf, -kInf, kNan, 0,   kInf, kNan, kInf,
                                     0,    -kInf, kNan, 1.5, 1.5,  kNan, 0x1p62},
                            across = {0,    0,    0,    kInf, kInf, kInf, kNan,
                                      kNan, kInf, kNan, kInf, kNan, 1.5,  0};
  const std::pair<const char*, Function1> functions[] = {
      {"Exp", [](Complex x) { return std::exp(x); }},
      {"Log", [](Complex x) { return std::log(x); }},
      {"Sqrt", [](Complex x) { return std::sqrt(x); }},
      {"Sin", [](Complex x) { return std::sin(x); }},
      {"Cos", [](Complex x) { return std::cos(x); }},
      {"Tan", [](Complex x) { return std::tan(x); }},
      {"Asin", [](Complex x) { return std::asin(x); }},
      {"Acos", [](Complex x) { return std::acos(x); }},
      {"Atan", [](Complex x) { return std::atan(x); }},
      {"Sinh", [](Complex x) { return std::sinh(x); }},
      {"Cosh", [](Complex x) { return std::cosh(x); }},
      {"Tanh", [](Complex x) { return std::tanh(x); }},
      {"Asinh", [](Complex x) { return std::asinh(x); }},
      {"Acosh", [](Complex x) { return std::acosh(x); }},
      {"Atanh", [](Complex x) { return std::atanh(x); }}};
  for (const auto& [op, f] : functions) {
    OpCase c = complex_case(op, 0, 0, f);
    c.name = "complex corners";
    c.inputs = {{.shape = {static_cast<int64_t>(along.size())},
                 .fixed = along,
                 .imaginary = across}};
    cases.push_back(c);
  }
  OpCase power;
  power.op = "Pow";
  power.name = "complex corners";
  power.inputs = {{.shape = {4}, .fixed = {0}}, {.shape = {4}, .fixed = {-6, 0, 1, 2.5}}};
  power.dtypes = kComplexTypes;
  power.reference = each(Function2([](Complex x, Complex y) { return std::pow(x, y); }));
  power.check_gradient = false;
  cases.push_back(power);
  OpCase quotient = power;
  quotient.op = "RealDiv";
  quotient.inputs = {{.shape = {5}, .fixed = {1.5, 1.5, kInf, 0, 1}},
                     {.shape = {5},
                      .fixed = {kInf, kInf, 2, kInf, 0},
                      .imaginary = {kNan, 0, 1, kInf, 0}}};
  quotient.reference = each(Function2([](Complex x, Complex y) { return x / y; }));
  cases.push_back(quotient);
}

void add_rounding(CaseList& cases) {
  const std::vector<double> x = {0.5, 1.5, 2.5, -0.5, -1.5, 0.49, -2.51, kInf, kNan, 7};
  cases.push_back(fixed_case("Round", "halves", {x},
                             {0, 2, 2, 0, -2, 0, -3, kInf, kNan, 7}, kFloatTypes));
  cases.push_back(fixed_case("Rint", "halves", {x},
                             {0, 2, 2, 0, -2, 0, -3, kInf, kNan, 7}, kFloatTypes));
  cases.push_back(fixed_case("Floor", "halves", {x},
                             {0, 1, 2, -1, -2, 0, -3, kInf, kNan, 7}, kFloatTypes));
  cases.push_back(fixed_case("Ceil", "halves", {x},
                             {1, 2, 3, 0, -1, 1, -2, kInf, kNan, 7}, kFloatTypes));
  cases.push_back(unary_case("Round", -9, 9, half_to_even));
  cases.push_back(unary_case("Round", -9, 9, half_to_even, kSignedTypes));
}

void add_gradients(CaseList& cases) {
  const auto gradient = [&](const char* op, double low, double high, Function2 f) {
    OpCase c;
    c.op = op;
    c.inputs = {{.shape = {3, 37}, .low = low, .high = high}, {.shape = {3, 37}}};
    c.dtypes = kFloatTypes;
    c.reference = each(f);
    cases.push_back(c);
    c.name = "complex";
    c.dtypes = kComplexTypes;
    c.tolerance = 5e-5;
    c.check_gradient = false;
    c.reference =
        each(Function2([f](Complex y, Complex dy) { return f(std::conj(y), dy); }));
    cases.push_back(c);
  };
  gradient("SigmoidGrad", 0.1, 0.9,
           [](Complex y, Complex dy) { return dy * y * (1.0 - y); });
  gradient("TanhGrad", -0.9, 0.9,
           [](Complex y, Complex dy) { return dy * (1.0 - y * y); });
  gradient("SqrtGrad", 0.5, 2, [](Complex y, Complex dy) { return dy * 0.5 / y; });
  gradient("RsqrtGrad", 0.5, 2,
           [](Complex y, Complex dy) { return dy * -0.5 * y * y * y; });
  gradient("ReciprocalGrad", 0.5, 2, [](Complex y, Complex dy) { return -dy * y * y; });
}

}  // namespace

void add_elementwise_math_cases(CaseList& cases) {
  add_unary_arithmetic(cases);
  add_exponentials(cases);
  add_trigonometry(cases);
  add_complex_corners(cases);
  add_rounding(cases);
  add_gradients(cases);
}

}  // namespace tandem::testing
