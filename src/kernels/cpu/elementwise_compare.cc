// Comparisons, logic and tests for special values. Results are bool.
#include <cfloat>
#include <cmath>

#include "kernels/cpu/elementwise_families.h"
#include "kernels/cpu/elementwise_loops.h"

namespace tandem::cpu::TANDEM_ISA {

#define TANDEM_REALS TANDEM_ALL_FLOATS, TANDEM_ALL_INTS

void add_compare_blocks(BlockTable& table) {
  Adder t{table};
  t.binary_to<bool, TANDEM_REALS, bool>("Equal", [](auto x, auto y) { return x == y; });
  t.binary_to<bool, TANDEM_REALS, bool>("NotEqual",
                                        [](auto x, auto y) { return x != y; });
  t.binary_to<bool, TANDEM_REALS>("Less", [](auto x, auto y) { return x < y; });
  t.binary_to<bool, TANDEM_REALS>("LessEqual", [](auto x, auto y) { return x <= y; });
  t.binary_to<bool, TANDEM_REALS>("Greater", [](auto x, auto y) { return x > y; });
  t.binary_to<bool, TANDEM_REALS>("GreaterEqual", [](auto x, auto y) { return x >= y; });

  t.binary<bool>("LogicalAnd", [](bool x, bool y) { return bool(x & y); });
  t.binary<bool>("LogicalOr", [](bool x, bool y) { return bool(x | y); });
  t.unary<bool>("LogicalNot", [](bool x) { return !x; });

  t.unary_to<bool, TANDEM_ALL_FLOATS>("IsNan", [](auto x) { return x != x; });
  t.unary_to<bool, TANDEM_ALL_FLOATS>("IsInf", [](auto x) {
    return std::fabs(x) > std::numeric_limits<decltype(x)>::max();
  });
  t.unary_to<bool, TANDEM_ALL_FLOATS>("IsFinite", [](auto x) {
    return std::fabs(x) <= std::numeric_limits<decltype(x)>::max();
  });
}

#undef TANDEM_REALS

}  // namespace tandem::cpu::TANDEM_ISA
