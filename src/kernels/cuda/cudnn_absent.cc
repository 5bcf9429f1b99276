// Built where cuDNN's headers are missing: our own kernels do all the work.
#include "kernels/cuda/families.h"
#include "kernels/cuda/library_conv.h"

namespace tandem::cuda {

bool cudnn_takes(const ConvCase&) { return false; }
bool library_is_far_better(const ConvCase&) { return false; }
void register_cudnn_attention(Kernels&) {}
void register_cudnn_attention_defaults(Kernels&) {}
void register_cudnn_conv(Kernels&) {}

}  // namespace tandem::cuda
