#include "graph/verify.h"

#include <set>
#include <string>

#include <fmt/format.h>

#include "graph/custom_gradient.h"
#include "graph/states.h"
#include "tandem/error.h"

namespace tandem {

namespace {

class Verifier {
 public:
  Verifier(const Graph& graph, bool sub) : graph_(graph), sub_(sub) {}

  void run() {
    std::set<std::string> names;
    for (at_ = 0; at_ < graph_.size(); ++at_) {
      const Node& n = node();
      require(names.insert(n.name).second, "its name is taken");
      for (ValueRef v : n.inputs) check_input(v);
      for (int32_t before : n.after) {
        require(before >= 0 && before < at_,
                "comes after a node that does not exist yet");
      }
      check_kind();
      count_writes();
    }
    at_ = -1;
    size_t parameters = 0;
    for (const Node& n : graph_.nodes()) parameters += n.kind == Node::Kind::kParameter;
    require(parameters == graph_.parameters().size(), "the parameters are not listed");
    for (ValueRef v : graph_.results()) {
      require(sub_ || v.defined(), "a result is absent");
      if (v.defined()) {
        check_exists(v);
        require(sub_ || !graph_.info(v).state, "a result is a state");
      }
    }
    std::set<uint64_t> variables;
    for (ValueRef v : graph_.final_states()) {
      check_exists(v);
      require(!sub_ && graph_.info(v).state, "a final state is no state");
      require(variables.insert(variable_handle(graph_, v).impl()->id).second,
              "a variable has two final states");
    }
  }

 private:
  const Node& node() const { return graph_.node(at_); }

  void require(bool condition, const std::string& what) const {
    if (condition) return;
    throw InternalError(fmt::format("verify: graph {}, {}: {}", graph_.name(),
                                    at_ >= 0 ? "node " + node().name : "as a whole",
                                    what));
  }

  void check_exists(ValueRef v) const {
    const int32_t end = at_ >= 0 ? at_ : graph_.size();
    require(v.node < end, "uses a node that does not exist yet");
    require(v.output >= 0 &&
                static_cast<size_t>(v.output) < graph_.node(v.node).outputs.size(),
            "uses an output that does not exist");
  }
  void check_input(ValueRef v) const {
    if (v.defined()) check_exists(v);
  }

  void check_kind() {
    const Node& n = node();
    switch (n.kind) {
      case Node::Kind::kParameter:
      case Node::Kind::kConstant:
      case Node::Kind::kVariable:
        require(n.inputs.empty() && n.outputs.size() == 1, "has inputs");
        require(n.kind == Node::Kind::kParameter || n.constant.defined(),
                "holds no tensor");
        require(n.kind != Node::Kind::kVariable || (n.outputs[0].state && !sub_),
                "a variable that is no state, or stands in a sub-graph");
        break;
      case Node::Kind::kOp:
        check_op();
        break;
      case Node::Kind::kCopy:
        require(n.inputs.size() == 1 && n.inputs[0].defined() && n.outputs.size() == 1,
                "copies not one value");
        break;
      case Node::Kind::kIf:
        require(n.subgraphs.size() == 2, "has not two branches");
        check_chooser();
        require(graph_.info(n.inputs[0]).dtype == DType::kBool, "predicate is no bool");
        check_branches();
        break;
      case Node::Kind::kCase:
        require(!n.subgraphs.empty(), "has no branches");
        check_chooser();
        require(is_integer(graph_.info(n.inputs[0]).dtype), "index is no integer");
        check_branches();
        break;
      case Node::Kind::kCall:
        require(n.subgraphs.size() == 1, "has not one body");
        check_branches();
        if (n.gradient && n.gradient->graph) check_gradient(*n.gradient);
        break;
      case Node::Kind::kWhile:
        check_loop();
        break;
    }
    require(n.kind == Node::Kind::kOp || !n.op, "has an op and is none");
  }

  void check_chooser() const {
    require(!node().inputs.empty() && node().inputs[0].defined(), "has no predicate");
    require(is_one(graph_.info(node().inputs[0])), "predicate is no scalar");
  }

  static bool is_one(const ValueInfo& info) {
    return info.shape.compatible_with(Shape{});
  }

  void check_op() const {
    const Node& n = node();
    require(n.op != nullptr, "has no op");
    const size_t defs = n.op->inputs.size();
    require(n.op->variadic() ? n.inputs.size() + 1 >= defs : n.inputs.size() == defs,
            fmt::format("{} has {} inputs", n.op->name, n.inputs.size()));
    std::vector<ValueInfo> infos;
    for (size_t i = 0; i < n.inputs.size(); ++i) {
      const ValueRef v = n.inputs[i];
      const InputDef& def = n.op->input_def(static_cast<int>(i));
      require(v.defined() || def.optional, fmt::format("input {} is absent", i));
      infos.push_back(v.defined() ? graph_.info(v) : ValueInfo{});
      require(infos.back().state == def.resource,
              fmt::format("input {} is {} state", i, def.resource ? "no" : "a"));
    }
    std::vector<ValueInfo> inferred;
    try {
      inferred = infer_node(graph_, n, infos);
    } catch (const Error& e) {
      require(false, std::string("inference fails: ") + e.what());
    }
    require(inferred.size() == n.outputs.size(),
            fmt::format("has {} outputs where inference says {}", n.outputs.size(),
                        inferred.size()));
    for (size_t i = 0; i < inferred.size(); ++i) {
      const ValueInfo &want = inferred[i], &have = n.outputs[i];
      require(want.dtype == have.dtype && want.state == have.state &&
                  want.shape.compatible_with(have.shape),
              fmt::format("output {} is {}{} where inference says {}{}", i,
                          dtype_name(have.dtype), have.shape.debug_str(),
                          dtype_name(want.dtype), want.shape.debug_str()));
    }
  }

