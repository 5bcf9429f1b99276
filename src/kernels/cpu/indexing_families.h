// The parts of the indexing and sort families, one file each.
#pragma once

namespace tandem {
class KernelRegistry;
}

namespace tandem::cpu {

void register_gather_kernels(KernelRegistry& registry);
void register_scatter_kernels(KernelRegistry& registry);
void register_select_kernels(KernelRegistry& registry);
void register_unique_kernels(KernelRegistry& registry);
void register_partition_kernels(KernelRegistry& registry);

void register_top_k_kernels(KernelRegistry& registry);
void register_search_kernels(KernelRegistry& registry);

}  // namespace tandem::cpu
