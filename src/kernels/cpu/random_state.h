// The kernel that moves a sequence of random numbers on.
#pragma once

namespace tandem {

class KernelRegistry;

namespace cpu {
void register_random_state_kernels(KernelRegistry& registry);
}

}  // namespace tandem
