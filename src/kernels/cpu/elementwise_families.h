// The functions that fill the block table, one per file of blocks; each exists once for
// every instruction set the library is compiled for. Included with TANDEM_ISA defined.
#pragma once

#include "kernels/cpu/elementwise_blocks.h"

namespace tandem::cpu {

// Errors of blocks, out of line.
[[noreturn]] void throw_integer_division_by_zero();
[[noreturn]] void throw_negative_integer_power();

#define TANDEM_BLOCK_FAMILIES(isa)               \
  namespace isa {                                \
  void add_activation_blocks(BlockTable& table); \
  void add_arith_blocks(BlockTable& table);      \
  void add_cast_blocks(BlockTable& table);       \
  void add_compare_blocks(BlockTable& table);    \
  void add_complex_blocks(BlockTable& table);    \
  void add_integer_blocks(BlockTable& table);    \
  void add_math_blocks(BlockTable& table);       \
  void add_select_blocks(BlockTable& table);     \
  void add_stream(BlockTable& table);            \
  }                                              \
  static_assert(true)

#if TANDEM_HAVE_V3
TANDEM_BLOCK_FAMILIES(v3);
#endif
#if TANDEM_HAVE_V4
TANDEM_BLOCK_FAMILIES(v4);
#endif
#if TANDEM_HAVE_GENERIC
TANDEM_BLOCK_FAMILIES(generic);
#endif
#undef TANDEM_BLOCK_FAMILIES

// Blocks compiled once: special functions and strings, which no instruction set helps.
void add_special_blocks(BlockTable& table);
void add_string_blocks(BlockTable& table);

}  // namespace tandem::cpu
