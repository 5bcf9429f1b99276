#include "ops/fused_products.h"

#include <fmt/format.h>

#include "ops/linalg_ops.h"
#include "ops/nn_geometry.h"

namespace tandem {

namespace {

void check_activation(const InferContext& c, const std::string& name) {
  if (activation_takes(name, c.dtype(0))) return;
  if (find_fused_activation(name)) {
    c.fail(fmt::format("activation '{}' does not take dtype {}. Leave it out.", name,
                       dtype_name(c.dtype(0))));
  }
  std::string names;
  for (const FusedActivation& a : fused_activations()) {
    names += fmt::format("{}{}", names.empty() ? "" : ", ", a.name);
  }
  c.fail(fmt::format("activation '{}' is not one of {}. Use one of them, or none.", name,
                     names));
}

// The bias has as many elements as dimension `axis` of the result, which may be known
// from it alone.
void check_bias(const InferContext& c, Shape& out, int axis) {
  if (c.num_inputs() < 3 || c.dtype(2) == DType::kInvalid) return;
  const Shape& bias = c.shape(2);
  if (!bias.has_rank()) return;
  if (bias.rank() != 1) c.fail(fmt::format("Biases must be 1D: {}", bias.debug_str()));
  if (!out.has_rank()) return;
  if (out[axis] >= 0 && bias[0] >= 0 && out[axis] != bias[0]) {
    c.fail(
        fmt::format("Must provide as many biases as dimension {} of the result: {} vs. "
                    "{}. Give a vector of {} numbers.",
                    axis, bias.debug_str(), out.debug_str(), out[axis]));
  }
  if (out[axis] < 0) out.set(axis, bias[0]);
}

void infer_fused_matmul(InferContext& c) {
  const auto& attrs = c.attrs<FusedMatMulAttrs>();
  check_activation(c, attrs.activation);
  Shape out = matmul_shape(c, attrs.product());
  check_bias(c, out, out.has_rank() ? out.rank() - 1 : 0);
  c.add_output(c.dtype(0), out);
}

void infer_fused_conv(InferContext& c) {
  const auto& attrs = c.attrs<FusedConvAttrs>();
  check_activation(c, attrs.activation);
  const Shape &input = c.shape(0), &filter = c.shape(1);
  Shape out = Shape::unknown();
  if (input.has_rank() || filter.has_rank()) {
    out = nn::conv_output(
        nn::conv_shape(c.op().name, attrs.convolution(), false, input, filter));
  }
  check_bias(c, out,
             out.has_rank()
                 ? nn::channel_axis(out.rank(), channels_first(attrs.data_format))
                 : 0);
  c.add_output(c.dtype(0), out);
}

Cost cost_fused_matmul(const Signature& s) {
  return matmul_cost(s, s.attrs.as<FusedMatMulAttrs>().product());
}
Cost cost_fused_conv(const Signature& s) {
  Cost cost = default_cost(s);
  cost.flops = nn::conv_flops(nn::conv_shape(s.op->name,
                                             s.attrs.as<FusedConvAttrs>().convolution(),
                                             false, s.in(0).shape, s.in(1).shape));
  return cost;
}

}  // namespace

std::span<const FusedActivation> fused_activations() {
  static constexpr FusedActivation kAll[] = {
      {"Relu", "Relu"},    {"Relu6", "Relu6"},        {"LeakyRelu", "LeakyRelu"},
      {"Elu", "Elu"},      {"Tanh", "Tanh"},          {"Sigmoid", "Sigmoid"},
      {"GeluErf", "Gelu"}, {"GeluTanh", "Gelu", true}};
  return kAll;
}

const FusedActivation* find_fused_activation(std::string_view name) {
  for (const FusedActivation& a : fused_activations()) {
    if (a.name == name) return &a;
  }
  return nullptr;
}

bool activation_takes(std::string_view name, DType dtype) {
  if (name.empty()) return true;
  const FusedActivation* a = find_fused_activation(name);
  if (!a) return false;
  return OpTable::get().at(a->op).types[0].allowed & mask(dtype);
}

void register_fused_product_ops(OpTable& table) {
  table.add({.name = "FusedMatMul",
             .doc = "A matrix product with bias and activation; made by graph passes.",
             .types = {{'T', kFloats | kComplexes | kIndices}},
             .inputs = {{.name = "a"}, {.name = "b"}, {.name = "bias", .optional = true}},
             .outputs = {"product"},
             .attrs = &attrs_type<FusedMatMulAttrs>(),
             .infer = infer_fused_matmul,
             .cost = cost_fused_matmul});
  table.add({.name = "FusedConv2D",
             .doc = "A convolution over two spatial dimensions with bias and activation; "
                    "made by graph passes.",
             .types = {{'T', kFloats}},
             .inputs = {{.name = "input"},
                        {.name = "filter"},
                        {.name = "bias", .optional = true}},
             .attrs = &attrs_type<FusedConvAttrs>(),
             .infer = infer_fused_conv,
             .cost = cost_fused_conv});
}

}  // namespace tandem
