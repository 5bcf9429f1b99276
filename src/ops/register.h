// One function per op family; register_all_ops() calls them in this order. Families do
// not include each other's private parts: gradients use the public op functions.
#pragma once

namespace tandem {

class OpTable;

void register_array_ops(OpTable& table);
void register_elementwise_ops(OpTable& table);
void register_fused_ops(OpTable& table);
void register_indexing_ops(OpTable& table);
void register_linalg_ops(OpTable& table);
void register_nn_ops(OpTable& table);
void register_random_ops(OpTable& table);
void register_reduce_ops(OpTable& table);
void register_sort_ops(OpTable& table);
void register_state_ops(OpTable& table);

void register_all_ops(OpTable& table);

}  // namespace tandem
