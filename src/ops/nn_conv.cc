// Convolutions and their gradients. A convolution is linear in input and filter, so the
// three ops (forward, by input, by filter) are each other's gradients.
#include <fmt/format.h>

#include "op/emitter.h"
#include "op/op_def.h"
#include "ops/nn_geometry.h"
#include "ops/nn_register.h"
#include "tandem/ops.h"

namespace tandem {

namespace {

using nn::ConvAttrs;
using nn::ConvShape;

bool is_depthwise(const std::string& op) { return op.starts_with("Depthwise"); }

void infer_conv(InferContext& c) {
  const ConvShape conv =
      nn::conv_shape(c.op().name, c.attrs<ConvAttrs>(), is_depthwise(c.op().name),
                     c.shape(0), c.shape(1));
  c.add_output(c.dtype(0), c.shape(0).has_rank() || c.shape(1).has_rank()
                               ? nn::conv_output(conv)
                               : Shape::unknown());
}

// out_backprop must be what the forward op would return.
void check_backprop(InferContext& c, const Shape& input, const Shape& filter,
                    const Shape& out) {
  if (!input.has_rank() || !filter.has_rank()) return;
  const ConvShape conv = nn::conv_shape(c.op().name, c.attrs<ConvAttrs>(),
                                        is_depthwise(c.op().name), input, filter);
  if (!nn::conv_output(conv).compatible_with(out)) {
    c.fail(fmt::format(
        "out_backprop has shape {}, but input {} and filter {} give {}. Check "
        "strides, padding and the sizes given.",
        out.debug_str(), input.debug_str(), filter.debug_str(),
        nn::conv_output(conv).debug_str()));
  }
}

void infer_backprop_input(InferContext& c) {
  Shape input = c.shape_from_value(0);
  const Shape& known = c.shape(1).has_rank() ? c.shape(1) : c.shape(2);
  if (!input.has_rank() && known.has_rank()) input = Shape::unknown_of_rank(known.rank());
  if (input.has_rank() && c.shape(2).has_rank() && input.rank() == c.shape(2).rank() &&
      input[0] < 0) {
    input.set(0, c.shape(2)[0]);
  }
  check_backprop(c, input, c.shape(1), c.shape(2));
  c.add_output(c.dtype(1), input);
}

void infer_backprop_filter(InferContext& c) {
  Shape filter = c.shape_from_value(1);
  const Shape& known = c.shape(0).has_rank() ? c.shape(0) : c.shape(2);
  if (!filter.has_rank() && known.has_rank()) {
    filter = Shape::unknown_of_rank(known.rank());
  }
  check_backprop(c, c.shape(0), filter, c.shape(2));
  c.add_output(c.dtype(0), filter);
}

// ---- The three ops of each kind ----

struct Trio {
  OpHandle forward, by_input, by_filter;
};
const Trio& trio(const std::string& op) {
  static const Trio two{OpHandle("Conv2D"), OpHandle("Conv2DBackpropInput"),
                        OpHandle("Conv2DBackpropFilter")};
  static const Trio three{OpHandle("Conv3D"), OpHandle("Conv3DBackpropInputV2"),
                          OpHandle("Conv3DBackpropFilterV2")};
  static const Trio depthwise{OpHandle("DepthwiseConv2dNative"),
                              OpHandle("DepthwiseConv2dNativeBackpropInput"),
                              OpHandle("DepthwiseConv2dNativeBackpropFilter")};
  return is_depthwise(op) ? depthwise : op.starts_with("Conv3D") ? three : two;
}

void grad_conv(GradContext& c) {
  const Trio& ops = trio(c.op().name);
  const auto& attrs = c.attrs<ConvAttrs>();
  const Tensor g = c.grad();
  if (c.needs(0))
    c.set(0, emit(ops.by_input, {c.shape_of_input(0), c.input(1), g}, attrs));
  if (c.needs(1))
    c.set(1, emit(ops.by_filter, {c.input(0), c.shape_of_input(1), g}, attrs));
}
void grad_backprop_input(GradContext& c) {
  const Trio& ops = trio(c.op().name);
  const auto& attrs = c.attrs<ConvAttrs>();
  const Tensor g = c.grad();
  if (c.needs(1))
    c.set(1, emit(ops.by_filter, {g, c.shape_of_input(1), c.input(2)}, attrs));
  if (c.needs(2)) c.set(2, emit(ops.forward, {g, c.input(1)}, attrs));
}
void grad_backprop_filter(GradContext& c) {
  const Trio& ops = trio(c.op().name);
  const auto& attrs = c.attrs<ConvAttrs>();
  const Tensor g = c.grad();
  if (c.needs(0))
    c.set(0, emit(ops.by_input, {c.shape_of_input(0), g, c.input(2)}, attrs));
  if (c.needs(2)) c.set(2, emit(ops.forward, {c.input(0), g}, attrs));
}

Cost conv_cost(const Signature& s) {
  const bool by_input = s.op->name.find("BackpropInput") != std::string::npos;
  const bool by_filter = s.op->name.find("BackpropFilter") != std::string::npos;
  const Shape& input = by_input ? s.out().shape : s.in(0).shape;
  const Shape& filter = by_filter ? s.out().shape : s.in(1).shape;
  const ConvShape conv = nn::conv_shape(s.op->name, s.attrs.as<ConvAttrs>(),
                                        is_depthwise(s.op->name), input, filter);
  Cost cost = default_cost(s);
  cost.flops = nn::conv_flops(conv);
  return cost;
}

const std::vector<TypeVar> kBackpropTypes = {{'T', kFloats}, {'S', kIndices}};

void add_kind(OpTable& table, const char* forward, const char* by_input,
              const char* by_filter, const std::string& what) {
  OpDef def;
  def.name = forward;
  def.doc = "A " + what + ".";
  def.types = {{'T', kFloats}};
  def.inputs = {{.name = "input"}, {.name = "filter"}};
  def.attrs = &attrs_type<ConvAttrs>();
  def.infer = infer_conv;
  def.gradient = grad_conv;
  def.grad_outputs = 0;
  def.cost = conv_cost;
  table.add(def);

  def.name = by_input;
  def.doc = "The gradient of a " + what + " with respect to its input.";
  def.types = kBackpropTypes;
  def.inputs = {{.name = "input_sizes", .type = 'S', .host = true},
                {.name = "filter"},
                {.name = "out_backprop"}};
  def.infer = infer_backprop_input;
  def.gradient = grad_backprop_input;
  def.grad_inputs = 0b110;
  table.add(def);

  def.name = by_filter;
  def.doc = "The gradient of a " + what + " with respect to its filter.";
  def.inputs = {{.name = "input"},
                {.name = "filter_sizes", .type = 'S', .host = true},
                {.name = "out_backprop"}};
  def.infer = infer_backprop_filter;
  def.gradient = grad_backprop_filter;
  def.grad_inputs = 0b101;
  table.add(def);
}

}  // namespace

void register_nn_conv_ops(OpTable& table) {
  add_kind(table, "Conv2D", "Conv2DBackpropInput", "Conv2DBackpropFilter",
           "convolution over two spatial dimensions");
  add_kind(table, "Conv3D", "Conv3DBackpropInputV2", "Conv3DBackpropFilterV2",
           "convolution over three spatial dimensions");
  add_kind(table, "DepthwiseConv2dNative", "DepthwiseConv2dNativeBackpropInput",
           "DepthwiseConv2dNativeBackpropFilter",
           "convolution of each channel with filters of its own");
}

namespace nn {

namespace {

const Trio& by_rank(const Tensor& filters) {
  return trio(filters.rank() == 5 ? "Conv3D" : "Conv2D");
}

// A list over one spatial dimension as one over (1, that dimension).
Ints widen(const Ints& list, bool first, int64_t unit) {
  if (list.size() != 3) return list.size() == 1 && unit == 1 ? Ints{1, list[0]} : list;
  return first ? Ints{list[0], list[1], unit, list[2]}
               : Ints{list[0], unit, list[1], list[2]};
}
// Attributes of a convolution over [b, w, c] for one over [b, 1, w, c].
ConvAttrs widen(ConvAttrs a) {
  const bool first = channels_first(a.data_format);
  a.strides = widen(a.strides, first, 1);
  a.dilations = widen(a.dilations, first, 1);
  if (a.explicit_paddings.size() == 6) {
    const Ints p = a.explicit_paddings;
    const size_t w = first ? 4 : 2;
    a.explicit_paddings = {0, 0, p[w], p[w + 1]};
  } else if (a.explicit_paddings.size() == 2) {
    a.explicit_paddings = {0, 0, a.explicit_paddings[0], a.explicit_paddings[1]};
  }
  a.data_format = first ? DataFormat::kNCHW : DataFormat::kNHWC;
  return a;
}

Tensor dims_tensor(const Shape& shape) {
  return constant(std::vector<int64_t>(shape.begin(), shape.end()));
}

}  // namespace

Tensor convolution(const Tensor& input, const Tensor& filters, const ConvAttrs& attrs) {
  if (filters.rank() == 3) return conv1d(input, filters, attrs);
  return emit(by_rank(filters).forward, {input, filters}, attrs);
}
Tensor conv1d(const Tensor& input, const Tensor& filters, ConvAttrs attrs) {
  const int64_t axis = channels_first(attrs.data_format) ? 2 : 1;
  const Tensor y =
      conv2d(expand_dims(input, axis), expand_dims(filters, 0), widen(std::move(attrs)));
  return squeeze(y, {{axis}});
}
Tensor conv2d(const Tensor& input, const Tensor& filters, const ConvAttrs& attrs) {
  return emit(trio("Conv2D").forward, {input, filters}, attrs);
}
Tensor conv3d(const Tensor& input, const Tensor& filters, const ConvAttrs& attrs) {
  return emit(trio("Conv3D").forward, {input, filters}, attrs);
}

Tensor conv_backprop_input(const Tensor& input_sizes, const Tensor& filters,
                           const Tensor& out_backprop, const ConvAttrs& attrs) {
  return emit(by_rank(filters).by_input, {input_sizes, filters, out_backprop}, attrs);
}
Tensor conv_backprop_filter(const Tensor& input, const Tensor& filter_sizes,
                            const Tensor& out_backprop, const ConvAttrs& attrs) {
  return emit(by_rank(input).by_filter, {input, filter_sizes, out_backprop}, attrs);
}

Tensor conv_transpose(const Tensor& input, const Tensor& filters,
                      const Tensor& output_shape, const ConvAttrs& attrs) {
  return conv_backprop_input(output_shape, filters, input, attrs);
}
Tensor conv1d_transpose(const Tensor& input, const Tensor& filters,
                        const Shape& output_shape, ConvAttrs attrs) {
  const int64_t axis = channels_first(attrs.data_format) ? 2 : 1;
  Shape wide = output_shape;
  wide.insert(static_cast<int>(axis), 1);
  const Tensor y = conv_backprop_input(dims_tensor(wide), expand_dims(filters, 0),
                                       expand_dims(input, axis), widen(std::move(attrs)));
  return squeeze(y, {{axis}});
}
Tensor conv2d_transpose(const Tensor& input, const Tensor& filters,
                        const Shape& output_shape, const ConvAttrs& attrs) {
  return emit(trio("Conv2D").by_input, {dims_tensor(output_shape), filters, input},
              attrs);
}
Tensor conv3d_transpose(const Tensor& input, const Tensor& filters,
                        const Shape& output_shape, const ConvAttrs& attrs) {
  return emit(trio("Conv3D").by_input, {dims_tensor(output_shape), filters, input},
              attrs);
}

Tensor depthwise_conv2d(const Tensor& input, const Tensor& filters,
                        const ConvAttrs& attrs) {
  return emit(trio("Depthwise").forward, {input, filters}, attrs);
}
Tensor depthwise_conv2d_backprop_input(const Tensor& input_sizes, const Tensor& filters,
                                       const Tensor& out_backprop,
                                       const ConvAttrs& attrs) {
  return emit(trio("Depthwise").by_input, {input_sizes, filters, out_backprop}, attrs);
}
Tensor depthwise_conv2d_backprop_filter(const Tensor& input, const Tensor& filter_sizes,
                                        const Tensor& out_backprop,
                                        const ConvAttrs& attrs) {
  return emit(trio("Depthwise").by_filter, {input, filter_sizes, out_backprop}, attrs);
}
Tensor separable_conv2d(const Tensor& input, const Tensor& depthwise_filters,
                        const Tensor& pointwise_filters, const ConvAttrs& attrs) {
  return conv2d(depthwise_conv2d(input, depthwise_filters, attrs), pointwise_filters,
                {.data_format = attrs.data_format});
}

}  // namespace nn

}  // namespace tandem
