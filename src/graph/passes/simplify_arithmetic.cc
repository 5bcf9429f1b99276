// Arithmetic with neutral elements, double negations, powers, selections.
//
// Exact, bit for bit, unless said here:
//  - x + 0 is x: where x is -0 the sum would be +0
//  - pow(x, 2) is square(x) and pow(x, -1) is reciprocal(x), which round once where pow
//    may be off by one unit in the last place
// x * 0 is 0 for integers only (NaN, infinities, -0), quotients become products only for
// powers of two.
#include <bit>
#include <cmath>

#include "graph/passes/simplify.h"

namespace tandem {

namespace {

bool real(DType t) { return is_integer(t) || is_floating(t); }

// Input i is `value` everywhere (one element that broadcasts), and the output has the
// shape of input `other`.
bool neutral(const Rewrite& r, size_t i, size_t other, double value) {
  double c = 0;
  return real(r.out().dtype) && scalar_constant(r.to, r.inputs[i], &c) && c == value &&
         same_known(r.in(other).shape, r.out().shape);
}

ValueRef add_zero(Rewrite& r) {
  for (size_t i : {0u, 1u}) {
    if (neutral(r, 1 - i, i, 0)) return r.inputs[i];
  }
  return {};
}
// x + (-y) and (-x) + y; the same bits as the differences.
ValueRef add_negative(Rewrite& r) {
  for (size_t i : {1u, 0u}) {
    if (!r.maker(i).is_op("Neg") || !real(r.out().dtype)) continue;
    return r.emit("Sub", {r.inputs[1 - i], r.maker(i).inputs[0]});
  }
  return {};
}
ValueRef subtract_zero(Rewrite& r) {
  return neutral(r, 1, 0, 0) ? r.inputs[0] : ValueRef{};
}
ValueRef subtract_negative(Rewrite& r) {
  if (!r.maker(1).is_op("Neg") || !real(r.out().dtype)) return {};
  return r.emit("AddV2", {r.inputs[0], r.maker(1).inputs[0]});
}
ValueRef multiply_one(Rewrite& r) {
  for (size_t i : {0u, 1u}) {
    if (neutral(r, 1 - i, i, 1)) return r.inputs[i];
  }
  return {};
}
ValueRef multiply_zero(Rewrite& r) {
  if (!is_integer(r.out().dtype) || !r.out().shape.is_known()) return {};
  double c = 1;
  for (size_t i : {0u, 1u}) {
    if (scalar_constant(r.to, r.inputs[i], &c) && c == 0) return r.filled(0);
  }
  return {};
}
ValueRef divide_one(Rewrite& r) { return neutral(r, 1, 0, 1) ? r.inputs[0] : ValueRef{}; }

// 2^k whose inverse is a normal number of the dtype too.
bool invertible(DType t, double c) {
  int exponent = 0;
  if (!std::isfinite(c) || std::abs(std::frexp(c, &exponent)) != 0.5) return false;
  const int limit = t == DType::kFloat16 ? 13 : t == DType::kFloat64 ? 1000 : 120;
  return std::abs(exponent) < limit;
}
ValueRef divide_power_of_two(Rewrite& r) {
  double c = 0;
  if (!is_floating(r.out().dtype) || !scalar_constant(r.to, r.inputs[1], &c)) return {};
  if (!invertible(r.out().dtype, c)) return {};
  const Shape shape = r.in(1).shape;
  const ValueRef one = r.constant(host_scalar(r.out().dtype, 1 / c), "/inverse");
  const ValueRef inverse = r.reshaped(one, shape);
  return r.emit("Mul", {r.inputs[0], inverse});
}

ValueRef constant_power(Rewrite& r) {
  if (neutral(r, 1, 0, 1)) return r.inputs[0];
  if (neutral(r, 1, 0, 2)) return r.emit("Square", {r.inputs[0]});
  if (is_floating(r.out().dtype) && neutral(r, 1, 0, -1)) {
    return r.emit("Reciprocal", {r.inputs[0]});
  }
  return {};
}

// f(f(x)) = x.
ValueRef involution(Rewrite& r) {
  return r.maker(0).op == r.node.op ? r.maker(0).inputs[0] : ValueRef{};
}
// f(f(x)) = f(x).
ValueRef idempotent(Rewrite& r) {
  return r.maker(0).op == r.node.op ? r.inputs[0] : ValueRef{};
}
// f(x, x) = x.
ValueRef of_equals(Rewrite& r) {
  return r.inputs[0] == r.inputs[1] ? r.inputs[0] : ValueRef{};
}

bool truth(const Rewrite& r, size_t i, bool* value) {
  double c = 0;
  if (!scalar_constant(r.to, r.inputs[i], &c)) return false;
  *value = c != 0;
  return true;
}
template <bool kNeutral>
ValueRef logical(Rewrite& r) {
  bool value = false;
  for (size_t i : {0u, 1u}) {
    if (!truth(r, i, &value) || !r.out().shape.is_known()) continue;
    if (value != kNeutral) return r.filled(value);
    if (same_known(r.in(1 - i).shape, r.out().shape)) return r.inputs[1 - i];
  }
  return {};
}

ValueRef select(Rewrite& r) {
  if (!r.out().shape.is_known()) return {};
  bool value = false;
  if (truth(r, 0, &value)) return r.broadcast(r.inputs[value ? 1 : 2], r.out().shape);
  if (r.inputs[1] == r.inputs[2]) return r.broadcast(r.inputs[1], r.out().shape);
  return {};
}

ValueRef few_addends(Rewrite& r) {
  if (r.inputs.size() == 1) return r.inputs[0];
  if (r.inputs.size() != 2 || !same_known(r.in(0).shape, r.in(1).shape)) return {};
  return r.emit("AddV2", r.inputs);
}

}  // namespace

void add_arithmetic_rules(Rules& rules) {
  rules["AddV2"] = {add_zero, add_negative};
  rules["AddN"] = {few_addends};
  rules["Sub"] = {subtract_zero, subtract_negative};
  rules["Mul"] = {multiply_one, multiply_zero};
  rules["RealDiv"] = {divide_one, divide_power_of_two};
  rules["Pow"] = {constant_power};
  rules["Neg"] = {involution};
  rules["LogicalNot"] = {involution};
  rules["Conj"] = {involution};
  rules["Abs"] = {idempotent};
  rules["Relu"] = {idempotent};
  rules["Maximum"] = {of_equals};
  rules["Minimum"] = {of_equals};
  rules["LogicalAnd"] = {of_equals, logical<true>};
  rules["LogicalOr"] = {of_equals, logical<false>};
  rules["SelectV2"] = {select};
}

}  // namespace tandem
