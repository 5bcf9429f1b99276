// The families of CUDA kernels, one register function each, and the list they fill.
#pragma once

#include <vector>

#include "op/kernel.h"

namespace tandem::cuda {

/// Kernels to be registered; sets their platform.
class Kernels {
 public:
  void add(Kernel kernel);
  std::vector<Kernel> take() { return std::move(list_); }

 private:
  std::vector<Kernel> list_;
};

/// The dtypes of T for which an elementwise op has a kernel.
DTypeMask expression_dtypes(const OpDef& op);

void register_attention(Kernels& kernels);
void register_attention_tiles(Kernels& kernels);
void register_blocks(Kernels& kernels);
void register_check_numerics(Kernels& kernels);
void register_batch_norm(Kernels& kernels);
void register_batch_norm_grad(Kernels& kernels);
void register_conv(Kernels& kernels);
void register_conv_product(Kernels& kernels);
void register_count(Kernels& kernels);
void register_cross(Kernels& kernels);
void register_cross_entropy(Kernels& kernels);
void register_ctc(Kernels& kernels);
void register_cudnn_attention(Kernels& kernels);
void register_cudnn_attention_defaults(Kernels& kernels);
void register_cudnn_conv(Kernels& kernels);
void register_diag(Kernels& kernels);
void register_elementwise(Kernels& kernels);
void register_fourier(Kernels& kernels);
void register_fused(Kernels& kernels);
void register_gather(Kernels& kernels);
void register_image_box(Kernels& kernels);
void register_image_colour(Kernels& kernels);
void register_image_projective(Kernels& kernels);
void register_image_resample(Kernels& kernels);
void register_image_resize(Kernels& kernels);
void register_image_suppress(Kernels& kernels);
void register_int_product(Kernels& kernels);
void register_layer_norm(Kernels& kernels);
void register_invert(Kernels& kernels);
void register_linalg(Kernels& kernels);
void register_make(Kernels& kernels);
void register_matmul(Kernels& kernels);
void register_max_pool(Kernels& kernels);
void register_mirror(Kernels& kernels);
void register_monotone(Kernels& kernels);
void register_move(Kernels& kernels);
void register_norm(Kernels& kernels);
void register_partition(Kernels& kernels);
void register_pool(Kernels& kernels);
void register_pool_argmax(Kernels& kernels);
void register_random(Kernels& kernels);
void register_recurrent(Kernels& kernels);
void register_recurrent_grad(Kernels& kernels);
void register_random_samplers(Kernels& kernels);
void register_recurrence(Kernels& kernels);
void register_reduce(Kernels& kernels);
void register_repeat(Kernels& kernels);
void register_scan(Kernels& kernels);
void register_scatter(Kernels& kernels);
void register_segment(Kernels& kernels);
void register_small_product(Kernels& kernels);
void register_softmax(Kernels& kernels);
void register_sort(Kernels& kernels);
void register_sorted_segments(Kernels& kernels);
void register_split_product(Kernels& kernels);
void register_state(Kernels& kernels);
void register_stitch(Kernels& kernels);
void register_unique(Kernels& kernels);
void register_where(Kernels& kernels);

}  // namespace tandem::cuda
