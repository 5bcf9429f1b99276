// Matrix products and convolutions with their end: a bias over the columns or channels
// and an activation, in one op. Graph passes make them after gradients were taken, so
// they have none. The result is that of the separate ops; in half precision it may be
// rounded once instead of after each step.
#pragma once

#include <string>

#include "op/op_def.h"
#include "tandem/ops/linalg.h"
#include "tandem/ops/nn_conv.h"

namespace tandem {

/// FusedMatMul: inputs a, b and, optionally, bias [columns].
struct FusedMatMulAttrs {
  bool transpose_a = false;
  bool transpose_b = false;
  bool adjoint_a = false;
  bool adjoint_b = false;
  /// One of fused_activations(), or empty.
  std::string activation = "";
  /// Slope of LeakyRelu.
  double alpha = 0.2;
  TANDEM_ATTRS(FusedMatMulAttrs, transpose_a, transpose_b, adjoint_a, adjoint_b,
               activation, alpha)

  MatMulAttrs product() const { return {transpose_a, transpose_b, adjoint_a, adjoint_b}; }
};

/// FusedConv2D: inputs input, filter and, optionally, bias [output channels].
struct FusedConvAttrs {
  Ints strides = {1};
  nn::Padding padding = nn::Padding::kValid;
  Ints explicit_paddings = {};
  nn::DataFormat data_format = nn::DataFormat::kNHWC;
  Ints dilations = {1};
  std::string activation = "";
  double alpha = 0.2;
  TANDEM_ATTRS(FusedConvAttrs, strides, padding, explicit_paddings, data_format,
               dilations, activation, alpha)

  nn::ConvAttrs convolution() const {
    return {strides, padding, explicit_paddings, data_format, dilations};
  }
};

/// An activation that an end can have: the name in `activation`, and the op it stands
/// for. GeluErf and GeluTanh are the two forms of Gelu.
struct FusedActivation {
  const char* name;
  const char* op;
  bool approximate = false;  // Gelu's attribute
};
std::span<const FusedActivation> fused_activations();
/// Null when there is none of this name.
const FusedActivation* find_fused_activation(std::string_view name);
/// Whether a product of this dtype can end with the activation (any can with none).
bool activation_takes(std::string_view name, DType dtype);

void register_fused_product_ops(OpTable& table);

}  // namespace tandem
