// Ops that give their input back, and casts. Exact: two casts become one only where both
// the first and the one that is left keep every value.
#include "graph/passes/simplify.h"
#include "tandem/ops/attrs.h"

namespace tandem {

namespace {

// On another device an Identity is a copy that somebody asked for.
ValueRef identity(Rewrite& r) {
  if (!r.node.device.empty() && r.node.device != r.maker(0).device) return {};
  return r.inputs[0];
}

ValueRef ensured_shape(Rewrite& r) {
  return same_known(r.in(0).shape, r.out().shape) ? r.inputs[0] : ValueRef{};
}

// Digits of the significand, or bits of magnitude.
int precision(DType t) {
  switch (t) {
    case DType::kBool:
      return 1;
    case DType::kFloat16:
      return 11;
    case DType::kBFloat16:
      return 8;
    case DType::kFloat32:
      return 24;
    case DType::kFloat64:
      return 53;
    default:
      break;
  }
  const int bits = 8 * static_cast<int>(dtype_size(t));
  return is_unsigned(t) ? bits : bits - 1;
}

bool keeps_every_value(DType from, DType to) {
  const bool integer = is_integer(from) || from == DType::kBool;
  if (from == to) return true;
  if (integer && is_integer(to)) {
    return precision(from) <= precision(to) &&
           (is_unsigned(from) || from == DType::kBool || !is_unsigned(to));
  }
  // float16 holds numbers up to 65504 and nothing wider than it: 11 bits fit.
  if (integer && is_floating(to)) return precision(from) <= precision(to);
  if (is_floating(from) && is_floating(to)) {
    const bool from16 = from == DType::kFloat16 || from == DType::kBFloat16;
    return precision(from) <= precision(to) &&
           (to == DType::kFloat32 || to == DType::kFloat64) && (from16 || to != from);
  }
  return false;
}

ValueRef cast(Rewrite& r) {
  const DType to = r.out().dtype, from = r.in(0).dtype;
  if (from == to) return r.inputs[0];
  const Node& before = r.maker(0);
  if (!before.is_op("Cast")) return {};
  const DType first = r.to.info(before.inputs[0]).dtype;
  if (!keeps_every_value(first, from) || !keeps_every_value(first, to)) return {};
  if (first == to) return before.inputs[0];
  return r.emit("Cast", {before.inputs[0]}, attrs_ref(CastAttrs{.dtype = to}));
}

}  // namespace

void add_cast_rules(Rules& rules) {
  rules["Identity"] = {identity};
  rules["StopGradient"] = {identity};
  rules["PreventGradient"] = {identity};
  rules["EnsureShape"] = {ensured_shape};
  rules["Cast"] = {cast};
}

}  // namespace tandem
