#include "kernels/cuda/cudnn_conv_graph.h"

#include "kernels/cuda/cudnn_operations.h"

namespace tandem::cuda {

namespace {

using Sizes = std::vector<int64_t>;

/// [n, c, (spatial)] in memory with its channels first or last.
DnnTensor tensor_of(int64_t id, const Sizes& sizes, bool channels_first,
                    cudnnDataType_t type, int64_t alignment) {
  Sizes strides(sizes.size());
  int64_t step = 1;
  if (!channels_first) {
    strides[1] = 1;
    step = sizes[1];
  }
  for (size_t d = sizes.size(); d-- > 2;) {
    strides[d] = step;
    step *= sizes[d];
  }
  if (channels_first) {
    strides[1] = step;
    step *= sizes[1];
  }
  strides[0] = step;
  return {
      .id = id, .type = type, .sizes = sizes, .strides = strides, .alignment = alignment};
}

DnnDescriptor convolution(const nn::ConvShape& conv) {
  Sizes before, after, strides, dilations;
  for (int d = 0; d < conv.spatial; ++d) {
    before.push_back(conv.dims[d].before);
    after.push_back(conv.dims[d].after);
    strides.push_back(conv.dims[d].stride);
    dilations.push_back(conv.dims[d].dilation);
  }
  DnnDescriptor d(CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR);
  const auto mode = CUDNN_CROSS_CORRELATION;
  d.set(CUDNN_ATTR_CONVOLUTION_COMP_TYPE, CUDNN_DATA_FLOAT);
  d.set(CUDNN_ATTR_CONVOLUTION_CONV_MODE, CUDNN_TYPE_CONVOLUTION_MODE, 1, &mode);
  d.set(CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS, int64_t{conv.spatial});
  d.set(CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS, before);
  d.set(CUDNN_ATTR_CONVOLUTION_POST_PADDINGS, after);
  d.set(CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES, strides);
  d.set(CUDNN_ATTR_CONVOLUTION_DILATIONS, dilations);
  d.finalize("describing a convolution to cuDNN");
  return d;
}

/// The attributes of the three operations.
struct Names {
  cudnnBackendDescriptorType_t type;
  cudnnBackendAttributeName_t convolution, input, filter, output, alpha, beta;
};
Names names_of(ConvDirection direction) {
  switch (direction) {
    case ConvDirection::kByInput:
      return {CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_CONV_DESC,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DX,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_W,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DY,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_ALPHA,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_BETA};
    case ConvDirection::kByFilter:
      return {CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_CONV_DESC,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_X,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DW,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DY,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_ALPHA,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_BETA};
    default:
      return {CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR,
              CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC,
              CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X,
              CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W,
              CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y,
              CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA,
              CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_BETA};
  }
}

}  // namespace

bool graph_has_end(const ProductEnd& end) {
  return end.bias && (end.activation.empty() || end.activation == "Relu");
}

DnnGraph conv_graph(const ConvCase& c, const ConvGraphForm& form) {
  const nn::ConvShape& conv = c.shape;
  Sizes in = {conv.batch, conv.in_channels}, out = {conv.batch, conv.out_channels},
        filter = {conv.out_channels, conv.in_per_group()};
  for (int d = 0; d < conv.spatial; ++d) {
    in.push_back(conv.dims[d].in);
    filter.push_back(conv.dims[d].size);
    out.push_back(conv.dims[d].out);
  }
  const auto type = dnn_type(c.dtype);
  const bool first = conv.channels_first;
  DnnGraph graph;
  const DnnDescriptor& x =
      graph.tensor(tensor_of(kConvInput, in, first, type, form.alignment));
  const DnnDescriptor& w =
      graph.tensor(tensor_of(kConvFilter, filter, first, type, form.alignment));
  const DnnTensor result = tensor_of(kConvOutput, out, first, type, form.alignment);
  int64_t next = kConvBias + 1;
  const auto inside = [&]() -> const DnnDescriptor& {
    DnnTensor t = result;
    t.id = next++;
    t.type = CUDNN_DATA_FLOAT;
    t.inside = true;
    return graph.tensor(t);
  };
  const DnnDescriptor& product = form.end ? inside() : graph.tensor(result);
  const Names names = names_of(c.direction);
  const float one = 1, zero = 0;
  DnnDescriptor operation(names.type);
  operation.set(names.convolution, convolution(conv));
  operation.set(names.input, x);
  operation.set(names.filter, w);
  operation.set(names.output, product);
  operation.set(names.alpha, CUDNN_TYPE_FLOAT, 1, &one);
  operation.set(names.beta, CUDNN_TYPE_FLOAT, 1, &zero);
  operation.finalize("describing a convolution to cuDNN");
  graph.add(std::move(operation));
  if (!form.end) return graph;
  Sizes one_each(out.size(), 1);
  one_each[1] = conv.out_channels;
  const DnnDescriptor& bias =
      graph.tensor(tensor_of(kConvBias, one_each, first, type, form.alignment));
  const bool acts = !c.end.activation.empty();
  const DnnDescriptor& sum = acts ? inside() : graph.tensor(result);
  add_pointwise(graph, {.mode = CUDNN_POINTWISE_ADD, .x = &product, .b = &bias}, sum);
  if (acts) {
    add_pointwise(graph, {.mode = CUDNN_POINTWISE_RELU_FWD, .x = &sum},
                  graph.tensor(result));
  }
  return graph;
}

}  // namespace tandem::cuda
