// Convolutions as graphs of cuDNN's operations. The filter is the library's: [output
// channels, (spatial), input channels] for channels last, [output channels, input
// channels, (spatial)] for channels first. Pure; any thread.
#pragma once

#include "kernels/cuda/conv_case.h"
#include "kernels/cuda/cudnn_graph.h"

namespace tandem::cuda {

/// Names of the tensors.
inline constexpr int64_t kConvInput = 1, kConvFilter = 2, kConvOutput = 3, kConvBias = 4;

struct ConvGraphForm {
  bool end = false;  // with the case's end: a bias, none or one of the activations below
  int64_t alignment = kDnnAligned;
};
/// Whether an end can be part of the graph.
bool graph_has_end(const ProductEnd& end);
/// Throws InternalError when the library does not take the description.
DnnGraph conv_graph(const ConvCase& c, const ConvGraphForm& form);

}  // namespace tandem::cuda
