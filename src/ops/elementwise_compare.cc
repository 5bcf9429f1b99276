// Comparison, logic and bits. Gradients stop here.
#include <fmt/format.h>

#include "ops/elementwise_common.h"
#include "tandem/error.h"

namespace tandem {

namespace {

using namespace elementwise;

template <class Compare>
bool fold_compare(int64_t x, int64_t y, int64_t* r) {
  return *r = Compare()(x, y), true;
}
bool fold_and(int64_t x, int64_t y, int64_t* r) { return *r = x & y, true; }
bool fold_or(int64_t x, int64_t y, int64_t* r) { return *r = x | y, true; }
bool fold_not(int64_t x, int64_t* r) { return *r = x == 0, true; }

// TensorFlow's words for operands that are not bool.
void check_bools(const InferContext& c) {
  for (int i = 0; i < c.num_inputs(); ++i) {
    if (c.dtype(i) == DType::kBool) continue;
    throw InvalidArgumentError(
        fmt::format("cannot compute {0} as input #{1}(zero-based) was expected to be a "
                    "bool tensor but is a {2} "
                    "tensor [Op:{0}]. Cast it, or compare it with a number.",
                    c.op().name, i, dtype_short_name(c.dtype(i))));
  }
}
template <Fold2 f>
void infer_logical(InferContext& c) {
  check_bools(c);
  infer_compare_fold<f>(c);
}
void infer_not(InferContext& c) {
  check_bools(c);
  infer_unary_fold<fold_not>(c);
}
void infer_count(InferContext& c) { c.add_output(DType::kUInt8, c.shape(0)); }

OpDef comparison(const char* name, const char* doc, DTypeMask types,
                 const char* expression, void (*infer)(InferContext&)) {
  OpDef def = without_gradient(with_infer(binary(name, doc, types, expression), infer));
  def.inplace = 0;
  return def;
}
OpDef test(const char* name, const char* doc, const char* expression) {
  OpDef def = without_gradient(unary(name, doc, kFloats, expression));
  def.infer = infer_unary_bool;
  def.inplace = 0;
  return def;
}
OpDef bits(const char* name, const char* doc, const char* expression) {
  return without_gradient(binary(name, doc, kIntegers, expression));
}

}  // namespace

void register_elementwise_compare_ops(OpTable& t) {
  t.add(comparison("Equal", "Whether x equals y.", kAnyDType, "x == y",
                   infer_compare_fold<fold_compare<std::equal_to<>>>));
  t.add(comparison("NotEqual", "Whether x differs from y.", kAnyDType, "x != y",
                   infer_compare_fold<fold_compare<std::not_equal_to<>>>));
  t.add(comparison("Less", "Whether x < y.", kReals, "x < y",
                   infer_compare_fold<fold_compare<std::less<>>>));
  t.add(comparison("LessEqual", "Whether x <= y.", kReals, "x <= y",
                   infer_compare_fold<fold_compare<std::less_equal<>>>));
  t.add(comparison("Greater", "Whether x > y.", kReals, "x > y",
                   infer_compare_fold<fold_compare<std::greater<>>>));
  t.add(comparison("GreaterEqual", "Whether x >= y.", kReals, "x >= y",
                   infer_compare_fold<fold_compare<std::greater_equal<>>>));

  OpDef logical_and_op = comparison("LogicalAnd", "Whether both hold.", kAnyDType,
                                    "x && y", infer_logical<fold_and>);
  logical_and_op.inplace = 3;
  t.add(std::move(logical_and_op));
  OpDef logical_or_op = comparison("LogicalOr", "Whether one holds.", kAnyDType, "x || y",
                                   infer_logical<fold_or>);
  logical_or_op.inplace = 3;
  t.add(std::move(logical_or_op));
  t.add(with_infer(
      without_gradient(unary("LogicalNot", "Whether x does not hold.", kAnyDType, "!x")),
      infer_not));

  t.add(test("IsNan", "Whether x is not a number.", "isnan(x)"));
  t.add(test("IsInf", "Whether x is infinite.", "isinf(x)"));
  t.add(test("IsFinite", "Whether x is neither infinite nor NaN.", "isfinite(x)"));

  t.add(bits("BitwiseAnd", "Bits that are set in both.", "bitwiseand(x, y)"));
  t.add(bits("BitwiseOr", "Bits that are set in one.", "bitwiseor(x, y)"));
  t.add(bits("BitwiseXor", "Bits that differ.", "bitwisexor(x, y)"));
  t.add(bits("LeftShift", "x shifted left by y bits, y clamped to the width.",
             "leftshift(x, y)"));
  t.add(bits("RightShift",
             "x shifted right by y bits, keeping the sign, y clamped to the width.",
             "rightshift(x, y)"));
  t.add(without_gradient(unary("Invert", "All bits flipped.", kIntegers, "invert(x)")));
  OpDef count = without_gradient(unary("PopulationCount",
                                       "The number of bits that are set, as uint8.",
                                       kIntegers, "populationcount(x)"));
  count.infer = infer_count;
  count.inplace = 0;
  t.add(std::move(count));
}

#define TANDEM_BINARY(function, Name)                 \
  Tensor function(const Tensor& x, const Tensor& y) { \
    static const OpHandle op(Name);                   \
    return emit(op, {x, y});                          \
  }
#define TANDEM_UNARY(function, Name) \
  Tensor function(const Tensor& x) { \
    static const OpHandle op(Name);  \
    return emit(op, {x});            \
  }
TANDEM_BINARY(equal, "Equal")
TANDEM_BINARY(not_equal, "NotEqual")
TANDEM_BINARY(less, "Less")
TANDEM_BINARY(less_equal, "LessEqual")
TANDEM_BINARY(greater, "Greater")
TANDEM_BINARY(greater_equal, "GreaterEqual")
TANDEM_BINARY(logical_and, "LogicalAnd")
TANDEM_BINARY(logical_or, "LogicalOr")
TANDEM_UNARY(logical_not, "LogicalNot")
TANDEM_UNARY(is_nan, "IsNan")
TANDEM_UNARY(is_inf, "IsInf")
TANDEM_UNARY(is_finite, "IsFinite")
TANDEM_BINARY(bitwise_and, "BitwiseAnd")
TANDEM_BINARY(bitwise_or, "BitwiseOr")
TANDEM_BINARY(bitwise_xor, "BitwiseXor")
TANDEM_BINARY(left_shift, "LeftShift")
TANDEM_BINARY(right_shift, "RightShift")
TANDEM_UNARY(invert, "Invert")
TANDEM_UNARY(population_count, "PopulationCount")
#undef TANDEM_UNARY
#undef TANDEM_BINARY

Tensor logical_xor(const Tensor& x, const Tensor& y) {
  return logical_and(logical_or(x, y), logical_not(logical_and(x, y)));
}
Tensor approximate_equal(const Tensor& x, const Tensor& y, double tolerance) {
  if (!x.shape().compatible_with(y.shape())) {
    throw InvalidArgumentError(fmt::format(
        "approximate_equal: x and y must be of the same shape. x shape: {}. y shape: {}",
        x.shape().debug_str(), y.shape().debug_str()));
  }
  const Tensor distance = abs(x - y);
  return less(distance, scalar(tolerance, distance.dtype()));
}

}  // namespace tandem
