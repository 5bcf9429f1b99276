// The elementwise family, in parts.
#include "ops/elementwise_common.h"
#include "ops/register.h"

namespace tandem {

void register_elementwise_ops(OpTable& table) {
  register_elementwise_arith_ops(table);
  register_elementwise_math_ops(table);
  register_elementwise_special_ops(table);
  register_elementwise_compare_ops(table);
  register_elementwise_cast_ops(table);
  register_elementwise_select_ops(table);
  register_activation_ops(table);
}

}  // namespace tandem
