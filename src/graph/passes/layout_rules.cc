// Rules of ops that have no layout of their own: elementwise ops, joins and cuts,
// padding, slices, reductions. Axes and lists by dimension are remapped. Exact, but for
// reductions that add up in another order.
#include <algorithm>
#include <string_view>
#include <unordered_map>

#include "graph/passes/common.h"
#include "graph/passes/layout.h"
#include "ops/array_common.h"
#include "ops/strided_slice.h"
#include "tandem/ops/array.h"
#include "tandem/ops/array_layout.h"
#include "tandem/ops/reduce.h"

namespace tandem {

namespace {

const ValueInfo& info_of(const Graph& g, const Node& n, size_t i) {
  return g.info(n.inputs[i]);
}

// ---- Elementwise

// A shape of lower rank as broadcasting sees it.
Shape padded_to(const Shape& shape, int rank) {
  Shape padded;
  for (int i = shape.rank(); i < rank; ++i) padded.push_back(1);
  for (int64_t d : shape) padded.push_back(d);
  return padded;
}

// Inputs of lower rank get leading ones, then the permutation.
int64_t narrow_cost(const Graph& g, ValueRef v, const Permutation& p) {
  const ValueInfo& info = g.info(v);
  if (is_constant(g, v) || !moves(p.to, padded_to(info.shape, p.rank()))) return 0;
  return info.shape.num_elements() * static_cast<int64_t>(dtype_size(info.dtype));
}
ValueRef widened(MovedNode& m, size_t i) {
  const Shape shape = m.to.info(m.inputs[i]).shape;
  if (shape.rank() == 0) return m.inputs[i];
  const Shape padded = padded_to(shape, m.p.rank());
  const Shape target = m.p.moved(padded);
  const auto reshaped = [&](const Shape& s) {
    const ValueRef dims =
        m.to.add_constant(make_host_ints(s.dims()), m.node.name + "/shape");
    const int32_t made = m.to.add_op(OpTable::get().at("Reshape"), {},
                                     {m.inputs[i], dims}, m.node.name + "/layout");
    m.to.node(made).device = m.node.device;
    return ValueRef{made, 0};
  };
  if (!moves(m.p.to, padded)) return reshaped(target);
  return add_transpose(m.to, reshaped(padded), m.p.to, m.node, m.node.name + "/layout");
}

bool elementwise(const Graph& g, const Node& n, const Permutation& p, const LayoutTarget&,
                 LayoutRole& role) {
  if (n.outputs.size() != 1 || !role.outputs[0]) return false;
  Shape all;
  for (size_t i = 0; i < n.inputs.size(); ++i) {
    if (!n.inputs[i].defined()) return false;
    const Shape& s = info_of(g, n, i).shape;
    Shape both;
    if (!broadcast_shapes(all, s, &both)) return false;
    all = both;
    if (!role.inputs[i]) role.cost_moved += narrow_cost(g, n.inputs[i], p);
  }
  return all == n.outputs[0].shape;
}
void move_elementwise(MovedNode& m) {
  for (size_t i = 0; i < m.inputs.size(); ++i) {
    if (m.to.info(m.inputs[i]).shape.rank() != m.p.rank()) m.inputs[i] = widened(m, i);
  }
}

// Fill(dims, value), BroadcastTo(x, dims).
bool fill(const Graph&, const Node&, const Permutation&, const LayoutTarget&,
          LayoutRole& role) {
  std::fill(role.inputs.begin(), role.inputs.end(), 0);
  return role.outputs[0] != 0;
}
void move_fill(MovedNode& m) {
  const Shape shape = m.p.moved(m.node.outputs[0].shape);
  m.set_ints(0, {shape.rank()}, Ints(shape.dims()));
}
bool broadcast(const Graph& g, const Node& n, const Permutation& p, const LayoutTarget&,
               LayoutRole& role) {
  role.inputs[1] = 0;
  if (!role.inputs[0]) role.cost_moved += narrow_cost(g, n.inputs[0], p);
  return role.outputs[0] != 0;
}
void move_broadcast(MovedNode& m) {
  if (m.to.info(m.inputs[0]).shape.rank() != m.p.rank()) m.inputs[0] = widened(m, 0);
  const Shape shape = m.p.moved(m.node.outputs[0].shape);
  m.set_ints(1, {shape.rank()}, Ints(shape.dims()));
}

// ---- Joins and cuts

bool all_laid(const Graph&, const Node&, const Permutation&, const LayoutTarget&,
              LayoutRole& role) {
  const auto laid = [](const std::vector<char>& list) {
    return std::all_of(list.begin(), list.end(), [](char c) { return c != 0; });
  };
  return laid(role.inputs) && laid(role.outputs);
}
template <class A>
void move_axis(MovedNode& m) {
  A a = m.attributes<A>();
  a.axis = m.p.axis(a.axis);
  m.set(a);
}
template <class A>
void move_axes(MovedNode& m) {
  A a = m.attributes<A>();
  for (int64_t& axis : a.axis) axis = m.p.axis(axis);
  m.set(a);
}

// ---- Lists by dimension as inputs: Pad, MirrorPad, Tile, Slice

bool by_lists(const Graph& g, const Node& n, const Permutation&, const LayoutTarget&,
              LayoutRole& role) {
  for (size_t i = 1; i < n.inputs.size(); ++i) {
    role.inputs[i] = 0;
    if (n.op->input_def(static_cast<int>(i)).host && !known_ints(info_of(g, n, i))) {
      return false;
    }
  }
  return role.inputs[0] && role.outputs[0];
}
void move_lists(MovedNode& m) {
  for (size_t i = 1; i < m.inputs.size(); ++i) {
    if (!m.node.op->input_def(static_cast<int>(i)).host) continue;
    const ValueInfo& info = m.from.info(m.node.inputs[i]);
    const Ints list = *known_ints(info);
    const size_t per = list.size() / m.p.to.size();
    Ints moved;
    for (int64_t d : m.p.to) {
      for (size_t k = 0; k < per; ++k) {
        moved.push_back(list[static_cast<size_t>(d) * per + k]);
      }
    }
    m.set_ints(i, info.shape, moved);
  }
}

// A strided slice with steps of one that keeps all dimensions is a slice.
std::optional<SliceBox> plain_box(const Graph& g, const Node& n) {
  const SliceSpec spec{&info_of(g, n, 1), &info_of(g, n, 2), &info_of(g, n, 3),
                       n.attrs.ref().as<StridedSliceAttrs>()};
  const Shape& shape = info_of(g, n, 0).shape;
  auto box = resolve_slice(shape, spec, n.op->name);
  if (!box || !box->known || box->final_shape.rank() != shape.rank()) return {};
  for (size_t i = 0; i < box->order.size(); ++i) {
    if (box->order[i] != static_cast<int64_t>(i) || box->stride[i] != 1) return {};
  }
  return box;
}
bool strided_slice(const Graph& g, const Node& n, const Permutation&, const LayoutTarget&,
                   LayoutRole& role) {
  for (size_t i = 1; i < role.inputs.size(); ++i) role.inputs[i] = 0;
  return role.inputs[0] && role.outputs[0] && plain_box(g, n).has_value();
}
void move_strided_slice(MovedNode& m) {
  const SliceBox box = *plain_box(m.from, m.node);
  m.op = &OpTable::get().at("Slice");
  m.attrs = {};
  m.inputs.resize(3);
  m.set_ints(1, {m.p.rank()}, m.p.moved(box.begin));
  m.set_ints(2, {m.p.rank()}, m.p.moved(box.size));
}

// ---- Reductions

// Without keepdims the result has no layout of its own: the dimensions that are left must
// come out in the order they had.
bool reduction(const Graph& g, const Node& n, const Permutation& p, const LayoutTarget&,
               LayoutRole& role) {
  if (!role.inputs[0]) return false;
  const auto& a = n.attrs.ref().as<ReduceAttrs>();
  if (a.keepdims || a.no_axes) return role.outputs[0] != 0;
  std::fill(role.outputs.begin(), role.outputs.end(), 0);
  if (a.axis.empty()) return true;
  const int rank = info_of(g, n, 0).shape.rank();
  std::vector<char> reduced(static_cast<size_t>(rank), 0);
  for (int64_t axis : a.axis)
    reduced[static_cast<size_t>(axis < 0 ? axis + rank : axis)] = 1;
  int64_t last = -1;
  for (int64_t d : p.to) {
    if (reduced[static_cast<size_t>(d)]) continue;
    if (d < last) return false;
    last = d;
  }
  return true;
}

const std::unordered_map<std::string_view, LayoutRule>& rules() {
  static const auto* made = new std::unordered_map<std::string_view, LayoutRule>{
      {"AddN", {elementwise, move_elementwise}},
      {"BroadcastTo", {broadcast, move_broadcast}},
      {"ConcatV2", {all_laid, move_axis<AxisAttrs>}},
      {"Fill", {fill, move_fill}},
      {"Identity", {elementwise, move_elementwise}},
      {"MirrorPad", {by_lists, move_lists}},
      {"MirrorPadGrad", {by_lists, move_lists}},
      {"Pad", {by_lists, move_lists}},
      {"PadV2", {by_lists, move_lists}},
      {"PreventGradient", {elementwise, move_elementwise}},
      {"ReverseV2", {all_laid, move_axes<ReverseAttrs>}},
      {"Roll", {all_laid, move_axes<RollAttrs>}},
      {"SelectV2", {elementwise, move_elementwise}},
      {"Slice", {by_lists, move_lists}},
      {"Split", {all_laid, move_axis<SplitAttrs>}},
      {"SplitLike", {all_laid, move_axis<AxisAttrs>}},
      {"SplitV", {all_laid, move_axis<SplitVAttrs>}},
      {"StopGradient", {elementwise, move_elementwise}},
      {"StridedSlice", {strided_slice, move_strided_slice}},
      {"Tile", {by_lists, move_lists}},
  };
  return *made;
}

}  // namespace

const LayoutRule* layout_rule(const OpDef& op) {
  static const LayoutRule by_element{elementwise, move_elementwise};
  static const LayoutRule reduce{reduction, move_axes<ReduceAttrs>};
  if (const auto found = rules().find(op.name); found != rules().end()) {
    return &found->second;
  }
  if (op.attrs == &attrs_type<ReduceAttrs>() && op.inputs.size() == 1) return &reduce;
  if (!op.expression.empty()) return &by_element;
  return format_rule(op);
}

}  // namespace tandem
