#include "kernels/cuda/cudnn_operations.h"

namespace tandem::cuda {

void add_pointwise(DnnGraph& graph, const DnnPointwise& how, const DnnDescriptor& y) {
  DnnDescriptor mode(CUDNN_BACKEND_POINTWISE_DESCRIPTOR);
  mode.set(CUDNN_ATTR_POINTWISE_MODE, CUDNN_TYPE_POINTWISE_MODE, 1, &how.mode);
  mode.set(CUDNN_ATTR_POINTWISE_MATH_PREC, how.compute);
  if (how.axis >= 0) mode.set(CUDNN_ATTR_POINTWISE_AXIS, how.axis);
  mode.finalize("describing an elementwise operation to cuDNN");
  DnnDescriptor d(CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR);
  d.set(CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR, mode);
  d.set(CUDNN_ATTR_OPERATION_POINTWISE_XDESC, *how.x);
  if (how.b) d.set(CUDNN_ATTR_OPERATION_POINTWISE_BDESC, *how.b);
  if (how.condition) d.set(CUDNN_ATTR_OPERATION_POINTWISE_TDESC, *how.condition);
  d.set(CUDNN_ATTR_OPERATION_POINTWISE_YDESC, y);
  d.finalize("describing an elementwise operation to cuDNN");
  graph.add(std::move(d));
}

void add_reduction(DnnGraph& graph, cudnnReduceTensorOp_t operation,
                   const DnnDescriptor& x, const DnnDescriptor& y) {
  DnnDescriptor how(CUDNN_BACKEND_REDUCTION_DESCRIPTOR);
  how.set(CUDNN_ATTR_REDUCTION_OPERATOR, CUDNN_TYPE_REDUCTION_OPERATOR_TYPE, 1,
          &operation);
  how.set(CUDNN_ATTR_REDUCTION_COMP_TYPE, CUDNN_DATA_FLOAT);
  how.finalize("describing a reduction to cuDNN");
  DnnDescriptor d(CUDNN_BACKEND_OPERATION_REDUCTION_DESCRIPTOR);
  d.set(CUDNN_ATTR_OPERATION_REDUCTION_XDESC, x);
  d.set(CUDNN_ATTR_OPERATION_REDUCTION_YDESC, y);
  d.set(CUDNN_ATTR_OPERATION_REDUCTION_DESC, how);
  d.finalize("describing a reduction to cuDNN");
  graph.add(std::move(d));
}

void add_matmul(DnnGraph& graph, const DnnDescriptor& a, const DnnDescriptor& b,
                const DnnDescriptor& c) {
  DnnDescriptor how(CUDNN_BACKEND_MATMUL_DESCRIPTOR);
  how.set(CUDNN_ATTR_MATMUL_COMP_TYPE, CUDNN_DATA_FLOAT);
  how.finalize("describing a product to cuDNN");
  DnnDescriptor d(CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR);
  d.set(CUDNN_ATTR_OPERATION_MATMUL_ADESC, a);
  d.set(CUDNN_ATTR_OPERATION_MATMUL_BDESC, b);
  d.set(CUDNN_ATTR_OPERATION_MATMUL_CDESC, c);
  d.set(CUDNN_ATTR_OPERATION_MATMUL_DESC, how);
  d.finalize("describing a product to cuDNN");
  graph.add(std::move(d));
}

void add_reshape(DnnGraph& graph, const DnnDescriptor& x, const DnnDescriptor& y) {
  DnnDescriptor d(CUDNN_BACKEND_OPERATION_RESHAPE_DESCRIPTOR);
  d.set(CUDNN_ATTR_OPERATION_RESHAPE_XDESC, x);
  d.set(CUDNN_ATTR_OPERATION_RESHAPE_YDESC, y);
  d.finalize("describing a new shape to cuDNN");
  graph.add(std::move(d));
}

}  // namespace tandem::cuda
