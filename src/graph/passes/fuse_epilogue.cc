// Epilogues: a matrix product or convolution ends with its bias and activation while the
// result is still in registers, which saves one or two passes over it. Only values that
// nobody else wants are swallowed. A gradient that looks at the value before the
// activation is given the one after it where that says the same: the sign of relu's
// output is that of its input. Gelu's gradient needs the input itself, so there only the
// bias is taken in.
#include <algorithm>

#include <fmt/format.h>

#include "graph/passes/fusion.h"
#include "graph/passes/fusion_graph.h"
#include "graph/passes/fusion_rewrite.h"
#include "ops/fused_products.h"
#include "tandem/ops.h"

namespace tandem {

namespace {

// A product and what it swallows; -1: nothing.
struct Epilogue {
  int32_t product = -1;
  int32_t bias = -1;
  int32_t activation = -1;
  ValueRef bias_value;
  std::string activation_name;
  double alpha = 0.2;

  int32_t last() const { return activation >= 0 ? activation : bias; }
};

bool is_product(const Node& n) { return n.is_op("MatMul") || n.is_op("Conv2D"); }

bool products_channels_first(const Node& n) {
  return n.is_op("Conv2D") &&
         channels_first(n.attrs.ref().as<nn::ConvAttrs>().data_format);
}

// Gradients that look only at the sign (or the range) of what went into the activation,
// which its result shows as well.
bool result_will_do(const Node& user, ValueRef before, const Epilogue& e) {
  if (user.inputs.size() != 2 || user.inputs[0] == before) return false;
  if (e.activation_name == "Relu") return user.is_op("ReluGrad");
  if (e.activation_name == "Relu6") return user.is_op("Relu6Grad");
  // A negative slope turns the sign around.
  return e.activation_name == "LeakyRelu" && user.is_op("LeakyReluGrad") && e.alpha >= 0;
}

class EpilogueFinder {
 public:
  explicit EpilogueFinder(const FusionGraph& graph)
      : fusion_(graph), graph_(graph.graph()) {}

  /// What the product can swallow; `moved` gets users of the value before the activation
  /// that must look at the one after it.
  std::optional<Epilogue> find(int32_t product, std::vector<int32_t>& moved) const {
    const Node& n = graph_.node(product);
    if (!is_product(n) || !n.outputs[0].shape.is_known()) return std::nullopt;
    Epilogue e;
    e.product = product;
    ValueRef value{product, 0};
    if (const int32_t next = only_user(value); next >= 0) {
      const ValueRef seen = seen_by(next, value);
      if (adds_bias(n, graph_.node(next), seen, &e.bias_value)) {
        e.bias = next;
        value = {next, 0};
      }
    }
    take_activation(value, e, moved);
    if (e.bias < 0 && e.activation < 0) return std::nullopt;
    return e;
  }

 private:
  // The one node that reads a value, if only through a view that keeps the last axis.
  int32_t only_user(ValueRef v) const {
    if (fusion_.is_returned(v) || fusion_.users(v).size() != 1) return -1;
    const int32_t user = fusion_.users(v)[0];
    if (!fusion_.is_free(user)) {
      return graph_.node(user).device == graph_.node(v.node).device ? user : -1;
    }
    const Shape &from = fusion_.shape(v), &to = graph_.node(user).outputs[0].shape;
    const bool same_last = from.rank() > 0 && to.rank() > 0 && from.dim(-1) == to.dim(-1);
    if (fusion_.role(user) != FusionGraph::Role::kView || !same_last ||
        products_channels_first(graph_.node(v.node))) {
      return -1;
    }
    return only_user({user, 0});
  }
  // The value as an input of a node: itself, or a view of it.
  ValueRef seen_by(int32_t user, ValueRef v) const {
    for (ValueRef in : graph_.node(user).inputs) {
      if (in.defined() && fusion_.through_views(in) == v) return in;
    }
    return {};
  }

  bool adds_bias(const Node& product, const Node& n, ValueRef seen,
                 ValueRef* bias) const {
    if (!seen.defined() || !(n.outputs[0].shape == fusion_.shape(seen))) return false;
    const bool first = products_channels_first(product);
    if (n.is_op("BiasAdd")) {
      *bias = n.inputs[1];
      return n.inputs[0] == seen &&
             channels_first(n.attrs.ref().as<nn::BiasAddAttrs>().data_format) == first;
    }
    if (!n.is_op("AddV2") || first) return false;
    *bias = n.inputs[0] == seen ? n.inputs[1] : n.inputs[0];
    const Shape& shape = fusion_.shape(*bias);
    const int64_t columns = product.outputs[0].shape.dim(-1);
    return shape.is_known() && shape.num_elements() == columns &&
           (shape.rank() == 0 || shape.dim(-1) == columns);
  }

