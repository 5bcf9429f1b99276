#include "kernels/cpu/nn_conv_problem.h"

#include "ops/fused_products.h"
#include "tandem/ops/nn_conv.h"

namespace tandem::cpu {

bool ConvProblem::empty() const {
  return shape.batch == 0 || shape.in_channels == 0 || shape.out_channels == 0 ||
         shape.in_positions() == 0 || shape.out_positions() == 0;
}

ConvProblem conv_problem(const Signature& s) {
  const std::string& name = s.op->name;
  ConvProblem p;
  const Shape* input = &s.in(0).shape;
  const Shape* filter = &s.in(1).shape;
  if (name.find("BackpropInput") != std::string::npos) {
    p.direction = ConvDirection::kByInput;
    input = &s.out().shape;
    p.output = 2;
  } else if (name.find("BackpropFilter") != std::string::npos) {
    p.direction = ConvDirection::kByFilter;
    filter = &s.out().shape;
    p.filter = 0;
    p.output = 2;
  }
  const bool fused = s.attrs.type == &attrs_type<FusedConvAttrs>();
  p.shape = nn::conv_shape(
      name,
      fused ? s.attrs.as<FusedConvAttrs>().convolution() : s.attrs.as<nn::ConvAttrs>(),
      name.starts_with("Depthwise"), *input, *filter);
  p.dtype = s.out().dtype;
  p.result_elements = s.out().shape.num_elements();
  return p;
}

std::span<const char* const> conv_ops(ConvDirection direction) {
  static constexpr const char* kForward[] = {"Conv2D", "Conv3D", "DepthwiseConv2dNative"};
  static constexpr const char* kByInput[] = {"Conv2DBackpropInput",
                                             "Conv3DBackpropInputV2",
                                             "DepthwiseConv2dNativeBackpropInput"};
  static constexpr const char* kByFilter[] = {"Conv2DBackpropFilter",
                                              "Conv3DBackpropFilterV2",
                                              "DepthwiseConv2dNativeBackpropFilter"};
  switch (direction) {
    case ConvDirection::kForward:
      return kForward;
    case ConvDirection::kByInput:
      return kByInput;
    default:
      return kByFilter;
  }
}

}  // namespace tandem::cpu
