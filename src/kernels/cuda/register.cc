#include "device/cuda/cuda_device.h"
#include "device/measured_with.h"
#include "kernels/cuda/families.h"
#include "kernels/cuda/measured_on.h"
#include "op/fixed_addresses.h"

namespace tandem::cuda {

void Kernels::add(Kernel kernel) {
  kernel.platform = cuda_platform();
  list_.push_back(std::move(kernel));
}

namespace {

// Kernels that call NVIDIA's libraries keep the addresses that they were recorded with.
void add_library(Kernels& kernels, void (*family)(Kernels&)) {
  Kernels own;
  family(own);
  for (Kernel& kernel : own.take()) {
    mark_fixed_addresses(kernel.id);
    kernels.add(std::move(kernel));
  }
}

}  // namespace

}  // namespace tandem::cuda

extern "C" __attribute__((visibility("default"))) void tandem_register_kernels(
    tandem::KernelRegistry& registry) {
  using namespace tandem::cuda;
  tandem::set_measured_with(cuda_platform(), measured_on);
  Kernels kernels;
  // Defaults where they fit, in this order.
  add_library(kernels, register_cudnn_attention_defaults);
  register_attention_tiles(kernels);
  register_attention(kernels);
  register_batch_norm(kernels);       // before norm: the default where it fits
  register_batch_norm_grad(kernels);  // so is this
  register_blocks(kernels);
  add_library(kernels, register_conv_product);  // defaults where they fit, in this order
  add_library(kernels, register_cudnn_conv);
  register_check_numerics(kernels);
  register_conv(kernels);
  register_count(kernels);
  register_cross(kernels);
  register_cross_entropy(kernels);
  register_ctc(kernels);
  add_library(kernels,
              register_cudnn_attention);  // after attention: measured, never the default
  register_diag(kernels);
  register_elementwise(kernels);
  add_library(kernels, register_fourier);
  register_fused(kernels);
  register_gather(kernels);
  register_image_box(kernels);
  register_image_colour(kernels);
  register_image_projective(kernels);
  register_image_resample(kernels);
  register_image_resize(kernels);
  register_image_suppress(kernels);
  register_int_product(kernels);
  register_layer_norm(kernels);
  register_invert(kernels);
  add_library(kernels, register_linalg);
  register_make(kernels);
  register_small_product(kernels);  // before matmul: the default where it fits
  add_library(kernels, register_matmul);
  register_split_product(kernels);  // after matmul: measured, never the default
  register_mirror(kernels);
  register_monotone(kernels);
  register_move(kernels);
  register_norm(kernels);
  register_max_pool(kernels);  // before pool: the default where it fits
  register_partition(kernels);
  register_pool(kernels);
  register_pool_argmax(kernels);
  register_random(kernels);
  add_library(kernels, register_recurrent);
  add_library(kernels, register_recurrent_grad);
  register_random_samplers(kernels);
  register_recurrence(kernels);
  register_reduce(kernels);
  register_repeat(kernels);
  register_scan(kernels);
  register_scatter(kernels);
  register_segment(kernels);
  register_softmax(kernels);
  register_sort(kernels);
  register_sorted_segments(kernels);
  register_state(kernels);
  register_stitch(kernels);
  register_unique(kernels);
  register_where(kernels);
  registry.add_all(kernels.take());
}
