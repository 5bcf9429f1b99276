// The parts of the nn family; register_nn_ops() calls them in this order.
#pragma once

namespace tandem {

class OpTable;

void register_nn_conv_ops(OpTable& table);
void register_nn_pool_ops(OpTable& table);
void register_nn_bias_ops(OpTable& table);
void register_nn_batch_norm_ops(OpTable& table);
void register_nn_layer_norm_ops(OpTable& table);
void register_nn_softmax_ops(OpTable& table);
void register_nn_cross_entropy_ops(OpTable& table);
void register_nn_ctc_ops(OpTable& table);
void register_nn_attention_ops(OpTable& table);
void register_nn_recurrent_ops(OpTable& table);
void register_nn_resize_ops(OpTable& table);
void register_nn_transform_ops(OpTable& table);

}  // namespace tandem
