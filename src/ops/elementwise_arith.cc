// Sums, products, quotients, powers, extrema: binary arithmetic with its gradients.
#include <fmt/format.h>

#include "ops/elementwise_common.h"
#include "tandem/error.h"

namespace tandem {

namespace {

using namespace elementwise;

// Folding goes through unsigned numbers, in which overflow is defined.
bool fold_add(int64_t x, int64_t y, int64_t* r) {
  *r = static_cast<int64_t>(static_cast<uint64_t>(x) + static_cast<uint64_t>(y));
  return true;
}
bool fold_sub(int64_t x, int64_t y, int64_t* r) {
  *r = static_cast<int64_t>(static_cast<uint64_t>(x) - static_cast<uint64_t>(y));
  return true;
}
bool fold_mul(int64_t x, int64_t y, int64_t* r) {
  *r = static_cast<int64_t>(static_cast<uint64_t>(x) * static_cast<uint64_t>(y));
  return true;
}
bool divisible(int64_t x, int64_t y) { return y != 0 && !(x == INT64_MIN && y == -1); }
bool fold_truncate_div(int64_t x, int64_t y, int64_t* r) {
  if (!divisible(x, y)) return false;
  *r = x / y;
  return true;
}
bool fold_truncate_mod(int64_t x, int64_t y, int64_t* r) {
  if (!divisible(x, y)) return false;
  *r = x % y;
  return true;
}
bool fold_floor_div(int64_t x, int64_t y, int64_t* r) {
  if (!divisible(x, y)) return false;
  *r = x / y - (x % y != 0 && (x < 0) != (y < 0));
  return true;
}
bool fold_floor_mod(int64_t x, int64_t y, int64_t* r) {
  if (!divisible(x, y)) return false;
  *r = x % y + (x % y != 0 && (x < 0) != (y < 0) ? y : 0);
  return true;
}
bool fold_max(int64_t x, int64_t y, int64_t* r) { return *r = x > y ? x : y, true; }
bool fold_min(int64_t x, int64_t y, int64_t* r) { return *r = x < y ? x : y, true; }

void grad_add(GradContext& c) {
  if (c.needs(0)) c.set(0, sum_to(c.grad(), c.input(0)));
  if (c.needs(1)) c.set(1, sum_to(c.grad(), c.input(1)));
}
void grad_sub(GradContext& c) {
  if (c.needs(0)) c.set(0, sum_to(c.grad(), c.input(0)));
  if (c.needs(1)) c.set(1, negative(sum_to(c.grad(), c.input(1))));
}
void grad_mul(GradContext& c) {
  if (c.needs(0)) c.set(0, sum_to(c.grad() * conj(c.input(1)), c.input(0)));
  if (c.needs(1)) c.set(1, sum_to(conj(c.input(0)) * c.grad(), c.input(1)));
}
void grad_real_div(GradContext& c) {
  const Tensor quotient = c.grad() / conj(c.input(1));
  if (c.needs(0)) c.set(0, sum_to(quotient, c.input(0)));
  if (c.needs(1)) {
    c.set(1, negative(sum_to(quotient * conj(c.output(0)), c.input(1))));
  }
}
void grad_div_no_nan(GradContext& c) {
  const Tensor x = conj(c.input(0)), y = conj(c.input(1));
  const Tensor quotient = divide_no_nan(c.grad(), y);
  if (c.needs(0)) c.set(0, sum_to(quotient, c.input(0)));
  if (c.needs(1)) c.set(1, negative(sum_to(quotient * divide_no_nan(x, y), c.input(1))));
}
void grad_mul_no_nan(GradContext& c) {
  const Tensor x = conj(c.input(0)), y = conj(c.input(1));
  if (c.needs(0)) c.set(0, sum_to(multiply_no_nan(c.grad(), y), c.input(0)));
  if (c.needs(1)) c.set(1, sum_to(multiply_no_nan(x, c.grad()), c.input(1)));
}
void grad_floor_mod(GradContext& c) {
  if (c.needs(0)) c.set(0, sum_to(c.grad(), c.input(0)));
  if (c.needs(1)) {
    c.set(1, negative(sum_to(c.grad() * floordiv(c.input(0), c.input(1)), c.input(1))));
  }
}
void grad_truncate_mod(GradContext& c) {
  if (c.needs(0)) c.set(0, sum_to(c.grad(), c.input(0)));
  if (c.needs(1)) {
    c.set(1,
          negative(sum_to(c.grad() * truncatediv(c.input(0), c.input(1)), c.input(1))));
  }
}
void grad_pow(GradContext& c) {
  const Tensor x = conj(c.input(0)), y = conj(c.input(1));
  if (c.needs(0)) c.set(0, sum_to(c.grad() * y * pow(x, y - 1), c.input(0)));
  if (c.needs(1)) {
    // The logarithm of numbers without one counts as 0.
    const Tensor mask = is_complex(x.dtype()) ? not_equal(x, 0) : x > 0;
    const Tensor safe = where(mask, x, ones_like(x));
    const Tensor z = conj(c.output(0));
    c.set(1, sum_to(c.grad() * z * log(safe), c.input(1)));
  }
}
// The whole gradient goes to x where both are equal.
void set_chosen(GradContext& c, const Tensor& takes_x) {
  const Tensor zero = scalar(0, c.input(0).dtype());
  if (c.needs(0)) c.set(0, sum_to(where(takes_x, c.grad(), zero), c.input(0)));
  if (c.needs(1)) c.set(1, sum_to(where(takes_x, zero, c.grad()), c.input(1)));
}
void grad_maximum(GradContext& c) { set_chosen(c, c.input(0) >= c.input(1)); }
void grad_minimum(GradContext& c) { set_chosen(c, c.input(0) <= c.input(1)); }
void grad_squared_difference(GradContext& c) {
  const Tensor difference = c.input(0) - c.input(1);
  const Tensor g = c.grad() * (difference + difference);
  if (c.needs(0)) c.set(0, sum_to(g, c.input(0)));
  if (c.needs(1)) c.set(1, negative(sum_to(g, c.input(1))));
}
void grad_atan2(GradContext& c) {
  const Tensor &y = c.input(0), &x = c.input(1);
  const Tensor g = c.grad() / (square(x) + square(y));
  if (c.needs(0)) c.set(0, sum_to(g * x, y));
  if (c.needs(1)) c.set(1, negative(sum_to(g * y, x)));
}
Tensor one_where_not_zero(const Tensor& x) { return cast(not_equal(x, 0), x.dtype()); }
void grad_xdivy(GradContext& c) {
  const Tensor x = conj(c.input(0)), y = conj(c.input(1));
  if (c.needs(0))
    c.set(0, sum_to(xdivy(one_where_not_zero(x), y) * c.grad(), c.input(0)));
  if (c.needs(1)) c.set(1, sum_to(xdivy(negative(x), square(y)) * c.grad(), c.input(1)));
}
void grad_xlogy(GradContext& c) {
  const Tensor x = conj(c.input(0)), y = conj(c.input(1));
  if (c.needs(0))
    c.set(0, sum_to(xlogy(one_where_not_zero(x), y) * c.grad(), c.input(0)));
  if (c.needs(1)) c.set(1, sum_to(xdivy(x, y) * c.grad(), c.input(1)));
}
void grad_xlog1py(GradContext& c) {
  const Tensor x = conj(c.input(0)), y = conj(c.input(1));
  if (c.needs(0))
    c.set(0, sum_to(xlog1py(one_where_not_zero(x), y) * c.grad(), c.input(0)));
  if (c.needs(1)) c.set(1, sum_to(xdivy(x, y + 1) * c.grad(), c.input(1)));
}
void grad_nextafter(GradContext& c) {
  if (c.needs(0)) c.set(0, sum_to(c.grad(), c.input(0)));
  if (c.needs(1)) c.set(1, zeros_like(c.input(1)));
}

OpDef arithmetic(const char* name, const char* doc, DTypeMask types,
                 const char* expression, Reads reads, GradientFn gradient) {
  return with_gradient(binary(name, doc, types, expression), reads, gradient);
}

void register_sums(OpTable& t) {
  t.add(with_infer(arithmetic("AddV2", "x + y; integers wrap around.", kNumbers, "x + y",
                              kReadsNothing, grad_add),
                   infer_binary_fold<fold_add>));
  OpDef join = without_gradient(
      binary("Add", "Strings joined: x followed by y.", mask(DType::kString), ""));
  join.inplace = 0;
  t.add(std::move(join));
  t.add(with_infer(arithmetic("Sub", "x - y; integers wrap around.", kNumbers, "x - y",
                              kReadsNothing, grad_sub),
                   infer_binary_fold<fold_sub>));
  t.add(with_infer(arithmetic("Mul", "x * y; integers wrap around.", kNumbers, "x * y",
                              kReadsInputs, grad_mul),
                   infer_binary_fold<fold_mul>));
  t.add(arithmetic("SquaredDifference", "(x - y)², for complex numbers |x - y|².",
                   kFloatsAndComplex | kIndices, "squareddifference(x, y)", kReadsInputs,
                   grad_squared_difference));
  t.add(with_infer(arithmetic("Maximum", "The larger one; NaN where either is NaN.",
                              kReals, "maximum(x, y)", kReadsInputs, grad_maximum),
                   infer_binary_fold<fold_max>));
  t.add(with_infer(arithmetic("Minimum", "The smaller one; NaN where either is NaN.",
                              kReals, "minimum(x, y)", kReadsInputs, grad_minimum),
                   infer_binary_fold<fold_min>));
  t.add(arithmetic("NextAfter", "The next representable number from x toward y.",
                   mask(DType::kFloat32, DType::kFloat64), "nextafter(x, y)",
                   kReadsNothing, grad_nextafter));
}

// Integer divisions fail on zeros.
OpDef division(OpDef def, void (*infer)(InferContext&)) {
  def.effects = kMayFail;
  def.cost = cost<8>;
  def.infer = infer;
  return def;
}

void register_quotients(OpTable& t) {
  t.add(with_cost(
      arithmetic("RealDiv", "x / y.", kFloatsAndComplex, "x / y", {2, 1}, grad_real_div),
      cost<4>));
  t.add(with_cost(arithmetic("DivNoNan", "x / y, but 0 where y is 0.", kFloatsAndComplex,
                             "y == 0 ? 0 : x / y", kReadsInputs, grad_div_no_nan),
                  cost<5>));
  t.add(arithmetic("MulNoNan", "x * y, but 0 where y is 0, whatever x is.",
                   kFloatsAndComplex, "y == 0 ? 0 : x * y", kReadsInputs,
                   grad_mul_no_nan));
  t.add(division(without_gradient(binary("FloorDiv", "The quotient rounded down.", kReals,
                                         "floordiv(x, y)")),
                 infer_binary_fold<fold_floor_div>));
  t.add(division(arithmetic("FloorMod", "The remainder with the sign of the divisor.",
                            kReals, "floormod(x, y)", kReadsInputs, grad_floor_mod),
                 infer_binary_fold<fold_floor_mod>));
  t.add(
      division(without_gradient(binary("TruncateDiv", "The quotient rounded toward zero.",
                                       kReals, "truncatediv(x, y)")),
               infer_binary_fold<fold_truncate_div>));
  t.add(division(arithmetic("TruncateMod", "The remainder with the sign of the dividend.",
                            kFloats | kIndices, "truncatemod(x, y)", kReadsInputs,
                            grad_truncate_mod),
                 infer_binary_fold<fold_truncate_mod>));
  t.add(with_cost(arithmetic("Xdivy", "x / y, but 0 where x is 0.", kFloatsAndComplex,
                             "x == 0 ? 0 : x / y", kReadsInputs, grad_xdivy),
                  cost<5>));
}

}  // namespace

void register_elementwise_arith_ops(OpTable& t) {
  register_sums(t);
  register_quotients(t);
  OpDef power =
      arithmetic("Pow", "x to the power y; negative exponents of integers fail.",
                 kFloatsAndComplex | kSigned, "pow(x, y)", kReadsAll, grad_pow);
  power.effects = kMayFail;
  t.add(with_cost(std::move(power), cost<30>));
  OpDef atan2_op = arithmetic("Atan2", "The angle of the point (x, y), in (-π, π].",
                              kFloats, "atan2(x, y)", kReadsInputs, grad_atan2);
  atan2_op.inputs = {{.name = "y"}, {.name = "x"}};
  t.add(with_cost(std::move(atan2_op), cost<30>));
  t.add(
      with_cost(arithmetic("Xlogy", "x * log(y), but 0 where x is 0.", kFloatsAndComplex,
                           "x == 0 ? 0 : x * log(y)", kReadsInputs, grad_xlogy),
                cost<20>));
  t.add(with_cost(
      arithmetic("Xlog1py", "x * log1p(y), but 0 where x is 0.", kFloatsAndComplex,
                 "x == 0 ? 0 : x * log1p(y)", kReadsInputs, grad_xlog1py),
      cost<20>));
}

#define TANDEM_BINARY(function, Name)                 \
  Tensor function(const Tensor& x, const Tensor& y) { \
    static const OpHandle op(Name);                   \
    return emit(op, {x, y});                          \
  }
Tensor add(const Tensor& x, const Tensor& y) {
  static const OpHandle op("AddV2"), join("Add");
  return emit(x.dtype() == DType::kString ? join : op, {x, y});
}
TANDEM_BINARY(subtract, "Sub")
TANDEM_BINARY(multiply, "Mul")
TANDEM_BINARY(divide_no_nan, "DivNoNan")
TANDEM_BINARY(multiply_no_nan, "MulNoNan")
TANDEM_BINARY(floordiv, "FloorDiv")
TANDEM_BINARY(floormod, "FloorMod")
TANDEM_BINARY(truncatediv, "TruncateDiv")
TANDEM_BINARY(truncatemod, "TruncateMod")
TANDEM_BINARY(pow, "Pow")
TANDEM_BINARY(maximum, "Maximum")
TANDEM_BINARY(minimum, "Minimum")
TANDEM_BINARY(squared_difference, "SquaredDifference")
TANDEM_BINARY(atan2, "Atan2")
TANDEM_BINARY(xdivy, "Xdivy")
TANDEM_BINARY(xlogy, "Xlogy")
TANDEM_BINARY(xlog1py, "Xlog1py")
TANDEM_BINARY(nextafter, "NextAfter")
#undef TANDEM_BINARY

Tensor divide(const Tensor& x, const Tensor& y) {
  static const OpHandle op("RealDiv");
  const DType dtype = x.dtype();
  if (!is_integer(dtype)) return emit(op, {x, y});
  if (y.dtype() != dtype) {
    throw InvalidArgumentError(fmt::format(
        "divide: `x` and `y` must have the same dtype, got tf.{} != tf.{}. Cast one of "
        "them.",
        dtype_name(dtype), dtype_name(y.dtype())));
  }
  const DType wide = dtype_size(dtype) <= 2 ? DType::kFloat32 : DType::kFloat64;
  return emit(op, {cast(x, wide), cast(y, wide)});
}

}  // namespace tandem
