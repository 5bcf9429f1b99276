#include "kernels/cuda/conv_case.h"

#include "ops/fused_products.h"

namespace tandem::cuda {

namespace {

ConvDirection direction_of(const std::string& op) {
  if (op.find("BackpropInput") != std::string::npos) return ConvDirection::kByInput;
  if (op.find("BackpropFilter") != std::string::npos) return ConvDirection::kByFilter;
  return ConvDirection::kForward;
}

}  // namespace

ConvCase conv_case(const Signature& s) {
  ConvCase c;
  const std::string& op = s.op->name;
  c.direction = direction_of(op);
  c.dtype = s.out().dtype;
  const Shape& input =
      c.direction == ConvDirection::kByInput ? s.out().shape : s.in(0).shape;
  const Shape& filter =
      c.direction == ConvDirection::kByFilter ? s.out().shape : s.in(1).shape;
  nn::ConvAttrs attrs;
  if (op == "FusedConv2D") {
    const auto& fused = s.attrs.as<FusedConvAttrs>();
    attrs = fused.convolution();
    c.end = {.bias = s.inputs.size() > 2 && s.in(2).dtype != DType::kInvalid,
             .activation = fused.activation,
             .alpha = fused.alpha};
  } else {
    attrs = s.attrs.as<nn::ConvAttrs>();
  }
  c.shape = nn::conv_shape(op, attrs, op.starts_with("Depthwise"), input, filter);
  return c;
}

ConvOperands conv_operands(const ConvCase& c, void* const* inputs, void* const* outputs) {
  switch (c.direction) {
    case ConvDirection::kByInput:
      return {outputs[0], inputs[1], inputs[2]};
    case ConvDirection::kByFilter:
      return {inputs[0], outputs[0], inputs[2]};
    default:
      return {inputs[0], inputs[1], outputs[0], c.end.bias ? inputs[2] : nullptr};
  }
}

std::vector<std::string> conv_ops() {
  return {
      "Conv2D",
      "Conv2DBackpropFilter",
      "Conv2DBackpropInput",
      "Conv3D",
      "Conv3DBackpropFilterV2",
      "Conv3DBackpropInputV2",
      "DepthwiseConv2dNative",
      "DepthwiseConv2dNativeBackpropFilter",
      "DepthwiseConv2dNativeBackpropInput",
      "FusedConv2D",
  };
}

}  // namespace tandem::cuda
