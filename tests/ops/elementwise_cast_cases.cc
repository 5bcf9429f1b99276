// Casts between all dtypes, bitcasts, parts of complex numbers.
#include "ops/elementwise_cases.h"
#include "tandem/ops/attrs.h"
#include "tandem/ops/elementwise.h"

namespace tandem::testing {

namespace {

const DType kCastTypes[] = {DType::kBool,    DType::kInt8,      DType::kInt16,
                            DType::kInt32,   DType::kInt64,     DType::kUInt8,
                            DType::kUInt16,  DType::kUInt32,    DType::kUInt64,
                            DType::kFloat16, DType::kBFloat16,  DType::kFloat32,
                            DType::kFloat64, DType::kComplex64, DType::kComplex128};

Attrs to(DType dtype, bool truncate = false) {
  return Attrs(attrs_ref(CastAttrs{.dtype = dtype, .truncate = truncate}));
}

// Small numbers, which every dtype holds.
void add_every_pair(CaseList& cases) {
  for (DType target : kCastTypes) {
    OpCase c;
    c.op = "Cast";
    c.name = "to_" + std::string(dtype_name(target));
    c.inputs = {{.shape = {3, 39}, .low = 0, .high = 60}};
    c.dtypes.assign(std::begin(kCastTypes), std::end(kCastTypes));
    c.attrs = to(target);
    c.tolerance = 1e-6;
    c.reference = each([target](Complex x) -> Complex {
      if (target == DType::kBool) return x.real() != 0;
      if (is_complex(target)) return x;
      return is_integer(target) ? std::trunc(x.real()) : x.real();
    });
    c.check_gradient = target == DType::kFloat64 || target == DType::kInt32;
    cases.push_back(c);
  }
}

OpCase corner(const char* name, DType from, DType target, std::vector<double> x,
              std::vector<double> y, bool truncate = false) {
  OpCase c = fixed_case("Cast", name, {x}, y, {from});
  c.attrs = to(target, truncate);
  return c;
}

// What TensorFlow gives on x86 outside the target's range.
void add_cast_corners(CaseList& cases) {
  const std::vector<double> x = {-1.5, 1.5, 255.7, 256.3, 3e9, -3e9, 1e20, kNan, kInf};
  const double low32 = -2147483648.0, low64 = -9223372036854775808.0;
  const auto f32 = DType::kFloat32, f64 = DType::kFloat64;
  cases.push_back(corner("f32_i8", f32, DType::kInt8, x, {-1, 1, -1, 0, 0, 0, 0, 0, 0}));
  cases.push_back(
      corner("f32_u8", f32, DType::kUInt8, x, {255, 1, 255, 0, 0, 0, 0, 0, 0}));
  cases.push_back(corner("f64_i8", f64, DType::kInt8, x,
                         {-1, 1, 127, 127, -128, -128, -128, -128, -128}));
  cases.push_back(
      corner("f64_u8", f64, DType::kUInt8, x, {0, 1, 255, 255, 0, 0, 0, 0, 0}));
  cases.push_back(corner("f32_i32", f32, DType::kInt32, x,
                         {-1, 1, 255, 256, low32, low32, low32, low32, low32}));
  cases.push_back(
      corner("f32_u32", f32, DType::kUInt32, x,
             {4294967295.0, 1, 255, 256, 3e9, -low32, -low32, -low32, -low32}));
  cases.push_back(corner("f64_i64", f64, DType::kInt64, x,
                         {-1, 1, 255, 256, 3e9, -3e9, low64, low64, low64}));
  cases.push_back(corner("f32_u64", f32, DType::kUInt64,
                         {1.5, 3e9, 1.5 * -low64, 1e20, kNan},
                         {1, 3e9, 1.5 * -low64, -low64, -low64}));
  cases.push_back(
      corner("bf16_u8", DType::kBFloat16, DType::kUInt8, {-1.5, 300, 7.5}, {0, 255, 7}));
  cases.push_back(corner("i32_u8", DType::kInt32, DType::kUInt8, {300, -1}, {44, 255}));
  cases.push_back(
      corner("i64_i32", DType::kInt64, DType::kInt32, {4294967297.0, -1}, {1, -1}));
  cases.push_back(
      corner("nan_bool", f32, DType::kBool, {kNan, 0, 0.1, -kInf}, {1, 0, 1, 1}));
  cases.push_back(corner("f32_f16", f32, DType::kFloat16, {70000, 1e-9, kNan, 65504},
                         {kInf, 0, kNan, 65504}));
  cases.push_back(corner("f32_bf16_truncated", f32, DType::kBFloat16,
                         {1.0078125 + 0.0039, -1.0078125 - 0.0039, kNan},
                         {1.0078125, -1.0078125, kNan}, true));
  cases.push_back(corner("f32_f16_truncated", f32, DType::kFloat16, {1.00088828, 70000},
                         {1, kInf}, true));
  cases.push_back(
      corner("f64_f32_truncated", f64, f32, {0.1 + 0.2}, {0.29999998211860657}, true));
  for (size_t i = cases.size() - 3; i < cases.size(); ++i) cases[i].tolerance = 0;
}

void add_bitcasts(CaseList& cases) {
  const auto bitcast = [&](const char* name, DType from, DType target, Shape in,
                           std::vector<double> x, Shape out, std::vector<double> y) {
    OpCase c;
    c.op = "Bitcast";
    c.name = name;
    c.inputs = {{.shape = in, .fixed = x}};
    c.dtypes = {from};
    c.attrs = Attrs(attrs_ref(BitcastAttrs{target}));
    c.reference = [out, y](const std::vector<Ref>&, DType) {
      Ref r{out, {}, {}};
      for (double v : y) r.values.push_back(v);
      return std::vector<Ref>{r};
    };
    cases.push_back(c);
  };
  bitcast("same", DType::kFloat32, DType::kInt32, {2}, {1, -2}, {2},
          {1065353216, -1073741824});
  bitcast("narrower", DType::kInt32, DType::kUInt8, {2}, {1, 258}, {2, 4},
          {1, 0, 0, 0, 2, 1, 0, 0});
  bitcast("wider", DType::kInt32, DType::kInt64, {1, 2}, {1, 2}, {1}, {8589934593.0});
}

void add_complex_parts(CaseList& cases) {
  cases.push_back(complex_case("Real", -2, 2, [](Complex x) { return x.real(); }));
  cases.push_back(complex_case("Imag", -2, 2, [](Complex x) { return x.imag(); }));
  cases.push_back(complex_case("Conj", -2, 2, [](Complex x) { return std::conj(x); }));
  cases.push_back(complex_case("Angle", -2, 2, [](Complex x) { return std::arg(x); }));
  cases.push_back(
      complex_case("ComplexAbs", -2, 2, [](Complex x) { return std::abs(x); }));
  OpCase c;
  c.op = "Complex";
  c.inputs = {{.shape = {4, 9}}, {.shape = {9}}};
  c.reference =
      each(Function2([](Complex x, Complex y) { return Complex(x.real(), y.real()); }));
  c.check_gradient = false;
  cases.push_back(c);
}

}  // namespace

void add_elementwise_cast_cases(CaseList& cases) {
  add_every_pair(cases);
  add_cast_corners(cases);
  add_bitcasts(cases);
  add_complex_parts(cases);
}

}  // namespace tandem::testing
