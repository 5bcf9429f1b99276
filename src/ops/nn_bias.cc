// BiasAdd: a vector over the channels added to every position.
#include <fmt/format.h>

#include "op/emitter.h"
#include "op/op_def.h"
#include "ops/nn_geometry.h"
#include "ops/nn_register.h"
#include "tandem/ops.h"

namespace tandem {

namespace {

using nn::BiasAddAttrs;

void infer_bias_add(InferContext& c) {
  const Shape &value = c.shape(0), &bias = c.shape(1);
  if (value.has_rank() && value.rank() < 2) {
    c.fail(fmt::format("Input tensor must be at least 2D: {}", value.debug_str()));
  }
  if (bias.has_rank() && bias.rank() != 1) {
    c.fail(fmt::format("Biases must be 1D: {}", bias.debug_str()));
  }
  Shape out = value;
  if (value.has_rank() && bias.has_rank()) {
    const int axis = nn::channel_axis(
        value.rank(), channels_first(c.attrs<BiasAddAttrs>().data_format));
    if (value[axis] >= 0 && bias[0] >= 0 && value[axis] != bias[0]) {
      c.fail(fmt::format(
          "Must provide as many biases as the {} dimension of the input tensor: "
          "{} vs. {}",
          axis == 1 && value.rank() > 2 ? "channel" : "last", bias.debug_str(),
          value.debug_str()));
    }
    if (out[axis] < 0) out.set(axis, bias[0]);
  }
  c.add_output(c.dtype(0), out);
}
void grad_bias_add(GradContext& c) {
  static const OpHandle op("BiasAddGrad");
  c.set(0, c.raw_grad(0));
  if (c.needs(1)) c.set(1, emit(op, {c.grad()}, c.attrs<BiasAddAttrs>()));
}

void infer_bias_add_grad(InferContext& c) {
  const Shape& g = c.shape(0);
  if (g.has_rank() && g.rank() < 2) {
    c.fail(fmt::format("Input tensor must be at least 2D: {}", g.debug_str()));
  }
  const bool first = channels_first(c.attrs<BiasAddAttrs>().data_format);
  c.add_output(c.dtype(0),
               {g.has_rank() ? g[nn::channel_axis(g.rank(), first)] : kUnknownDim});
}
void grad_bias_add_grad(GradContext& c) {
  Tensor g = c.grad();
  if (channels_first(c.attrs<BiasAddAttrs>().data_format)) {
    Shape column{-1};
    for (int i = 2; i < c.input(0).rank(); ++i) column.push_back(1);
    g = reshape(g, column);
  }
  c.set(0, broadcast_like(g, c.input(0)));
}

}  // namespace

void register_nn_bias_ops(OpTable& table) {
  table.add({.name = "BiasAdd",
             .doc = "Adds a vector over the channels.",
             .types = {{'T', kNumbers}},
             .inputs = {{.name = "value"}, {.name = "bias"}},
             .attrs = &attrs_type<BiasAddAttrs>(),
             .infer = infer_bias_add,
             .gradient = grad_bias_add,
             .grad_inputs = 0,
             .grad_outputs = 0,
             .inplace = 1});
  table.add({.name = "BiasAddGrad",
             .doc = "Sums over all dimensions but the channels.",
             .types = {{'T', kNumbers}},
             .inputs = {{.name = "out_backprop"}},
             .attrs = &attrs_type<BiasAddAttrs>(),
             .infer = infer_bias_add_grad,
             .gradient = grad_bias_add_grad,
             .grad_inputs = 0,
             .grad_outputs = 0});
}

namespace nn {

Tensor bias_add(const Tensor& value, const Tensor& bias, BiasAddAttrs attrs) {
  static const OpHandle op("BiasAdd");
  return emit(op, {value, bias}, attrs);
}

}  // namespace nn

}  // namespace tandem
