// Binary arithmetic in all forms of broadcasting, selection, clipping, sums.
#include "ops/elementwise_cases.h"

namespace tandem::testing {

namespace {

OpCase binary_case(const char* op, const char* name, Shape x, Shape y, Real2 f,
                   double low = 0.5, double high = 2.5,
                   std::vector<DType> dtypes = kFloatTypes) {
  OpCase c;
  c.op = op;
  c.name = name;
  c.inputs = {{.shape = x, .low = low, .high = high},
              {.shape = y, .low = low, .high = high}};
  c.dtypes = std::move(dtypes);
  c.reference = each_real(f);
  return c;
}

double add_values(double x, double y) { return x + y; }
double floor_mod(double x, double y) {
  const double r = std::fmod(x, y);
  return r != 0 && (r < 0) != (y < 0) ? r + y : r;
}

// One op through every way the driver walks over memory.
void add_broadcasting(CaseList& cases) {
  struct Form {
    const char* name;
    Shape x, y;
  };
  const Form forms[] = {
      {"same", {4, 33}, {4, 33}},
      {"scalars", {}, {}},
      {"scalar_left", {}, {5, 17}},
      {"scalar_right", {5, 17}, {}},
      {"one_element", {1, 1}, {7}},
      {"bias", {6, 70}, {70}},
      {"short_bias", {100, 3}, {3}},
      {"column", {40, 3}, {40, 1}},
      {"long_column", {9, 65}, {9, 1}},
      {"outer", {13, 1}, {1, 21}},
      {"middle", {3, 1, 5}, {3, 4, 5}},
      {"channels", {2, 5, 1, 1}, {2, 5, 3, 4}},
      {"both_ways", {3, 1, 40}, {2, 1}},
      {"empty", {0, 3}, {3}},
      {"empty_both", {2, 0}, {2, 0}},
      {"rank_6", {2, 1, 2, 1, 2, 3}, {1, 3, 2, 2, 1, 3}},
      {"tile_phase", {67, 7}, {7}},
      {"row_of_513", {3, 513}, {1, 513}},
  };
  for (const Form& f : forms)
    cases.push_back(binary_case("AddV2", f.name, f.x, f.y, add_values));
  OpCase large = binary_case("AddV2", "large", {3, 70001}, {3, 1}, add_values);
  large.dtypes = {DType::kFloat32, DType::kFloat16, DType::kInt8, DType::kInt64};
  large.check_gradient = false;
  cases.push_back(large);
  large.name = "large_short_runs";
  large.inputs[0].shape = {70001, 3};
  large.inputs[1].shape = {3};
  cases.push_back(large);
}

void add_binary_arithmetic(CaseList& cases) {
  const auto both = [&](const char* op, Real2 f, double low, double high,
                        std::vector<DType> dtypes = kFloatTypes) {
    cases.push_back(binary_case(op, "", {6, 19}, {6, 19}, f, low, high, dtypes));
    cases.push_back(binary_case(op, "left", {}, {45}, f, low, high, dtypes));
    cases.push_back(binary_case(op, "right", {3, 15}, {1}, f, low, high, dtypes));
  };
  std::vector<DType> reals = kFloatTypes;
  reals.insert(reals.end(), kIntTypes.begin(), kIntTypes.end());
  both("AddV2", add_values, 0, 20, reals);
  both("Sub", [](double x, double y) { return x - y; }, -3, 4, kFloatTypes);
  both("Sub", [](double x, double y) { return x - y; }, -3, 4, kSignedTypes);
  both("Mul", [](double x, double y) { return x * y; }, 0, 11, reals);
  both("RealDiv", [](double x, double y) { return x / y; }, 0.5, 3);
  both("DivNoNan", [](double x, double y) { return y == 0 ? 0 : x / y; }, 0.5, 3);
  both("MulNoNan", [](double x, double y) { return y == 0 ? 0 : x * y; }, 0.5, 3);
  both("Pow", [](double x, double y) { return std::pow(x, y); }, 0.3, 2.5);
  both("SquaredDifference", [](double x, double y) { return (x - y) * (x - y); }, -2, 2);
  both("Atan2", [](double y, double x) { return std::atan2(y, x); }, 0.2, 3);
  both("Xdivy", [](double x, double y) { return x == 0 ? 0 : x / y; }, 0.5, 3);
  both("Xlogy", [](double x, double y) { return x == 0 ? 0 : x * std::log(y); }, 0.5, 3);
  both(
      "Xlog1py", [](double x, double y) { return x == 0 ? 0 : x * std::log1p(y); }, 0.5,
      3);
  both("NextAfter", [](double x, double) { return x; }, 0.5, 3,
       {DType::kFloat32, DType::kFloat64});
  cases.back().check_gradient = false;

  for (const char* op : {"Maximum", "Minimum"}) {
    const bool larger = op[1] == 'a';
    const auto f = [larger](double x, double y) {
      return larger ? std::fmax(x, y) : std::fmin(x, y);
    };
    OpCase c = binary_case(op, "", {5, 20}, {1}, f, 0, 5, reals);
    c.inputs[0].spread = 0.07;
    c.inputs[1].fixed = {3.123};
    cases.push_back(c);
    cases.push_back(fixed_case(op, "nan", {{kNan, 1, kNan, 2}, {1, kNan, kNan, 3}},
                               {kNan, kNan, kNan, larger ? 3.0 : 2.0}, kFloatTypes));
  }
}

void add_division(CaseList& cases) {
  struct Op {
    const char* name;
    Real2 f;
  };
  const Op ops[] = {
      {"FloorDiv", [](double x, double y) { return std::floor(x / y); }},
      {"FloorMod", floor_mod},
      {"TruncateDiv", [](double x, double y) { return std::trunc(x / y); }},
      {"TruncateMod", [](double x, double y) { return std::fmod(x, y); }},
  };
  for (const Op& op : ops) {
    const bool few = std::string(op.name) == "TruncateMod";
    std::vector<DType> ints =
        few ? std::vector<DType>{DType::kInt32, DType::kInt64} : kIntTypes;
    OpCase c = binary_case(op.name, "ints", {6, 21}, {6, 21}, op.f, 1, 100, ints);
    c.inputs[1].high = 12;
    cases.push_back(c);
    c.name = "ints_by_one";
    c.inputs[1] = {.shape = {}, .fixed = {7}};
    cases.push_back(c);
    std::vector<DType> widths = few ? ints : kSignedTypes;
    OpCase signs = binary_case(op.name, "signs", {8}, {8}, op.f, 0, 1, widths);
    signs.inputs[0].fixed = {7, -7, 7, -7, 6, -6, 0, 100};
    signs.inputs[1].fixed = {2, 2, -2, -2, 3, 3, -5, -7};
    signs.check_gradient = false;
    cases.push_back(signs);
    OpCase floats = binary_case(op.name, "floats", {4, 33}, {4, 33}, op.f, 1, 10,
                                {DType::kFloat32, DType::kFloat64});
    floats.inputs[0].low = -10;
    floats.inputs[1].fixed = {0.7, -1.3, 2.9, -3.6, 5.1};
    floats.tolerance = 1e-4;
    floats.grad_inputs = {0};
    cases.push_back(floats);
  }
  const double low32 = -2147483648.0;
  cases.push_back(fixed_case("FloorDiv", "most_negative",
                             {{low32, 5, low32}, {-1, -1, 2}}, {low32, -5, -1073741824},
                             {DType::kInt32}));
  cases.push_back(fixed_case("FloorMod", "most_negative", {{low32, 5}, {-1, -1}}, {0, 0},
                             {DType::kInt32}));
  cases.push_back(fixed_case(
      "FloorMod", "corners",
      {{7, 5.5, -1, 0, 1, kInf, 1, kNan, 1e30}, {kInf, -kInf, kInf, 0, 0, 1, kNan, 1, 3}},
      {7, -kInf, kInf, kNan, kNan, kNan, kNan, kNan,
       floor_mod(static_cast<float>(1e30), 3)},
      {DType::kFloat32}));
  cases.push_back(fixed_case("FloorDiv", "corners", {{1, 0, kInf, -1e-20}, {0, 0, 1, 3}},
                             {kInf, kNan, kInf, -1}));
}

void add_binary_corners(CaseList& cases) {
  cases.push_back(fixed_case("AddV2", "wraps", {{127, -128, 100}, {1, -1, 27}},
                             {-128, 127, 127}, {DType::kInt8}));
  cases.push_back(fixed_case("Mul", "wraps", {{65536, 46341}, {65536, 46341}},
                             {0, -2147479015}, {DType::kInt32}));
  cases.push_back(
      fixed_case("Mul", "wraps_16", {{65535}, {65535}}, {1}, {DType::kUInt16}));
  cases.push_back(fixed_case("Sub", "wraps", {{0}, {1}}, {255}, {DType::kUInt8}));
  cases.push_back(fixed_case("DivNoNan", "zeros",
                             {{1, 0, kNan, kInf, 6}, {0, 0, 0, 0, 3}}, {0, 0, 0, 0, 2},
                             kFloatTypes));
  cases.push_back(
      fixed_case("MulNoNan", "zeros", {{kNan, kInf, 1}, {0, 0, kNan}}, {0, 0, kNan}));
  cases.push_back(fixed_case("Xdivy", "zeros", {{0, 1, 0}, {0, 0, kNan}}, {0, kInf, 0}));
  cases.push_back(fixed_case("Xlogy", "zeros", {{0, 1, 0}, {0, 0, kNan}}, {0, -kInf, 0}));
  cases.push_back(
      fixed_case("Xlog1py", "zeros", {{0, 1, 0}, {-1, -1, kNan}}, {0, -kInf, 0}));
  cases.push_back(fixed_case(
      "Pow", "corners", {{-2, -2, 0, kNan, 0, -1, 2}, {3, 0.5, 0, 0, -1, kInf, -kInf}},
      {-8, kNan, 1, 1, kInf, 1, 0}));
  cases.push_back(fixed_case("Pow", "ints", {{2, -3, 0, 1, 2}, {6, 3, 0, 5, 10}},
                             {64, -27, 1, 1, 1024}, {DType::kInt32, DType::kInt64}));
  cases.push_back(
      fixed_case("Pow", "int8", {{2, -3}, {10, 3}}, {0, -27}, {DType::kInt8}));
  cases.push_back(fixed_case("Atan2", "corners", {{0, 1, -1, kNan}, {-1, 0, 0, 1}},
                             {M_PI, M_PI_2, -M_PI_2, kNan}));
  cases.push_back(fixed_case("NextAfter", "steps", {{1, 0, 1}, {2, -1, 1}},
                             {std::nextafter(1.0f, 2.0f), std::nextafter(0.0f, -1.0f), 1},
                             {DType::kFloat32}));
}

void add_complex(CaseList& cases) {
  const auto both = [&](const char* op, Function2 f) {
    OpCase c;
    c.op = op;
    c.name = "complex";
    c.inputs = {{.shape = {4, 5}, .low = 0.5}, {.shape = {5}, .low = 0.5}};
    c.dtypes = kComplexTypes;
    c.reference = each(f);
    c.tolerance = 2e-5;
    c.check_gradient = false;
    cases.push_back(c);
    c.name = "complex_scalar";
    c.inputs[0].shape = {};
    cases.push_back(c);
  };
  both("AddV2", [](Complex x, Complex y) { return x + y; });
  both("Sub", [](Complex x, Complex y) { return x - y; });
  both("Mul", [](Complex x, Complex y) { return x * y; });
  both("RealDiv", [](Complex x, Complex y) { return x / y; });
  both("DivNoNan", [](Complex x, Complex y) { return x / y; });
  both("MulNoNan", [](Complex x, Complex y) { return x * y; });
  both("Xdivy", [](Complex x, Complex y) { return x / y; });
  both("Xlogy", [](Complex x, Complex y) { return x * std::log(y); });
  both("Xlog1py", [](Complex x, Complex y) { return x * std::log(1.0 + y); });
  both("SquaredDifference", [](Complex x, Complex y) { return std::norm(x - y); });
  both("Pow", [](Complex x, Complex y) { return std::pow(x, y); });
}

void add_selection(CaseList& cases) {
  const Function3 choose = [](Complex c, Complex x, Complex y) {
    return c.real() != 0 ? x : y;
  };
  std::vector<DType> all = kFloatTypes;
  all.insert(all.end(), {DType::kInt8, DType::kInt64, DType::kComplex64,
                         DType::kComplex128, DType::kBool, DType::kUInt16});
  const auto select = [&](const char* name, Shape condition, Shape x, Shape y) {
    OpCase c;
    c.op = "SelectV2";
    c.name = name;
    c.inputs = {{.shape = condition, .dtype = DType::kBool}, {.shape = x}, {.shape = y}};
    c.dtypes = all;
    c.reference = each(choose);
    cases.push_back(c);
  };
  select("same", {4, 21}, {4, 21}, {4, 21});
  select("one_condition", {}, {37}, {37});
  select("one_value", {37}, {}, {37});
  select("one_other", {37}, {37}, {});
  select("values_alone", {37}, {}, {1});
  select("rows", {6, 1}, {6, 40}, {40});
  select("short_rows", {30}, {2, 3, 30}, {3, 1});
  select("short", {50, 1}, {50, 3}, {3});
  select("grows", {2, 1, 3}, {4, 1}, {});
  select("empty", {0}, {0}, {});
  cases.push_back(
      {.op = "SelectV2",
       .name = "strings",
       .inputs = {{.shape = {3}, .fixed = {1, 0, 1}, .dtype = DType::kBool},
                  {.shape = {3}, .strings = {"a", "b", "a longer string of text"}},
                  {.shape = {}, .strings = {"other"}}},
       .dtypes = {DType::kString},
       .reference =
           [](const std::vector<Ref>&, DType) {
             return std::vector<Ref>{
                 {{3}, {}, {"a", "other", "a longer string of text"}}};
           },
       .check_gradient = false});

  const Function3 clip = [](Complex x, Complex low, Complex high) {
    return std::max(std::min(x.real(), high.real()), low.real());
  };
  std::vector<DType> reals = kFloatTypes;
  reals.insert(reals.end(), kSignedTypes.begin(), kSignedTypes.end());
  const auto clip_case = [&](const char* name, Shape x, Shape low, Shape high) {
    OpCase c;
    c.op = "ClipByValue";
    c.name = name;
    c.inputs = {{.shape = x, .low = -9, .spread = 0.13},
                {.shape = low, .fixed = {-1.037}},
                {.shape = high, .fixed = {2.041}}};
    c.dtypes = reals;
    c.reference = each(clip);
    cases.push_back(c);
  };
  clip_case("scalars", {3, 45}, {}, {});
  clip_case("same", {3, 45}, {3, 45}, {3, 45});
  clip_case("mixed", {3, 45}, {}, {45});
  clip_case("rows", {3, 5}, {3, 1}, {5});
  cases.push_back(fixed_case("ClipByValue", "crossed",
                             {{3, 1, kNan}, {4, 4, 0}, {2, 2, 1}}, {4, 4, kNan}));

  OpCase sum;
  sum.op = "AddN";
  sum.inputs = {
      {.shape = {5, 9}}, {.shape = {5, 9}}, {.shape = {5, 9}}, {.shape = {5, 9}}};
  sum.dtypes = {DType::kFloat32, DType::kFloat64,   DType::kFloat16,
                DType::kInt32,   DType::kComplex64, DType::kBFloat16};
  sum.tolerance = 2e-5;
  sum.reference = [](const std::vector<Ref>& in, DType) {
    Ref out = in[0];
    for (size_t k = 1; k < in.size(); ++k) {
      for (size_t i = 0; i < out.values.size(); ++i) out.values[i] += in[k].values[i];
    }
    return std::vector<Ref>{out};
  };
  cases.push_back(sum);
  sum.name = "one";
  sum.inputs.resize(1);
  cases.push_back(sum);
  cases.push_back({.op = "Add",
                   .inputs = {{.shape = {2, 1}, .strings = {"a", "bc"}},
                              {.shape = {2}, .strings = {"x", "yz"}}},
                   .dtypes = {DType::kString},
                   .reference = [](const std::vector<Ref>&, DType) {
                     return std::vector<Ref>{{{2, 2}, {}, {"ax", "ayz", "bcx", "bcyz"}}};
                   }});
}

}  // namespace

void add_elementwise_cases(CaseList& cases) {
  add_broadcasting(cases);
  add_binary_arithmetic(cases);
  add_division(cases);
  add_binary_corners(cases);
  add_complex(cases);
  add_selection(cases);
  add_elementwise_math_cases(cases);
  add_elementwise_special_cases(cases);
  add_elementwise_compare_cases(cases);
  add_elementwise_cast_cases(cases);
  add_activation_cases(cases);
}

}  // namespace tandem::testing
