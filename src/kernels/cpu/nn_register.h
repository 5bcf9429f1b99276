// The parts of the nn kernels; register_nn_kernels() calls them in this order.
#pragma once

namespace tandem {

class KernelRegistry;

namespace cpu {

void register_nn_conv_onednn_kernels(KernelRegistry& registry);
void register_nn_conv_gemm_kernels(KernelRegistry& registry);
void register_nn_pool_kernels(KernelRegistry& registry);
void register_nn_bias_kernels(KernelRegistry& registry);
void register_nn_batch_norm_kernels(KernelRegistry& registry);
void register_nn_layer_norm_kernels(KernelRegistry& registry);
void register_nn_softmax_kernels(KernelRegistry& registry);
void register_nn_cross_entropy_kernels(KernelRegistry& registry);
void register_nn_ctc_loss_kernels(KernelRegistry& registry);
void register_nn_ctc_greedy_kernels(KernelRegistry& registry);
void register_nn_ctc_beam_kernels(KernelRegistry& registry);
void register_nn_attention_kernels(KernelRegistry& registry);
void register_nn_lstm_kernels(KernelRegistry& registry);
void register_nn_gru_kernels(KernelRegistry& registry);
void register_nn_resize_kernels(KernelRegistry& registry);
void register_nn_transform_kernels(KernelRegistry& registry);
void register_fused_steps_kernels(KernelRegistry& registry);

}  // namespace cpu

}  // namespace tandem
