// Specialisation: a traced graph whose dimensions may be unknown becomes one for the
// shapes of a call. Every info is inferred again, in branches and loop bodies too.
//
// A loop's carried values must have one description for all turns: what the body changes
// becomes unknown, until nothing changes any more. Every round makes at least one
// dimension or element unknown, so the rounds end.
//
// A branch that does not fit the shapes (it may be guarded by a condition on them)
// becomes one that fails when it is taken. No graph that runs has parameters of other
// shapes than its operands.
#include <fmt/format.h>

#include "graph/passes/common.h"
#include "graph/passes/passes.h"
#include "graph/rewriter.h"
#include "graph/states.h"
#include "op/emitter.h"
#include "tandem/error.h"
#include "tandem/print.h"
#include "tensor/variable_impl.h"

namespace tandem {

namespace {

using Infos = std::vector<ValueInfo>;

// What is done where a branch does not fit its operands: `why`, as an error. States stay
// what they are; other results are absent.
Graph failing(const Graph& branch, const Node& owner, const Infos& operands,
              const std::string& why) {
  static const OpHandle assertion("Assert");
  Graph made(branch.name());
  std::vector<std::pair<uint64_t, ValueRef>> states;  // by handle
  for (size_t i = 0; i < operands.size(); ++i) {
    const Node& p = branch.node(branch.parameters()[i]);
    const bool state = p.outputs[0].state;
    const ValueRef v =
        state ? made.add_state_parameter(p.constant)
              : made.add_parameter(operands[i].dtype, operands[i].shape, p.name);
    made.info(v) = operands[i];
    made.info(v).data = nullptr;
    if (state) states.emplace_back(p.constant.impl()->id, v);
  }
  const ValueRef never = made.add_constant(host_scalar(DType::kBool, 0));
  const ValueRef text = made.add_constant(constant(fmt::format(
      "{} of {} does not fit its operands: {}", branch.name(), owner.name, why)));
  const int32_t failure =
      made.add_op(assertion, attrs_ref(AssertAttrs{}), {never, text}, "misfit");
  made.node(failure).location = owner.location;
  for (ValueRef v : branch.results()) {
    ValueRef result;
    if (v.defined() && branch.info(v).state) {
      const uint64_t id = variable_handle(branch, v).impl()->id;
      for (const auto& [handle, state] : states) {
        if (handle == id) result = state;
      }
    }
    made.results().push_back(result);
  }
  return made;
}

void require_scalar(const ValueInfo& info, const Node& n, const char* what) {
  if (info.shape.compatible_with(Shape{})) return;
  throw InvalidArgumentError(fmt::format("{}: {} must be a scalar, but its shape is {}",
                                         n.name, what, info.shape.str()));
}

class Specializer {
 public:
  explicit Specializer(const VariableShapes* variables) : variables_(variables) {}

  Graph run(const Graph& graph, const Infos& parameters) {
    GraphRewriter rewriter(graph);
    size_t next = 0;
    for (int32_t i = 0; i < graph.size(); ++i) {
      const Node& n = graph.node(i);
      Infos inputs;
      for (ValueRef v : n.inputs) {
        inputs.push_back(v.defined() ? rewriter.to().info(rewriter.map(v)) : ValueInfo{});
      }
      std::vector<GraphPtr> subgraphs = n.subgraphs;
      Infos outputs = n.outputs;
      switch (n.kind) {
        case Node::Kind::kParameter:
          outputs[0] = parameters[next++];
          outputs[0].data = nullptr;  // belongs to a node that may go before this one
          break;
        case Node::Kind::kConstant:
          break;
        case Node::Kind::kVariable:
          outputs[0].shape = variable_shape(n.constant);
          break;
        case Node::Kind::kOp:
          outputs = infer_node(graph, n, inputs);
          break;
        case Node::Kind::kCopy:
          outputs = {inputs[0]};
          break;
        case Node::Kind::kIf:
        case Node::Kind::kCase:
          outputs = branches(n, inputs[0], {inputs.begin() + 1, inputs.end()}, subgraphs);
          break;
        case Node::Kind::kCall:
          outputs = branches(n, {}, inputs, subgraphs);
          break;
        case Node::Kind::kWhile:
          outputs = loop(n, std::move(inputs), subgraphs);
          break;
      }
      for (size_t k = 0; k < outputs.size(); ++k) {
        const std::vector<std::string>& dims = n.outputs[k].dims;
        const bool fit = static_cast<int>(dims.size()) == outputs[k].shape.rank();
        outputs[k].dims = fit ? dims : std::vector<std::string>();
      }
      const int32_t made = rewriter.copy(i, std::move(subgraphs));
      rewriter.to().node(made).outputs = std::move(outputs);
    }
    return rewriter.finish();
  }

 private:
  Shape variable_shape(const Tensor& handle) const {
    if (variables_) {
      const auto found = variables_->find(handle.impl()->id);
      if (found != variables_->end()) return found->second;
    }
    VariableImpl& v = variable_of(handle);
    const VariableHold hold(v, VariableHold::Mode::kShared);
    return v.value.defined() ? v.value.impl()->shape : v.shape;
  }

