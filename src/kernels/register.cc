#include "kernels/register.h"

#include "kernels/cpu/image_register.h"
#include "kernels/cpu/random_state.h"
#include "kernels/cpu/sequence.h"
#include "kernels/cpu/signal.h"
#include "kernels/cpu/strings_register.h"
#include "op/kernel.h"

namespace tandem {

void register_host_kernels(KernelRegistry& registry) {
  cpu::register_array_kernels(registry);
  cpu::register_elementwise_kernels(registry);
  cpu::register_fused_kernels(registry);
  cpu::register_indexing_kernels(registry);
  cpu::register_linalg_kernels(registry);
  cpu::register_nn_kernels(registry);
  cpu::register_random_kernels(registry);
  cpu::register_random_state_kernels(registry);
  cpu::register_reduce_kernels(registry);
  cpu::register_sort_kernels(registry);
  cpu::register_state_kernels(registry);
  cpu::register_random_parameter_kernels(registry);
  cpu::register_sequence_kernels(registry);
  cpu::register_signal_kernels(registry);
  cpu::register_string_kernels(registry);
  cpu::register_string_number_kernels(registry);
  cpu::register_string_split_kernels(registry);
  cpu::register_unicode_kernels(registry);
  cpu::register_file_kernels(registry);
  cpu::register_image_codec_kernels(registry);
  cpu::register_image_colour_kernels(registry);
  cpu::register_image_scale_kernels(registry);
  cpu::register_image_box_kernels(registry);
  cpu::register_image_gradient_kernels(registry);
  cpu::register_image_sample_kernels(registry);
}

namespace {
[[maybe_unused]] const bool g_installed =
    (set_kernel_registrar(&register_host_kernels), true);
}

}  // namespace tandem
