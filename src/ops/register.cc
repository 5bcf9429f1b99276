#include "ops/register.h"

#include "op/op_def.h"
#include "ops/collective.h"
#include "ops/effects.h"
#include "ops/tensor_list.h"

namespace tandem {

void register_all_ops(OpTable& table) {
  register_array_ops(table);
  register_elementwise_ops(table);
  register_fused_ops(table);
  register_indexing_ops(table);
  register_linalg_ops(table);
  register_nn_ops(table);
  register_random_ops(table);
  register_reduce_ops(table);
  register_sort_ops(table);
  register_state_ops(table);
  register_tensor_list_ops(table);
  register_tensor_list_functions();
  register_effect_ops(table);
  register_collective_ops(table);
  register_collective_functions();
}

namespace {
[[maybe_unused]] const bool g_installed = (set_op_registrar(&register_all_ops), true);
}

}  // namespace tandem
