// Batch normalisation over all dimensions but the channels, with TensorFlow's outputs.
#include <fmt/format.h>

#include "op/emitter.h"
#include "op/op_def.h"
#include "ops/fused_norms.h"
#include "ops/nn_geometry.h"
#include "ops/nn_norm_grad.h"
#include "ops/nn_register.h"
#include "tandem/ops.h"

namespace tandem {

namespace {

using nn::FusedBatchNormAttrs;

int64_t channels_of(const InferContext& c, const Shape& x, nn::DataFormat format) {
  if (!x.has_rank()) return kUnknownDim;
  if (x.rank() < 2) {
    c.fail(fmt::format("input must be at least 2-dimensional, but its shape is {}",
                       x.debug_str()));
  }
  return x[nn::channel_axis(x.rank(), channels_first(format))];
}

// Moments and parameters are float32 for half-precision inputs and of the input's dtype
// otherwise.
void check_vector(const InferContext& c, int i, int x, int64_t channels) {
  const DType wanted = c.dtype(x) == DType::kFloat64 ? DType::kFloat64 : DType::kFloat32;
  const std::string& name = c.op().input_def(i).name;
  if (c.dtype(i) != wanted) {
    c.fail(fmt::format("{} must be {} for input of dtype {}, but is {}", name,
                       dtype_name(wanted), dtype_name(c.dtype(x)),
                       dtype_name(c.dtype(i))));
  }
  c.rank(i, 1);
  if (c.shape(i).has_rank() && c.shape(i)[0] >= 0 && channels >= 0 &&
      c.shape(i)[0] != channels) {
    c.fail(fmt::format(
        "{} must have the same number of elements as the channels of x, got {} "
        "and {}",
        name, c.shape(i)[0], channels));
  }
}

void infer_norm(InferContext& c, const FusedBatchNormAttrs& attrs) {
  const int64_t channels = channels_of(c, c.shape(0), attrs.data_format);
  check_vector(c, 1, 0, channels);
  check_vector(c, 2, 0, channels);
  const bool wants_moments = !attrs.is_training || attrs.exponential_avg_factor != 1;
  for (int i = 3; i < 5; ++i) {
    if (wants_moments && c.dtype(i) == DType::kInvalid) {
      c.fail(fmt::format("{} is needed {}", c.op().input_def(i).name,
                         attrs.is_training ? "when exponential_avg_factor is not 1"
                                           : "when is_training is false"));
    }
    if (wants_moments) check_vector(c, i, 0, channels);
  }
  const int64_t known = channels >= 0           ? channels
                        : c.shape(1).has_rank() ? c.shape(1)[0]
                                                : kUnknownDim;
  c.add_output(c.dtype(0), c.shape(0));
  for (int i = 1; i < 5; ++i) c.add_output(c.dtype(1), {known});
  c.add_output(c.dtype(1), {0});
}
void infer_batch_norm(InferContext& c) { infer_norm(c, c.attrs<FusedBatchNormAttrs>()); }
void infer_batch_norm_ex(InferContext& c) {
  const auto& attrs = c.attrs<FusedBatchNormExAttrs>();
  if (!attrs.activation.empty() && attrs.activation != "Relu") {
    c.fail(
        fmt::format("activation '{}' is not Relu. Use it, or none.", attrs.activation));
  }
  const bool side = c.num_inputs() > kNormSide && c.dtype(kNormSide) != DType::kInvalid;
  if (side && !c.shape(kNormSide).compatible_with(c.shape(0))) {
    c.fail(fmt::format("side_input {} and x {} must have the same shape",
                       c.shape(kNormSide).debug_str(), c.shape(0).debug_str()));
  }
  infer_norm(c, attrs.norm());
}

void grad_batch_norm(GradContext& c) {
  static const OpHandle op("FusedBatchNormGradV3");
  const auto& attrs = c.attrs<FusedBatchNormAttrs>();
  const Tensor& mean = attrs.is_training ? c.output(3) : c.input(3);
  const Tensor& variance = attrs.is_training ? c.output(4) : c.input(4);
  std::vector<Tensor> g = emit_all(
      op, {c.grad(), c.input(0), c.input(1), mean, variance, c.output(5)}, attrs);
  for (int i = 0; i < 3; ++i) c.set(i, g[static_cast<size_t>(i)]);
}

void infer_norm_grad(InferContext& c, nn::DataFormat format) {
  const int64_t channels = channels_of(c, c.shape(1), format);
  if (!c.shape(0).compatible_with(c.shape(1))) {
    c.fail(fmt::format("y_backprop {} and x {} must have the same shape",
                       c.shape(0).debug_str(), c.shape(1).debug_str()));
  }
  for (int i = 2; i < 5; ++i) check_vector(c, i, 1, channels);
  c.add_output(c.dtype(1), c.shape(1));
  c.add_output(c.dtype(2), {channels});
  c.add_output(c.dtype(2), {channels});
  c.add_output(c.dtype(2), {0});
  c.add_output(c.dtype(2), {0});
}

void infer_batch_norm_grad(InferContext& c) {
  infer_norm_grad(c, c.attrs<FusedBatchNormAttrs>().data_format);
}
void infer_batch_norm_grad_ex(InferContext& c) {
  const auto& attrs = c.attrs<FusedBatchNormGradExAttrs>();
  const auto has = [&](int i) {
    return c.num_inputs() > i && c.dtype(i) != DType::kInvalid;
  };
  if (has(kNormGradY) == has(kNormGradOffset)) {
    c.fail("either y or offset is needed, and not both");
  }
  if (has(kNormGradMore) && !attrs.side) {
    c.fail("more_backprop needs side=true: the sum is kept");
  }
  infer_norm_grad(c, attrs.data_format);
  const Shape x = c.shape(1);
  for (const int i : {kNormGradY, kNormGradMore}) {
    if (!has(i) || c.shape(i).compatible_with(x)) continue;
    c.fail(fmt::format("{} {} and x {} must have the same shape",
                       c.op().input_def(i).name, c.shape(i).debug_str(), x.debug_str()));
  }
  if (has(kNormGradOffset)) {
    check_vector(c, kNormGradOffset, 1, channels_of(c, x, attrs.data_format));
  }
  c.add_output(c.dtype(1), attrs.side ? x : Shape{0});
}

void grad_batch_norm_grad(GradContext& c) {
  const auto& attrs = c.attrs<FusedBatchNormAttrs>();
  const Tensor& x = c.input(1);
  const DType dtype = x.dtype(), wide = c.input(2).dtype();
  const bool first = channels_first(attrs.data_format);
  const int rank = x.rank();
  // Vectors over the channels as tensors that broadcast to x.
  const auto spread = [&](const Tensor& vector) {
    if (!first) return vector;
    Shape column{-1};
    for (int i = 2; i < rank; ++i) column.push_back(1);
    return reshape(vector, column);
  };
  const auto widen = [&](const Tensor& t) { return dtype == wide ? t : cast(t, wide); };
  nn::NormGradCall call{.axis = {},
                        .dy = widen(c.input(0)),
                        .x = widen(x),
                        .scale = spread(c.input(2)),
                        .mean = spread(c.input(3)),
                        .r = spread(1.0 / sqrt(c.input(4) + attrs.epsilon)),
                        .constant_moments = !attrs.is_training};
  for (int i = 0; i < rank; ++i) {
    if (i != nn::channel_axis(rank, first)) call.axis.push_back(i);
  }
  const nn::NormGradGrad g =
      nn::norm_grad_grad(call, c.has_grad(0) ? widen(c.grad(0)) : Tensor(),
                         c.has_grad(1) ? spread(c.grad(1)) : Tensor(),
                         c.has_grad(2) ? spread(c.grad(2)) : Tensor());
  if (g.dy.defined()) c.set(0, dtype == wide ? g.dy : cast(g.dy, dtype));
  if (g.x.defined()) c.set(1, dtype == wide ? g.x : cast(g.x, dtype));
  if (g.scale.defined()) c.set(2, reshape_like(g.scale, c.input(2)));
}

Cost batch_norm_cost(const Signature& s) {
  Cost cost = default_cost(s);
  cost.flops = 8.0 * static_cast<double>(s.out().shape.num_elements());
  return cost;
}

}  // namespace

void register_nn_batch_norm_ops(OpTable& table) {
  constexpr DTypeMask kWide = mask(DType::kFloat32, DType::kFloat64);
  table.add({.name = "FusedBatchNormV3",
             .doc = "Batch normalisation, with the batch's or with given moments.",
             .types = {{'T', kFloats}, {'U', kWide}},
             .inputs = {{.name = "x"},
                        {.name = "scale", .type = 'U'},
                        {.name = "offset", .type = 'U'},
                        {.name = "mean", .type = 'U', .optional = true},
                        {.name = "variance", .type = 'U', .optional = true}},
             .outputs = {"y", "batch_mean", "batch_variance", "reserve_space_1",
                         "reserve_space_2", "reserve_space_3"},
             .attrs = &attrs_type<FusedBatchNormAttrs>(),
             .infer = infer_batch_norm,
             .gradient = grad_batch_norm,
             .grad_inputs = 0b11011,
             .grad_outputs = 0b111000,
             .cost = batch_norm_cost});
  table.add(
      {.name = "FusedBatchNormEx",
       .doc = "Batch normalisation, plus a tensor, then relu; made by graph passes.",
       .types = {{'T', kFloats}, {'U', kWide}},
       .inputs = {{.name = "x"},
                  {.name = "scale", .type = 'U'},
                  {.name = "offset", .type = 'U'},
                  {.name = "mean", .type = 'U', .optional = true},
                  {.name = "variance", .type = 'U', .optional = true},
                  {.name = "side_input", .optional = true}},
       .outputs = {"y", "batch_mean", "batch_variance", "reserve_space_1",
                   "reserve_space_2", "reserve_space_3"},
       .attrs = &attrs_type<FusedBatchNormExAttrs>(),
       .infer = infer_batch_norm_ex,
       .cost = batch_norm_cost});
  table.add({.name = "FusedBatchNormGradEx",
             .doc = "The gradient of batch normalisation and the relu after it; made by "
                    "graph passes.",
             .types = {{'T', kFloats}, {'U', kWide}},
             .inputs = {{.name = "y_backprop"},
                        {.name = "x"},
                        {.name = "scale", .type = 'U'},
                        {.name = "reserve_space_1", .type = 'U'},
                        {.name = "reserve_space_2", .type = 'U'},
                        {.name = "reserve_space_3", .type = 'U', .optional = true},
                        {.name = "y", .optional = true},
                        {.name = "offset", .type = 'U', .optional = true},
                        {.name = "more_backprop", .optional = true}},
             .outputs = {"x_backprop", "scale_backprop", "offset_backprop",
                         "reserve_space_4", "reserve_space_5", "side_input_backprop"},
             .attrs = &attrs_type<FusedBatchNormGradExAttrs>(),
             .infer = infer_batch_norm_grad_ex,
             .cost = batch_norm_cost});
  table.add({.name = "FusedBatchNormGradV3",
             .doc = "The gradient of FusedBatchNormV3.",
             .types = {{'T', kFloats}, {'U', kWide}},
             .inputs = {{.name = "y_backprop"},
                        {.name = "x"},
                        {.name = "scale", .type = 'U'},
                        {.name = "reserve_space_1", .type = 'U'},
                        {.name = "reserve_space_2", .type = 'U'},
                        {.name = "reserve_space_3", .type = 'U', .optional = true}},
             .outputs = {"x_backprop", "scale_backprop", "offset_backprop",
                         "reserve_space_4", "reserve_space_5"},
             .attrs = &attrs_type<FusedBatchNormAttrs>(),
             .infer = infer_batch_norm_grad,
             .gradient = grad_batch_norm_grad,
             .grad_inputs = 0b11111,
             .grad_outputs = 0,
             .cost = batch_norm_cost});
}

namespace nn {

FusedBatchNorm fused_batch_norm(const Tensor& x, const Tensor& scale,
                                const Tensor& offset, const Tensor& mean,
                                const Tensor& variance,
                                const FusedBatchNormAttrs& attrs) {
  static const OpHandle op("FusedBatchNormV3");
  std::vector<Tensor> out = emit_all(op, {x, scale, offset, mean, variance}, attrs);
  return {std::move(out[0]), std::move(out[1]), std::move(out[2])};
}

}  // namespace nn

}  // namespace tandem
