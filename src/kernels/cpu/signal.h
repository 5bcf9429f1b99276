// Fourier transforms.
#pragma once

namespace tandem {

class KernelRegistry;

namespace cpu {
void register_signal_kernels(KernelRegistry& registry);
}

}  // namespace tandem
