#include "kernels/cpu/elementwise_blocks.h"

#include "kernels/cpu/elementwise_families.h"
#include "tandem/error.h"
#include "tandem/ops/activations.h"

namespace tandem::cpu {

void BlockTable::add(std::string_view op, DType dtype, const ElementwiseBlocks& blocks) {
  blocks_[Key{std::string(op), dtype}] = blocks;
  ops_[std::string(op)] |= mask(dtype);
}
void BlockTable::add_cast(DType from, DType to, bool truncate, Block block) {
  casts_[truncate][static_cast<int>(from)][static_cast<int>(to)] = block;
}
const ElementwiseBlocks* BlockTable::find(std::string_view op, DType dtype) const {
  const auto it = blocks_.find(Key{std::string(op), dtype});
  return it == blocks_.end() ? nullptr : &it->second;
}

namespace {

#define TANDEM_FILL(isa)              \
  isa::add_activation_blocks(*table); \
  isa::add_arith_blocks(*table);      \
  isa::add_cast_blocks(*table);       \
  isa::add_compare_blocks(*table);    \
  isa::add_complex_blocks(*table);    \
  isa::add_integer_blocks(*table);    \
  isa::add_math_blocks(*table);       \
  isa::add_select_blocks(*table);     \
  isa::add_stream(*table)

void fill_table(BlockTable* table) {
#if TANDEM_HAVE_V4
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
      __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq") &&
      __builtin_cpu_supports("avx512vl")) {
    TANDEM_FILL(v4);
    return;
  }
#endif
#if TANDEM_HAVE_V3
  TANDEM_FILL(v3);
#elif TANDEM_HAVE_GENERIC
  TANDEM_FILL(generic);
#endif
}
#undef TANDEM_FILL

}  // namespace

const BlockTable& block_table() {
  static const BlockTable* table = [] {
    auto* t = new BlockTable;
    fill_table(t);
    add_special_blocks(*t);
    add_string_blocks(*t);
    return t;
  }();
  return *table;
}

BlockParams block_params(AttrsRef attrs) {
  if (attrs.type == &attrs_type<nn::LeakyReluAttrs>()) {
    return {attrs.as<nn::LeakyReluAttrs>().alpha, 0};
  }
  if (attrs.type == &attrs_type<nn::SiluAttrs>()) {
    return {attrs.as<nn::SiluAttrs>().beta, 0};
  }
  if (attrs.type == &attrs_type<nn::GeluAttrs>()) {
    return {attrs.as<nn::GeluAttrs>().approximate ? 1.0 : 0.0, 0};
  }
  return {};
}

void throw_integer_division_by_zero() {
  throw InvalidArgumentError(
      "Integer division by zero. Replace the zeros, or divide as floats.");
}
void throw_negative_integer_power() {
  throw InvalidArgumentError(
      "Integers to negative integer powers are not allowed. Cast to a floating-point "
      "dtype.");
}

}  // namespace tandem::cpu
