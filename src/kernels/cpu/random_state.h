// Kernels on the states of random numbers: moving a sequence on, and where the numbers of
// two seeds begin.
#pragma once

namespace tandem {

class KernelRegistry;

namespace cpu {
void register_random_state_kernels(KernelRegistry& registry);
void register_random_parameter_kernels(KernelRegistry& registry);
}  // namespace cpu

}  // namespace tandem
