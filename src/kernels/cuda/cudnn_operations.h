// Operations of cuDNN's graphs that more than one graph is made of. Sums and products are
// in float32. Used by who builds a graph.
#pragma once

#include "kernels/cuda/cudnn_graph.h"

namespace tandem::cuda {

struct DnnPointwise {
  cudnnPointwiseMode_t mode;
  const DnnDescriptor* x = nullptr;
  const DnnDescriptor* b = nullptr;          // the second operand
  const DnnDescriptor* condition = nullptr;  // of CUDNN_POINTWISE_BINARY_SELECT
  cudnnDataType_t compute = CUDNN_DATA_FLOAT;
  int64_t axis = -1;  // of CUDNN_POINTWISE_GEN_INDEX
};
void add_pointwise(DnnGraph& graph, const DnnPointwise& how, const DnnDescriptor& y);
/// Over the dimensions in which y has one element.
void add_reduction(DnnGraph& graph, cudnnReduceTensorOp_t operation,
                   const DnnDescriptor& x, const DnnDescriptor& y);
void add_matmul(DnnGraph& graph, const DnnDescriptor& a, const DnnDescriptor& b,
                const DnnDescriptor& c);
/// The same elements under other sizes and strides.
void add_reshape(DnnGraph& graph, const DnnDescriptor& x, const DnnDescriptor& y);

}  // namespace tandem::cuda
