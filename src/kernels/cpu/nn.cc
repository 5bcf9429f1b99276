#include "kernels/cpu/nn_register.h"
#include "kernels/register.h"
#include "op/kernel.h"

namespace tandem::cpu {

void register_nn_kernels(KernelRegistry& registry) {
  register_nn_conv_onednn_kernels(registry);
  register_nn_conv_gemm_kernels(registry);
  register_nn_pool_kernels(registry);
  register_nn_bias_kernels(registry);
  register_nn_batch_norm_kernels(registry);
  register_nn_layer_norm_kernels(registry);
  register_nn_softmax_kernels(registry);
  register_nn_cross_entropy_kernels(registry);
  register_nn_ctc_loss_kernels(registry);
  register_nn_ctc_greedy_kernels(registry);
  register_nn_ctc_beam_kernels(registry);
  register_nn_attention_kernels(registry);
  register_nn_lstm_kernels(registry);
  register_nn_gru_kernels(registry);
  register_nn_resize_kernels(registry);
  register_nn_transform_kernels(registry);
  // What nothing better was registered for.
  register_fused_steps_kernels(registry);
}

}  // namespace tandem::cpu
