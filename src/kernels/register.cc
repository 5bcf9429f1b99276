#include "kernels/register.h"

#include "kernels/cpu/random_state.h"
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
}

namespace {
[[maybe_unused]] const bool g_installed =
    (set_kernel_registrar(&register_host_kernels), true);
}

}  // namespace tandem