  // The activation among the readers of a value, when the others can do without it.
  void take_activation(ValueRef before, Epilogue& e, std::vector<int32_t>& moved) const {
    if (fusion_.is_returned(before)) return;
    Epilogue taken = e;
    for (int32_t user : fusion_.users(before)) {
      if (name_activation(graph_.node(user), before, taken)) {
        if (taken.activation >= 0 && taken.activation != user) return;
        taken.activation = user;
      }
    }
    if (taken.activation < 0) return;
    std::vector<int32_t> others;
    for (int32_t user : fusion_.users(before)) {
      if (user == taken.activation) continue;
      if (user < taken.activation || !result_will_do(graph_.node(user), before, taken)) {
        return;
      }
      others.push_back(user);
    }
    e = taken;
    moved.insert(moved.end(), others.begin(), others.end());
  }

  bool name_activation(const Node& n, ValueRef before, Epilogue& e) const {
    if (n.kind != Node::Kind::kOp || n.inputs.size() != 1 ||
        n.device != graph_.node(before.node).device) {
      return false;
    }
    for (const FusedActivation& a : fused_activations()) {
      if (!n.is_op(a.op) || !activation_takes(a.name, n.outputs[0].dtype)) continue;
      if (n.is_op("Gelu") &&
          n.attrs.ref().as<nn::GeluAttrs>().approximate != a.approximate) {
        continue;
      }
      e.activation_name = a.name;
      if (n.is_op("LeakyRelu")) e.alpha = n.attrs.ref().as<nn::LeakyReluAttrs>().alpha;
      return true;
    }
    return false;
  }

  const FusionGraph& fusion_;
  const Graph& graph_;
};

Attrs epilogue_attrs(const Node& product, const Epilogue& e) {
  if (product.is_op("MatMul")) {
    const auto& m = product.attrs.ref().as<MatMulAttrs>();
    return Attrs(attrs_ref(FusedMatMulAttrs{m.transpose_a, m.transpose_b, m.adjoint_a,
                                            m.adjoint_b, e.activation_name, e.alpha}));
  }
  const auto& c = product.attrs.ref().as<nn::ConvAttrs>();
  return Attrs(
      attrs_ref(FusedConvAttrs{c.strides, c.padding, c.explicit_paddings, c.data_format,
                               c.dilations, e.activation_name, e.alpha}));
}

FusionReplacement epilogue_replacement(const Graph& graph, const Epilogue& e) {
  const Node& product = graph.node(e.product);
  const ValueInfo& result = product.outputs[0];
  FusionReplacement r;
  r.members.push_back(e.product);
  for (ValueRef v : product.inputs) r.inputs.push_back({v, graph.info(v).shape});
  std::string name = "fused/" + product.op->name, note = product.op->name + " ends with ";
  if (e.bias >= 0) {
    r.members.push_back(e.bias);
    const int64_t count = graph.info(e.bias_value).shape.num_elements();
    r.inputs.push_back({e.bias_value, Shape{count}});
    name += "_Bias";
    note += "its bias";
  } else {
    r.inputs.push_back({});
  }
  if (e.activation >= 0) {
    r.members.push_back(e.activation);
    name += "_" + e.activation_name;
    note += (e.bias >= 0 ? " and " : "") + e.activation_name;
  }
  r.outputs.push_back({{{e.last(), 0}}, result.dtype, result.shape});
  r.op = &OpTable::get().at("Fused" + product.op->name);
  r.attrs = epilogue_attrs(product, e);
  r.name = name;
  r.note = note;
  return r;
}

bool has_products(const Graph& graph) {
  return std::any_of(graph.nodes().begin(), graph.nodes().end(), [](const Node& n) {
    return is_product(n) ||
           std::any_of(n.subgraphs.begin(), n.subgraphs.end(),
                       [](const GraphPtr& g) { return has_products(*g); });
  });
}

}  // namespace

Graph fuse_epilogue(const Graph& graph, FusionNotes* notes, const EndAllowed& allowed) {
  if (!has_products(graph)) return graph;
  Graph moved_graph = graph;
  std::vector<FusionReplacement> replacements;
  {
    const FusionGraph fusion(graph);
    const EpilogueFinder finder(fusion);
    // Of two products of one row whose sum is taken, each could be the other's bias.
    std::vector<bool> taken(graph.nodes().size(), false);
    for (int32_t i = 0; i < graph.size(); ++i) {
      std::vector<int32_t> moved;
      const std::optional<Epilogue> e = finder.find(i, moved);
      if (!e) continue;
      FusionReplacement made = epilogue_replacement(graph, *e);
      const auto is_taken = [&](int32_t m) { return taken[static_cast<size_t>(m)]; };
      if (std::any_of(made.members.begin(), made.members.end(), is_taken)) continue;
      if (allowed && !allowed(graph, graph.node(e->product), *made.op, made.attrs.ref(),
                              e->bias_value)) {
        continue;
      }
      for (int32_t m : made.members) taken[static_cast<size_t>(m)] = true;
      replacements.push_back(std::move(made));
      const ValueRef before{e->bias >= 0 ? e->bias : e->product, 0};
      for (int32_t user : moved) {
        for (ValueRef& v : moved_graph.node(user).inputs) {
          if (v == before) v = {e->activation, 0};
        }
      }
    }
  }
  const FusionGraph fusion(moved_graph);
  return rewrite_fused(
      fusion, replacements,
      [&](const Graph& g) { return fuse_epilogue(g, notes, allowed); }, notes);
}

}  // namespace tandem
