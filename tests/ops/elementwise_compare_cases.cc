// Comparison, logic, bits.
#include <bit>

#include "ops/elementwise_cases.h"

namespace tandem::testing {

namespace {

void add_comparisons(CaseList& cases) {
  struct Op {
    const char* name;
    bool (*f)(double, double);
  };
  const Op ops[] = {{"Equal", [](double x, double y) { return x == y; }},
                    {"NotEqual", [](double x, double y) { return x != y; }},
                    {"Less", [](double x, double y) { return x < y; }},
                    {"LessEqual", [](double x, double y) { return x <= y; }},
                    {"Greater", [](double x, double y) { return x > y; }},
                    {"GreaterEqual", [](double x, double y) { return x >= y; }}};
  std::vector<DType> reals = kFloatTypes;
  reals.insert(reals.end(), kIntTypes.begin(), kIntTypes.end());
  for (const Op& op : ops) {
    OpCase c;
    c.op = op.name;
    c.inputs = {{.shape = {5, 21}, .fixed = {0, 1, 2, 1, 3, 0, kNan}},
                {.shape = {5, 21}, .fixed = {1, 1, 0, kNan, 2}}};
    c.dtypes = kFloatTypes;
    c.reference = each_real([f = op.f](double x, double y) { return double(f(x, y)); });
    cases.push_back(c);
    c.name = "ints";
    c.inputs = {{.shape = {7, 13}, .low = 0, .high = 4},
                {.shape = {13}, .low = 0, .high = 4}};
    c.dtypes = reals;
    cases.push_back(c);
    c.name = "left";
    c.inputs[0].shape = {};
    cases.push_back(c);
    c.name = "right";
    c.inputs = {{.shape = {7, 13}, .low = 0, .high = 4},
                {.shape = {1}, .low = 0, .high = 4}};
    cases.push_back(c);
  }
  for (const char* op : {"Equal", "NotEqual"}) {
    const bool equal = op[0] == 'E';
    OpCase c;
    c.op = op;
    c.name = "strings";
    c.inputs = {
        {.shape = {2, 2}, .strings = {"a", "b", "", "a string longer than the rest"}},
        {.shape = {2}, .strings = {"a", "a string longer than the rest"}}};
    c.dtypes = {DType::kString};
    c.reference = [equal](const std::vector<Ref>&, DType) {
      const double yes = equal, no = !equal;
      return std::vector<Ref>{{{2, 2}, {yes, no, no, yes}, {}}};
    };
    cases.push_back(c);
    c = complex_case(op, 0, 1, nullptr);
    c.inputs.push_back({.shape = {5, 3}, .fixed = {0.25, 0.5}});
    c.inputs[0].fixed = {0.25, 0.75};
    c.reference = each(
        Function2([equal](Complex x, Complex y) { return double((x == y) == equal); }));
    cases.push_back(c);
    c = fixed_case(
        op, "bools", {{0, 0, 1, 1}, {0, 1, 0, 1}},
        equal ? std::vector<double>{1, 0, 0, 1} : std::vector<double>{0, 1, 1, 0},
        {DType::kBool});
    cases.push_back(c);
  }
}

void add_logic(CaseList& cases) {
  const std::vector<double> x = {0, 0, 1, 1}, y = {0, 1, 0, 1};
  cases.push_back(fixed_case("LogicalAnd", "", {x, y}, {0, 0, 0, 1}, {DType::kBool}));
  cases.push_back(fixed_case("LogicalOr", "", {x, y}, {0, 1, 1, 1}, {DType::kBool}));
  cases.push_back(fixed_case("LogicalNot", "", {y}, {1, 0, 1, 0}, {DType::kBool}));
  const std::vector<double> special = {0, kNan, kInf, -kInf, 1, 65504};
  cases.push_back(fixed_case("IsNan", "", {special}, {0, 1, 0, 0, 0, 0}, kFloatTypes));
  cases.push_back(fixed_case("IsInf", "", {special}, {0, 0, 1, 1, 0, 0}, kFloatTypes));
  cases.push_back(fixed_case("IsFinite", "", {special}, {1, 0, 0, 0, 1, 1}, kFloatTypes));
}

void add_bits(CaseList& cases) {
  const auto bits = [&](const char* op, int64_t (*f)(int64_t, int64_t)) {
    OpCase c;
    c.op = op;
    c.inputs = {{.shape = {4, 19}, .low = 0, .high = 100},
                {.shape = {19}, .low = 0, .high = 100}};
    c.dtypes = kIntTypes;
    c.reference = each_real([f](double x, double y) {
      return double(f(static_cast<int64_t>(x), static_cast<int64_t>(y)));
    });
    cases.push_back(c);
  };
  bits("BitwiseAnd", [](int64_t x, int64_t y) { return x & y; });
  bits("BitwiseOr", [](int64_t x, int64_t y) { return x | y; });
  bits("BitwiseXor", [](int64_t x, int64_t y) { return x ^ y; });
  cases.push_back(fixed_case("BitwiseAnd", "signs", {{-1, -8, 5}, {7, 12, -4}}, {7, 8, 4},
                             kSignedTypes));
  cases.push_back(fixed_case("Invert", "", {{0, -1, 5}}, {-1, 0, -6}, kSignedTypes));
  cases.push_back(
      fixed_case("Invert", "unsigned", {{0, 255, 5}}, {255, 0, 250}, {DType::kUInt8}));
  cases.push_back(
      fixed_case("LeftShift", "", {{1, 3, 1}, {3, 2, 0}}, {8, 12, 1}, kIntTypes));
  cases.push_back(fixed_case("LeftShift", "clamped", {{1, -1, 1, 1}, {3, 31, 32, -1}},
                             {8, -2147483648.0, -2147483648.0, 1}, {DType::kInt32}));
  cases.push_back(
      fixed_case("RightShift", "", {{16, 100, 5}, {3, 2, 0}}, {2, 25, 5}, kIntTypes));
  cases.push_back(fixed_case("RightShift", "clamped",
                             {{16, -16, 16, 16, -1}, {3, 2, 9, -1, 99}},
                             {2, -4, 0, 16, -1}, {DType::kInt8}));
  cases.push_back(fixed_case("PopulationCount", "", {{7, 0, 100}}, {3, 0, 3}, kIntTypes));
  cases.push_back(
      fixed_case("PopulationCount", "signs", {{-1, -128}}, {8, 1}, {DType::kInt8}));
}

}  // namespace

void add_elementwise_compare_cases(CaseList& cases) {
  add_comparisons(cases);
  add_logic(cases);
  add_bits(cases);
}

}  // namespace tandem::testing