  // Which branch is taken, when that is known already; -1 otherwise.
  static int64_t taken(const Node& n, const ValueInfo& chooser) {
    if (n.kind == Node::Kind::kCall) return 0;
    int64_t value = kUnknownValue;
    if (chooser.has_value && chooser.value.size() == 1) {
      value = chooser.value[0];
    } else if (chooser.data && chooser.dtype == DType::kBool &&
               chooser.shape.rank() == 0) {
      value = *static_cast<const bool*>(chooser.data);
    }
    if (value == kUnknownValue) return -1;
    const auto count = static_cast<int64_t>(n.subgraphs.size());
    if (n.kind == Node::Kind::kIf) return value ? 0 : 1;
    return value < 0 || value >= count ? count - 1 : value;
  }

  Infos branches(const Node& n, const ValueInfo& chooser, const Infos& operands,
                 std::vector<GraphPtr>& subgraphs) {
    if (n.kind != Node::Kind::kCall) {
      require_scalar(chooser, n, n.kind == Node::Kind::kIf ? "pred" : "branch_index");
    }
    const int64_t only = taken(n, chooser);
    Infos outputs(n.outputs.size());
    std::vector<bool> known(n.outputs.size(), false);
    for (size_t b = 0; b < subgraphs.size(); ++b) {
      const bool must_fit = only == static_cast<int64_t>(b);
      try {
        subgraphs[b] = std::make_shared<const Graph>(run(*subgraphs[b], operands));
      } catch (const Error& e) {
        if (must_fit) throw;
        subgraphs[b] =
            std::make_shared<const Graph>(failing(*subgraphs[b], n, operands, e.what()));
      }
      if (only >= 0 && !must_fit) continue;
      const Graph& g = *subgraphs[b];
      for (size_t k = 0; k < outputs.size(); ++k) {
        const ValueRef result = g.results()[k];
        if (!result.defined()) continue;
        outputs[k] = known[k] ? join_infos(outputs[k], g.info(result)) : g.info(result);
        outputs[k].data = nullptr;
        known[k] = true;
      }
    }
    for (size_t k = 0; k < outputs.size(); ++k) {
      if (!known[k]) outputs[k] = n.outputs[k];
    }
    return outputs;
  }

  Infos loop(const Node& n, Infos operands, std::vector<GraphPtr>& subgraphs) {
    const auto carried = static_cast<size_t>(n.carried);
    for (ValueInfo& o : operands) o.data = nullptr;
    for (bool stable = false; !stable;) {
      subgraphs[1] = std::make_shared<const Graph>(run(*n.subgraphs[1], operands));
      stable = true;
      for (size_t i = 0; i < carried; ++i) {
        const ValueRef next = subgraphs[1]->results()[i];
        ValueInfo joined = join_infos(operands[i], subgraphs[1]->info(next));
        stable = stable && joined.shape == operands[i].shape &&
                 joined.has_value == operands[i].has_value &&
                 joined.value == operands[i].value;
        operands[i] = std::move(joined);
      }
    }
    subgraphs[0] = std::make_shared<const Graph>(run(*n.subgraphs[0], operands));
    require_scalar(subgraphs[0]->info(subgraphs[0]->results()[0]), n, "cond");
    operands.resize(carried);
    return operands;
  }

  const VariableShapes* variables_;
};

}  // namespace

Graph specialize(const Graph& graph, std::span<const TensorInfo> parameters,
                 const VariableShapes* variables) {
  if (parameters.size() != graph.parameters().size()) {
    throw InvalidArgumentError(
        fmt::format("{}: got {} arguments and has {} parameters. Pass one for each.",
                    graph.name(), parameters.size(), graph.parameters().size()));
  }
  Infos infos;
  for (size_t i = 0; i < parameters.size(); ++i) {
    const ValueInfo& declared = graph.node(graph.parameters()[i]).outputs[0];
    ValueInfo info = declared;
    static_cast<TensorInfo&>(info) = parameters[i];
    info.data = nullptr;  // contents belong to one call, the graph serves many
    if (info.dtype != declared.dtype || !declared.shape.compatible_with(info.shape)) {
      throw InvalidArgumentError(fmt::format(
          "{}: argument {} is {} of shape {} where {} of shape {} was traced. Trace the "
          "function again for it.",
          graph.name(), i, dtype_name(info.dtype), info.shape.str(),
          dtype_name(declared.dtype), declared.shape.str()));
    }
    info.shape = info.shape.merged_with(declared.shape);
    infos.push_back(std::move(info));
  }
  return Specializer(variables).run(graph, infos);
}

Graph infer_again(const Graph& graph) {
  Infos infos;
  for (int32_t p : graph.parameters()) infos.push_back(graph.node(p).outputs[0]);
  VariableShapes shapes;
  for (const Node& n : graph.nodes()) {
    if (n.kind == Node::Kind::kVariable) {
      shapes[n.constant.impl()->id] = n.outputs[0].shape;
    }
  }
  return Specializer(&shapes).run(graph, infos);
}

}  // namespace tandem
