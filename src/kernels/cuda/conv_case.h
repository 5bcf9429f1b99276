// What a node of the convolution family asks for, whatever its op: direction, sizes, end,
// and which operands it has. Shared by all kernels that can do it. Pure; any thread.
#pragma once

#include <string>
#include <vector>

#include "kernels/cuda/product_end.h"
#include "op/op_def.h"
#include "ops/nn_geometry.h"

namespace tandem::cuda {

enum class ConvDirection { kForward, kByInput, kByFilter };

struct ConvCase {
  ConvDirection direction = ConvDirection::kForward;
  nn::ConvShape shape;
  ProductEnd end;
  DType dtype = DType::kFloat32;

  bool forward() const { return direction == ConvDirection::kForward; }
  /// Elements of the convolution's own input, filter and output.
  int64_t in_elements() const {
    return shape.batch * shape.in_positions() * shape.in_channels;
  }
  int64_t filter_elements() const {
    return shape.taps() * shape.in_per_group() * shape.out_channels;
  }
  int64_t out_elements() const {
    return shape.batch * shape.out_positions() * shape.out_channels;
  }
};

/// Of Conv2D, Conv3D, DepthwiseConv2dNative, their gradients, and FusedConv2D.
ConvCase conv_case(const Signature& s);

/// Addresses of a node's operands by their part in the convolution; the one that is
/// computed is the node's output.
struct ConvOperands {
  void *input, *filter, *output;
  void* bias = nullptr;
};
ConvOperands conv_operands(const ConvCase& c, void* const* inputs, void* const* outputs);

/// The names of the family's ops.
std::vector<std::string> conv_ops();

}  // namespace tandem::cuda
