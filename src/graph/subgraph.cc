#include "graph/subgraph.h"

#include <algorithm>

#include <fmt/format.h>

#include "device/runtime.h"
#include "graph/handle.h"
#include "graph/loop_reads.h"
#include "graph/rewriter.h"
#include "ops/tensor_list.h"
#include "tensor/variable_impl.h"

namespace tandem {

namespace {

// Operands that several sub-graphs share, in order of first use.
class OperandTable {
 public:
  OperandTable(Tracer& outer, size_t subgraphs) : outer_(outer), parameters_(subgraphs) {}

  /// A new operand whether or not its value is one already (loop variables).
  size_t add(const Tensor& tensor, ValueRef ref) {
    refs.push_back(ref);
    tensors.push_back(tensor);
    for (auto& p : parameters_) p.push_back(-1);
    return refs.size() - 1;
  }
  void bind(size_t operand, size_t subgraph, int32_t parameter) {
    parameters_[subgraph][operand] = parameter;
  }
  void add_capture(const Tracer::Capture& c, size_t subgraph, size_t shared_from) {
    const ValueRef ref =
        is_handle(c.tensor) ? outer_.state_of(c.tensor) : outer_.value_of(c.tensor);
    auto found =
        std::find(refs.begin() + static_cast<int64_t>(shared_from), refs.end(), ref);
    const size_t i = found == refs.end() ? add(c.tensor, ref)
                                         : static_cast<size_t>(found - refs.begin());
    bind(i, subgraph, c.parameter);
  }
  Graph apply(const Graph& graph, size_t subgraph) const {
    std::vector<Operand> operands;
    for (size_t i = 0; i < refs.size(); ++i) {
      Operand o{parameters_[subgraph][i], outer_.graph().info(refs[i]), {}};
      if (is_handle(tensors[i])) o.handle = tensors[i];
      o.info.data = nullptr;
      operands.push_back(std::move(o));
    }
    return with_operands(graph, operands);
  }

  std::vector<ValueRef> refs;   // in the outer graph
  std::vector<Tensor> tensors;  // the same as the outer trace knows them

