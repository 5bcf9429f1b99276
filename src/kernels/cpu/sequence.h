// Kernels of sequences, registered by sequence.cc.
#pragma once

namespace tandem {

class KernelRegistry;

namespace cpu {

void register_sequence_kernels(KernelRegistry& registry);

}  // namespace cpu

}  // namespace tandem
