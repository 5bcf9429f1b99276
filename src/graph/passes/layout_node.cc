// Single nodes and values under a permutation: what a transposition costs, what a node's
// rule says, and the node for moved values.
#include "graph/passes/common.h"
#include "graph/passes/layout.h"
#include "ops/array_transpose.h"
#include "tandem/ops/array.h"

namespace tandem {

Permutation::Permutation(const Ints& perm) : to(perm), back(perm) {
  for (size_t i = 0; i < perm.size(); ++i) {
    back[static_cast<size_t>(perm[i])] = static_cast<int64_t>(i);
  }
}
Shape Permutation::moved(const Shape& shape) const {
  Shape result;
  for (int64_t d : to) result.push_back(shape[static_cast<int>(d)]);
  return result;
}
Ints Permutation::moved(const Ints& list) const {
  Ints result;
  for (int64_t d : to) result.push_back(list[static_cast<size_t>(d)]);
  return result;
}
int64_t Permutation::axis(int64_t axis) const {
  return back[static_cast<size_t>(axis < 0 ? axis + rank() : axis)];
}

bool moves(const Ints& perm, const Shape& shape) {
  int64_t last = -1;
  for (int64_t d : perm) {
    if (shape[static_cast<int>(d)] == 1) continue;
    if (d < last) return true;
    last = d;
  }
  return false;
}

// Nothing moves, but a node stands between others that could be fused.
constexpr int64_t kReshapeCost = 1;

int64_t transpose_bytes(const Graph& graph, ValueRef v, const Ints& perm) {
  const ValueInfo& info = graph.info(v);
  const int64_t bytes =
      moves(perm, info.shape)
          ? info.shape.num_elements() * static_cast<int64_t>(dtype_size(info.dtype))
          : kReshapeCost;
  const Node& maker = producer(graph, v);
  const bool folds = is_constant(graph, v) ||
                     (maker.is_op("Transpose") && is_constant(graph, maker.inputs[0]));
  return folds && bytes <= kMostFoldedBytes ? 0 : bytes;
}

Ints plain_permutation(const Graph& graph, const Node& node) {
  if (!node.is_op("Transpose")) return {};
  const ValueInfo& info = graph.info(node.inputs[0]);
  const auto& attrs = node.attrs.ref().as<TransposeAttrs>();
  if (!info.shape.is_known() || (attrs.conjugate && is_complex(info.dtype))) return {};
  return full_permutation(attrs, info.shape.rank());
}

ValueRef add_transpose(Graph& to, ValueRef v, const Ints& perm, const Node& like,
                       const std::string& name) {
  const int32_t made = to.add_op(OpTable::get().at("Transpose"),
                                 attrs_ref(TransposeAttrs{perm}), {v}, name);
  to.node(made).device = like.device;
  to.node(made).location = like.location;
  return {made, 0};
}

void MovedNode::set_ints(size_t i, const Shape& shape, const Ints& values) {
  const DType dtype = from.info(node.inputs[i]).dtype;
  inputs[i] = to.add_constant(
      host_int_tensor(dtype, shape, {values.data(), values.size()}), node.name + "/list");
}

LayoutRole layout_role(const Graph& graph, const Node& node, const Permutation& p,
                       const LayoutTarget& target) {
  LayoutRole role;
  if (!is_pure(node) || node.op->dynamic || !node.after.empty()) return role;
  const LayoutRule* rule = layout_rule(*node.op);
  if (!rule) return role;
  const auto known = [](const ValueInfo& info) {
    return !info.state && info.shape.is_known() && info.dtype != DType::kVariant;
  };
  for (ValueRef v : node.inputs) {
    if (v.defined() && !known(graph.info(v))) return role;
    role.inputs.push_back(v.defined() && graph.info(v).shape.rank() == p.rank());
  }
  for (const ValueInfo& o : node.outputs) {
    if (!known(o)) return role;
    role.outputs.push_back(o.shape.rank() == p.rank());
  }
  role.either = rule->applies(graph, node, p, target, role);
  return role;
}

std::vector<ValueRef> add_moved(Graph& to, const Graph& from, const Node& node,
                                std::vector<ValueRef> inputs, const Permutation& p) {
  MovedNode m{to, from, node, p, node.op, std::move(inputs), node.attrs};
  layout_rule(*node.op)->move(m);
  const int32_t made = to.add_op(*m.op, m.attrs.ref(), std::move(m.inputs), node.name);
  to.node(made).device = node.device;
  to.node(made).location = node.location;
  std::vector<ValueRef> outputs;
  for (int32_t k = 0; k < static_cast<int32_t>(node.outputs.size()); ++k) {
    outputs.push_back({made, k});
  }
  return outputs;
}

}  // namespace tandem
