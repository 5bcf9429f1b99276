// Rules of ops that know two layouts, channels first and channels last: convolutions,
// pools, batch normalisation, biases and their gradients. Moving one changes its
// data_format and the lists that have an entry per dimension. The kernels of the two
// layouts may add up in another order.
#include <string_view>
#include <unordered_map>

#include "graph/passes/layout.h"
#include "ops/array_common.h"
#include "tandem/ops/nn_conv.h"
#include "tandem/ops/nn_norm.h"

namespace tandem {

namespace {

using nn::DataFormat;

// Which inputs and outputs are images, and which input has an image's shape as integers.
struct Images {
  uint32_t inputs = 0;
  uint32_t outputs = 0;
  int sizes = -1;
  double LayoutTarget::* weight = nullptr;
};

const std::unordered_map<std::string_view, Images>& images() {
  constexpr auto kConv = &LayoutTarget::convolution;
  constexpr auto kPool = &LayoutTarget::pool;
  constexpr auto kNorm = &LayoutTarget::normalization;
  static const auto* made = new std::unordered_map<std::string_view, Images>{
      {"AvgPool", {1, 1, -1, kPool}},
      {"AvgPool3D", {1, 1, -1, kPool}},
      {"AvgPool3DGrad", {2, 1, 0, kPool}},
      {"AvgPoolGrad", {2, 1, 0, kPool}},
      {"BiasAdd", {1, 1, -1, nullptr}},
      {"BiasAddGrad", {1, 0, -1, nullptr}},
      {"Conv2D", {1, 1, -1, kConv}},
      {"Conv2DBackpropFilter", {5, 0, -1, kConv}},
      {"Conv2DBackpropInput", {4, 1, 0, kConv}},
      {"Conv3D", {1, 1, -1, kConv}},
      {"Conv3DBackpropFilterV2", {5, 0, -1, kConv}},
      {"Conv3DBackpropInputV2", {4, 1, 0, kConv}},
      {"DepthwiseConv2dNative", {1, 1, -1, kConv}},
      {"DepthwiseConv2dNativeBackpropFilter", {5, 0, -1, kConv}},
      {"DepthwiseConv2dNativeBackpropInput", {4, 1, 0, kConv}},
      {"FusedBatchNormGradV3", {3, 1, -1, kNorm}},
      {"FusedBatchNormV3", {1, 1, -1, kNorm}},
      {"MaxPool", {1, 1, -1, kPool}},
      {"MaxPool3D", {1, 1, -1, kPool}},
      {"MaxPool3DGrad", {7, 1, -1, kPool}},
      {"MaxPool3DGradGrad", {7, 1, -1, kPool}},
      {"MaxPoolGrad", {7, 1, -1, kPool}},
      {"MaxPoolGradGrad", {7, 1, -1, kPool}},
  };
  return *made;
}
const Images* images_of(const Node& n) {
  if (n.kind != Node::Kind::kOp) return nullptr;
  const auto found = images().find(n.op->name);
  return found == images().end() ? nullptr : &found->second;
}

DataFormat format_of(const Node& n) {
  const AttrsRef attrs = n.attrs.ref();
  if (attrs.type == &attrs_type<nn::ConvAttrs>()) {
    return attrs.as<nn::ConvAttrs>().data_format;
  }
  if (attrs.type == &attrs_type<nn::PoolAttrs>()) {
    return attrs.as<nn::PoolAttrs>().data_format;
  }
  if (attrs.type == &attrs_type<nn::FusedBatchNormAttrs>()) {
    return attrs.as<nn::FusedBatchNormAttrs>().data_format;
  }
  return attrs.as<nn::BiasAddAttrs>().data_format;
}
DataFormat other(DataFormat f) {
  return static_cast<DataFormat>(static_cast<int>(f) ^ 1);
}

// From a layout to the other: channels last from channels first, and back.
Ints to_other(int rank, bool first) {
  Ints perm = {0};
  if (!first) perm.push_back(rank - 1);
  for (int i = first ? 2 : 1; i < (first ? rank : rank - 1); ++i) perm.push_back(i);
  if (first) perm.push_back(1);
  return perm;
}

const Shape& image_shape(const Graph& g, const Node& n) {
  const Images& im = *images_of(n);
  size_t i = 0;
  while (!(im.inputs >> i & 1u)) ++i;
  return g.info(n.inputs[i]).shape;
}

double weight_of(const Graph& g, const Node& n, const LayoutTarget& target) {
  const auto weight = images_of(n)->weight;
  if (!weight) return 0;
  const Shape& shape = image_shape(g, n);
  const int64_t channels = shape[channels_first(format_of(n)) ? 1 : shape.rank() - 1];
  if (weight == &LayoutTarget::pool && channels < target.pool_channels) return 0;
  return target.*weight;
}

bool formatted(const Graph& g, const Node& n, const Permutation& p,
               const LayoutTarget& target, LayoutRole& role) {
  const Images& im = *images_of(n);
  const bool first = channels_first(format_of(n));
  if (p.to != to_other(p.rank(), first)) return false;
  int64_t bytes = 0;
  for (size_t i = 0; i < role.inputs.size(); ++i) {
    const bool image = im.inputs >> i & 1u;
    if (image && !role.inputs[i]) return false;
    role.inputs[i] = image;
    if (image && moves(p.to, g.info(n.inputs[i]).shape)) {
      bytes += transpose_bytes(g, n.inputs[i], p.to);
    }
  }
  for (size_t i = 0; i < role.outputs.size(); ++i) {
    const bool image = im.outputs >> i & 1u;
    if (image && !role.outputs[i]) return false;
    role.outputs[i] = image;
    const ValueInfo& o = n.outputs[i];
    if (image && moves(p.to, o.shape)) {
      bytes += o.shape.num_elements() * static_cast<int64_t>(dtype_size(o.dtype));
    }
  }
  if (im.sizes >= 0 && !known_ints(g.info(n.inputs[static_cast<size_t>(im.sizes)]))) {
    return false;
  }
  (first ? role.cost_as_written : role.cost_moved) +=
      static_cast<int64_t>(weight_of(g, n, target) * static_cast<double>(bytes));
  return true;
}

// TensorFlow's lists have an entry per dimension, or two.
Ints moved_list(const Ints& list, const Permutation& p) {
  const size_t rank = p.to.size();
  if (list.size() == rank) return p.moved(list);
  if (list.size() != 2 * rank) return list;
  Ints moved;
  for (int64_t d : p.to) {
    moved.push_back(list[static_cast<size_t>(2 * d)]);
    moved.push_back(list[static_cast<size_t>(2 * d + 1)]);
  }
  return moved;
}

void move_formatted(MovedNode& m) {
  const AttrsType* type = m.node.attrs.ref().type;
  const DataFormat format = other(format_of(m.node));
  if (type == &attrs_type<nn::ConvAttrs>()) {
    auto a = m.attributes<nn::ConvAttrs>();
    a.data_format = format;
    a.strides = moved_list(a.strides, m.p);
    a.dilations = moved_list(a.dilations, m.p);
    a.explicit_paddings = moved_list(a.explicit_paddings, m.p);
    m.set(a);
  } else if (type == &attrs_type<nn::PoolAttrs>()) {
    auto a = m.attributes<nn::PoolAttrs>();
    a.data_format = format;
    a.ksize = moved_list(a.ksize, m.p);
    a.strides = moved_list(a.strides, m.p);
    a.explicit_paddings = moved_list(a.explicit_paddings, m.p);
    m.set(a);
  } else if (type == &attrs_type<nn::FusedBatchNormAttrs>()) {
    auto a = m.attributes<nn::FusedBatchNormAttrs>();
    a.data_format = format;
    m.set(a);
  } else {
    auto a = m.attributes<nn::BiasAddAttrs>();
    a.data_format = format;
    m.set(a);
  }
  const int sizes = images_of(m.node)->sizes;
  if (sizes < 0) return;
  const ValueInfo& info = m.from.info(m.node.inputs[static_cast<size_t>(sizes)]);
  m.set_ints(static_cast<size_t>(sizes), info.shape, m.p.moved(*known_ints(info)));
}

}  // namespace

const LayoutRule* format_rule(const OpDef& op) {
  static const LayoutRule rule{formatted, move_formatted};
  return images().count(op.name) ? &rule : nullptr;
}

Ints wanted_layout(const Node& node, const Graph& graph, const LayoutTarget& target) {
  if (!images_of(node) || !channels_first(format_of(node))) return {};
  const Shape& shape = image_shape(graph, node);
  if (!shape.is_known() || shape.rank() < 3) return {};
  return weight_of(graph, node, target) > 0 ? to_other(shape.rank(), true) : Ints{};
}

}  // namespace tandem
