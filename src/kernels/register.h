// One function per kernel family of the host platform; register_host_kernels() calls them
// all.
#pragma once

namespace tandem {

class KernelRegistry;

namespace cpu {

void register_array_kernels(KernelRegistry& registry);
void register_elementwise_kernels(KernelRegistry& registry);
void register_fused_kernels(KernelRegistry& registry);
void register_indexing_kernels(KernelRegistry& registry);
void register_linalg_kernels(KernelRegistry& registry);
void register_nn_kernels(KernelRegistry& registry);
void register_random_kernels(KernelRegistry& registry);
void register_reduce_kernels(KernelRegistry& registry);
void register_sort_kernels(KernelRegistry& registry);
void register_state_kernels(KernelRegistry& registry);

}  // namespace cpu

void register_host_kernels(KernelRegistry& registry);

}  // namespace tandem