  void agree(const ValueInfo& a, const ValueInfo& b, const std::string& what) const {
    require(a.dtype == b.dtype && a.state == b.state && a.shape.compatible_with(b.shape),
            fmt::format("{}: {}{} against {}{}", what, dtype_name(a.dtype),
                        a.shape.debug_str(), dtype_name(b.dtype), b.shape.debug_str()));
  }

  void check_parameters(const Graph& sub) const {
    Verifier(sub, true).run();
    const auto operands = operands_of(node());
    require(sub.parameters().size() == operands.size(),
            fmt::format("{} has {} parameters for {} operands", sub.name(),
                        sub.parameters().size(), operands.size()));
    for (size_t i = 0; i < operands.size(); ++i) {
      require(operands[i].defined(), fmt::format("operand {} is absent", i));
      const ValueInfo& p = sub.node(sub.parameters()[i]).outputs[0];
      const ValueInfo& o = graph_.info(operands[i]);
      require(
          p.dtype == o.dtype && p.state == o.state,
          fmt::format("operand {} has another dtype than {}'s parameter", i, sub.name()));
      agree(p, o, fmt::format("operand {}", i));
    }
  }

  void check_branches() const {
    const Node& n = node();
    for (const GraphPtr& g : n.subgraphs) {
      check_parameters(*g);
      require(g->results().size() == n.outputs.size(),
              fmt::format("{} has {} results for {} outputs", g->name(),
                          g->results().size(), n.outputs.size()));
      for (size_t k = 0; k < n.outputs.size(); ++k) {
        const ValueRef v = g->results()[k];
        if (!v.defined()) continue;
        require(
            g->info(v).dtype == n.outputs[k].dtype &&
                g->info(v).state == n.outputs[k].state,
            fmt::format("output {} has another dtype than {}'s result", k, g->name()));
      }
    }
  }

  void check_gradient(const CustomGradient& gradient) const {
    const Node& n = node();
    const Graph& g = *gradient.graph;
    Verifier(g, true).run();
    require(g.parameters().size() == n.outputs.size() + n.inputs.size(),
            "its gradient has not one parameter per output and operand");
    for (size_t i = 0; i < g.parameters().size(); ++i) {
      const ValueInfo& p = g.node(g.parameters()[i]).outputs[0];
      const ValueInfo& o = i < n.outputs.size()
                               ? n.outputs[i]
                               : graph_.info(n.inputs[i - n.outputs.size()]);
      require(p.dtype == o.dtype && p.state == o.state,
              fmt::format("parameter {} of its gradient has another dtype", i));
    }
    const size_t gradients = gradient_results(gradient);
    require(gradient.forms.size() <= n.inputs.size() && gradients <= g.results().size(),
            "its gradient gives too many or too few results");
    for (size_t k = 0; k < g.results().size(); ++k) {
      const ValueRef v = g.results()[k];
      require(v.defined() && g.info(v).state == (k >= gradients),
              "its gradient mixes gradients and states");
    }
  }

  void check_loop() const {
    const Node& n = node();
    require(n.subgraphs.size() == 2, "has no condition and body");
    const auto carried = static_cast<size_t>(n.carried);
    require(carried <= n.inputs.size() && n.outputs.size() == carried,
            "outputs are not what is carried");
    for (const GraphPtr& g : n.subgraphs) check_parameters(*g);
    const Graph &condition = *n.subgraphs[0], &body = *n.subgraphs[1];
    require(condition.results().size() == 1 && condition.results()[0].defined() &&
                condition.info(condition.results()[0]).dtype == DType::kBool &&
                is_one(condition.info(condition.results()[0])),
            "the condition does not give one bool");
    require(body.results().size() == carried, "the body does not give what is carried");
    for (size_t i = 0; i < carried; ++i) {
      require(body.results()[i].defined(), "the body leaves out a carried value");
      agree(body.info(body.results()[i]), n.outputs[i],
            fmt::format("carried value {}", i));
    }
  }

  void count_writes() {
    const Node& n = node();
    for (size_t i = 0; i < n.inputs.size(); ++i) {
      const ValueRef v = n.inputs[i];
      if (!v.defined() || !graph_.info(v).state || !writes(n, i)) continue;
      require(written_.insert({v.node, v.output}).second,
              fmt::format("writes the state {} that another node wrote",
                          graph_.node(v.node).name));
    }
  }

  // Sub-graphs write a state when one of their results is a later one.
  static bool writes(const Node& n, size_t input) {
    if (n.op) return n.op->input_def(static_cast<int>(input)).writes;
    const size_t first = n.inputs.size() - operands_of(n).size();
    if (input < first) return false;
    for (const GraphPtr& g : n.subgraphs) {
      const int32_t parameter = g->parameters()[input - first];
      for (const Node& inner : g->nodes()) {
        for (size_t k = 0; k < inner.inputs.size(); ++k) {
          if (inner.inputs[k].node == parameter && writes(inner, k)) return true;
        }
      }
    }
    return false;
  }

  const Graph& graph_;
  const bool sub_;
  int32_t at_ = 0;
  std::set<std::pair<int32_t, int32_t>> written_;
};

}  // namespace

void verify(const Graph& graph, GraphRole role) {
  Verifier(graph, role == GraphRole::kSubgraph).run();
}

}  // namespace tandem
