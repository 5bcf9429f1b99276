// Built where cuFFT's header is missing: Fourier transforms stay on the CPU.
#include "kernels/cuda/families.h"

namespace tandem::cuda {

void register_fourier(Kernels&) {}

}  // namespace tandem::cuda
