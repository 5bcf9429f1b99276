// Simplification: one walk over the graph, in which every node is offered to the rules of
// its op. Rules see inputs that were simplified already, so chains collapse in one walk.
// Where a rule changes bits, its file says which.
#include "graph/passes/simplify.h"

#include "graph/passes/passes.h"
#include "tandem/error.h"

namespace tandem {

ValueRef Rewrite::emit(std::string_view op, std::vector<ValueRef> values,
                       AttrsRef given) {
  const OpDef& def = OpTable::get().at(op);
  const int32_t made = to.add_op(def, given.data ? given : default_attrs(def),
                                 std::move(values), node.name);
  to.node(made).device = node.device;
  to.node(made).location = node.location;
  return {made, 0};
}

ValueRef Rewrite::constant(const Tensor& value, const char* suffix) {
  return to.add_constant(value, node.name + suffix);
}

ValueRef Rewrite::shape_constant(const Shape& shape) {
  return constant(make_host_ints(shape.dims()), "/shape");
}

ValueRef Rewrite::reshaped(ValueRef v, Shape shape) {
  if (same_known(to.info(v).shape, shape)) return v;
  return emit("Reshape", {v, shape_constant(shape)});
}

ValueRef Rewrite::broadcast(ValueRef v, Shape shape) {
  if (same_known(to.info(v).shape, shape)) return v;
  return emit("BroadcastTo", {v, shape_constant(shape)});
}

ValueRef Rewrite::filled(double value) {
  return emit("Fill", {shape_constant(out().shape),
                       constant(host_scalar(out().dtype, value), "/value")});
}

namespace {

const Rules& all_rules() {
  static const Rules* rules = [] {
    auto* made = new Rules;
    add_arithmetic_rules(*made);
    add_cast_rules(*made);
    add_layout_rules(*made);
    add_matmul_rules(*made);
    add_shape_rules(*made);
    add_sum_rules(*made);
    return made;
  }();
  return *rules;
}

ValueRef simplified(GraphRewriter& rewriter, const Node& n) {
  if (!is_pure(n) || n.outputs.size() != 1 || !n.after.empty()) return {};
  Rewrite r{rewriter.to(), n, rewriter.map(n.inputs)};
  try {
    const auto found = all_rules().find(n.op->name);
    if (found != all_rules().end()) {
      for (Rule rule : found->second) {
        if (const ValueRef v = rule(r); v.defined()) return v;
      }
    }
    return skip_broadcasts(r);
  } catch (const Error&) {
    return {};  // what a rule wanted does not infer: the node stays
  }
}

}  // namespace

Graph simplify(const Graph& graph) {
  GraphRewriter rewriter(graph);
  for (int32_t i = 0; i < graph.size(); ++i) {
    const Node& n = graph.node(i);
    if (const ValueRef v = simplified(rewriter, n); v.defined()) {
      rewriter.replace({i, 0}, v);
    } else {
      rewriter.copy(i, rewrite_subgraphs(n, simplify));
    }
  }
  return rewriter.finish();
}

}  // namespace tandem
