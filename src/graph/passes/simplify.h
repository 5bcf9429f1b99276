// The rules of the pass simplify, by family. A rule looks at one node, whose inputs are
// values of the new graph, and gives the value that stands for its only output; an
// undefined value says that it does not apply.
#pragma once

#include <string_view>
#include <unordered_map>
#include <vector>

#include "graph/passes/common.h"
#include "op/emitter.h"

namespace tandem {

/// One node being looked at.
struct Rewrite {
  Graph& to;
  const Node& node;              // of the old graph
  std::vector<ValueRef> inputs;  // of the new one

  const ValueInfo& in(size_t i) const { return to.info(inputs[i]); }
  const ValueInfo& out() const { return node.outputs[0]; }
  const Node& maker(size_t i) const { return to.node(inputs[i].node); }
  template <class A>
  const A& attrs() const {
    return node.attrs.ref().as<A>();
  }

  /// New nodes take name, device and source line of the node they replace.
  ValueRef emit(std::string_view op, std::vector<ValueRef> values, AttrsRef attrs = {});
  ValueRef constant(const Tensor& value, const char* suffix);
  /// Numbers as a host vector, for inputs that spell out shapes.
  ValueRef shape_constant(const Shape& shape);
  /// `v` in that known shape: itself, a Reshape, or a BroadcastTo.
  ValueRef reshaped(ValueRef v, Shape shape);
  ValueRef broadcast(ValueRef v, Shape shape);
  /// Every element `value`, in the node's output shape (which must be known).
  ValueRef filled(double value);
};

using Rule = ValueRef (*)(Rewrite&);
using Rules = std::unordered_map<std::string_view, std::vector<Rule>>;

inline bool same_known(const Shape& a, const Shape& b) { return a.is_known() && a == b; }

void add_arithmetic_rules(Rules& rules);
void add_cast_rules(Rules& rules);
void add_layout_rules(Rules& rules);
void add_matmul_rules(Rules& rules);
void add_shape_rules(Rules& rules);
void add_sum_rules(Rules& rules);
/// For every elementwise op: an input that is broadcast only to meet the others is taken
/// before it was.
ValueRef skip_broadcasts(Rewrite& r);

}  // namespace tandem
