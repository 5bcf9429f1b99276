#include "op/op_def.h"
#include "ops/fused_products.h"
#include "ops/nn_register.h"
#include "ops/register.h"

namespace tandem {

void register_nn_ops(OpTable& table) {
  register_nn_conv_ops(table);
  register_nn_pool_ops(table);
  register_nn_bias_ops(table);
  register_nn_batch_norm_ops(table);
  register_nn_layer_norm_ops(table);
  register_nn_softmax_ops(table);
  register_nn_cross_entropy_ops(table);
  register_nn_ctc_ops(table);
  register_nn_attention_ops(table);
  register_nn_recurrent_ops(table);
  register_nn_resize_ops(table);
  register_nn_transform_ops(table);
  register_fused_product_ops(table);
}

}  // namespace tandem