 private:
  Tracer& outer_;
  std::vector<std::vector<int32_t>> parameters_;  // by sub-graph and operand
};

// Variables that any of the sub-graphs writes.
std::vector<Tensor> written_handles(const Tracer& tracer, std::vector<Tensor> known) {
  for (const Tracer::Capture& c : tracer.captures()) {
    const bool seen = std::any_of(known.begin(), known.end(),
                                  [&](const Tensor& h) { return h.is(c.tensor); });
    if (c.written && !seen) known.push_back(c.tensor);
  }
  return known;
}

void finish_node(Tracer& outer, Node node, const std::vector<Tensor>& written,
                 ControlFlowNode& made) {
  const auto plain = static_cast<int32_t>(node.outputs.size() - written.size());
  made.node = outer.add_control_flow(std::move(node));
  for (int32_t i = 0; i < plain; ++i) {
    made.results.push_back(outer.symbolic({made.node, i}));
  }
  for (size_t i = 0; i < written.size(); ++i) {
    outer.set_state(written[i], {made.node, plain + static_cast<int32_t>(i)});
  }
}

}  // namespace

ValueInfo common_info(const ValueInfo& a, const ValueInfo& b) {
  ValueInfo info;
  info.dtype = a.dtype;
  info.state = a.state;
  if (!a.shape.has_rank() || a.shape.rank() != b.shape.rank()) {
    info.shape = Shape::unknown();
    return info;
  }
  info.shape = a.shape;
  for (int i = 0; i < a.shape.rank(); ++i) {
    if (a.shape[i] != b.shape[i]) info.shape.set(i, kUnknownDim);
  }
  return info;
}

namespace {
constexpr const char* kZeroName = "loop_seed";
}

LoopSeeds add_loop_seeds(Graph& graph) {
  static const OpHandle empty("EmptyTensorList");
  const TensorListAttrs any{DType::kVariant, Shape::unknown()};
  const int32_t list = graph.add_op(empty, attrs_ref(any), {}, kZeroName);
  const int64_t zero = 0;
  const Tensor counter =
      make_host_copy(Runtime::get().cpu(), DType::kInt64, Shape{}, &zero);
  return {{list, 0}, graph.add_constant(counter, kZeroName)};
}

LoopSeeds find_loop_seeds(const Graph& graph, int32_t before) {
  for (int32_t i = 0; i + 1 < before; ++i) {
    if (graph.node(i).is_op("EmptyTensorList") && graph.node(i).name == kZeroName) {
      return {{i, 0}, {i + 1, 0}};
    }
  }
  return {};
}

Graph with_operands(const Graph& graph, const std::vector<Operand>& operands) {
  GraphRewriter rewriter(graph);
  std::vector<bool> done(graph.nodes().size(), false);
  for (const Operand& o : operands) {
    if (o.parameter >= 0) {
      rewriter.copy(o.parameter);
      done[static_cast<size_t>(o.parameter)] = true;
    } else if (o.handle.defined()) {
      rewriter.to().add_state_parameter(o.handle);
    } else {
      const ValueRef v =
          rewriter.to().add_parameter(o.info.dtype, o.info.shape, "unused");
      rewriter.to().info(v) = o.info;
    }
  }
  for (int32_t i = 0; i < graph.size(); ++i) {
    if (!done[static_cast<size_t>(i)]) rewriter.copy(i);
  }
  return rewriter.finish();
}

ControlFlowNode add_branches(Tracer& outer, Node::Kind kind, const Tensor& selector,
                             Subgraphs& branches, std::string name) {
  std::vector<Tensor> written;
  for (const auto& b : branches) written = written_handles(b->tracer, std::move(written));
  OperandTable table(outer, branches.size());
  for (size_t k = 0; k < branches.size(); ++k) {
    Subgraph& b = *branches[k];
    b.graph.results() = b.results;
    for (const Tensor& h : written) b.graph.results().push_back(b.tracer.state_of(h));
    b.close();
    for (const auto& c : b.captures) table.add_capture(c, k, 0);
  }
  Node node;
  node.kind = kind;
  node.name = std::move(name);
  ControlFlowNode made;
  if (selector.defined()) {
    node.inputs.push_back(outer.value_of(selector));
    made.operands.push_back(selector);
  }
  node.inputs.insert(node.inputs.end(), table.refs.begin(), table.refs.end());
  made.operands.insert(made.operands.end(), table.tensors.begin(), table.tensors.end());
  std::vector<const ValueInfo*> first(branches[0]->graph.results().size(), nullptr);
  node.outputs.resize(first.size());
  for (size_t k = 0; k < branches.size(); ++k) {
    const Graph& g = branches[k]->graph;
    for (size_t i = 0; i < first.size(); ++i) {
      if (!g.results()[i].defined()) continue;
      const ValueInfo& info = g.info(g.results()[i]);
      node.outputs[i] = common_info(first[i] ? node.outputs[i] : info, info);
      first[i] = &info;
    }
    node.subgraphs.push_back(std::make_shared<const Graph>(table.apply(g, k)));
  }
  finish_node(outer, std::move(node), written, made);
  return made;
}

ControlFlowNode add_call(Tracer& outer, GraphPtr body, std::vector<Tensor> operands,
                         const std::vector<Tensor>& written, std::string name) {
  Node node;
  node.kind = Node::Kind::kCall;
  node.name = std::move(name);
  for (const Tensor& t : operands) {
    node.inputs.push_back(is_handle(t) ? outer.state_of(t) : outer.value_of(t));
  }
  for (ValueRef v : body->results()) {
    node.outputs.push_back(common_info(body->info(v), body->info(v)));
  }
  node.subgraphs = {std::move(body)};
  ControlFlowNode made;
  made.operands = std::move(operands);
  finish_node(outer, std::move(node), written, made);
  return made;
}

ControlFlowNode add_while(Tracer& outer, Subgraph& condition, Subgraph& body,
                          const std::vector<Tensor>& variables, int64_t max_iterations,
                          std::string name) {
  for (const Tracer::Capture& c : condition.tracer.captures()) {
    if (!c.written) continue;
    throw UnimplementedError(
        fmt::format("while_loop: the condition changes variable '{}'. Change it in the "
                    "body.",
                    variable_of(c.tensor).name));
  }
  const std::vector<Tensor> written = written_handles(body.tracer, {});
  if (!find_loop_seeds(outer.graph(), outer.graph().size()).zero.defined()) {
    add_loop_seeds(outer.graph());
  }
  OperandTable table(outer, 2);
  for (size_t i = 0; i < variables.size(); ++i) {
    table.add(variables[i], outer.value_of(variables[i]));
    table.bind(i, 0, condition.variables[i]);
    table.bind(i, 1, body.variables[i]);
  }
  condition.graph.results() = condition.results;
  body.graph.results() = body.results;
  for (const Tensor& h : written) {
    body.graph.results().push_back(body.tracer.state_of(h));
    table.add(h, outer.state_of(h));
  }
  body.close();
  condition.close();
  read_before_loop(outer, body, written);
  read_before_loop(outer, condition, written);
  for (const auto& c : body.captures) table.add_capture(c, 1, variables.size());
  for (const auto& c : condition.captures) table.add_capture(c, 0, variables.size());
  Node node;
  node.kind = Node::Kind::kWhile;
  node.name = std::move(name);
  node.inputs = table.refs;
  node.carried = static_cast<int32_t>(variables.size() + written.size());
  node.max_iterations = max_iterations;
  // What holds for the body's parameter holds for the result: the loop may not turn.
  for (size_t i = 0; i < variables.size(); ++i) {
    const ValueInfo& info = body.graph.info({body.variables[i], 0});
    node.outputs.push_back(common_info(info, info));
  }
  for (const Tensor& h : written) {
    const ValueInfo& before = outer.graph().info(outer.state_of(h));
    node.outputs.push_back(common_info(before, body.graph.info(body.tracer.state_of(h))));
  }
  node.subgraphs = {std::make_shared<const Graph>(table.apply(condition.graph, 0)),
                    std::make_shared<const Graph>(table.apply(body.graph, 1))};
  ControlFlowNode made;
  made.operands = table.tensors;
  finish_node(outer, std::move(node), written, made);
  return made;
}

}  // namespace tandem
