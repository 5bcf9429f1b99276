// The parts of the reduce family's kernels; register_reduce_kernels() calls them all.
#pragma once

namespace tandem {

class KernelRegistry;

namespace cpu {

void register_arg_kernels(KernelRegistry& registry);
void register_scan_kernels(KernelRegistry& registry);
void register_recurrence_kernels(KernelRegistry& registry);
void register_segment_kernels(KernelRegistry& registry);
void register_unsorted_segment_kernels(KernelRegistry& registry);
void register_count_kernels(KernelRegistry& registry);

}  // namespace cpu

}  // namespace tandem
