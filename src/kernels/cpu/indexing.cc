#include "kernels/cpu/indexing_families.h"
#include "kernels/register.h"

namespace tandem::cpu {

void register_indexing_kernels(KernelRegistry& registry) {
  register_gather_kernels(registry);
  register_scatter_kernels(registry);
  register_select_kernels(registry);
  register_unique_kernels(registry);
  register_partition_kernels(registry);
}

}  // namespace tandem::cpu
