#include "support/trace_support.h"

#include <memory>

#include <gtest/gtest.h>

#include "op/emitter.h"

namespace tandem::testing {

namespace {

bool is_handle(const Tensor& t) { return t.dtype() == DType::kResource; }

// The value of a capture in the trace outside.
ValueRef outside(Tracer& outer, const Tracer::Capture& c) {
  return is_handle(c.tensor) ? outer.state_of(c.tensor) : outer.value_of(c.tensor);
}

// Makes sure that a trace has the captures of another, so that branches agree.
void capture_like(Tracer& tracer, const Tracer& other) {
  for (const Tracer::Capture& c : other.captures()) {
    if (is_handle(c.tensor)) {
      tracer.state_of(c.tensor);
    } else {
      tracer.value_of(c.tensor);
    }
  }
}

// Branches traced one after the other; each takes over what those before captured, so
// that parameters stand in one order.
Tensors trace_branches(Node::Kind kind, const Tensor& chooser,
                       const std::vector<std::function<Tensors()>>& branches) {
  Tracer& outer = *current_tracer();
  std::vector<std::unique_ptr<Graph>> graphs;
  std::vector<std::unique_ptr<Tracer>> tracers;
  for (const auto& branch : branches) {
    graphs.push_back(std::make_unique<Graph>("branch" + std::to_string(graphs.size())));
    tracers.push_back(std::make_unique<Tracer>(*graphs.back(), nullptr, &outer));
    if (tracers.size() > 1) capture_like(*tracers.back(), *tracers[tracers.size() - 2]);
    EmitterScope scope(tracers.back().get());
    for (const Tensor& t : branch()) {
      graphs.back()->results().push_back(tracers.back()->value_of(t));
    }
  }
  Tensors written;
  for (auto& t : tracers) capture_like(*t, *tracers.back());
  for (const Tracer::Capture& c : tracers.back()->captures()) {
    bool changed = false;
    for (auto& t : tracers) {
      for (const Tracer::Capture& other : t->captures()) {
        changed = changed || (other.written && other.tensor.is(c.tensor));
      }
    }
    if (changed) written.push_back(c.tensor);
  }
  Node node;
  node.kind = kind;
  node.name = kind == Node::Kind::kIf ? "cond" : "case";
  node.inputs = {outer.value_of(chooser)};
  for (const Tracer::Capture& c : tracers[0]->captures()) {
    node.inputs.push_back(outside(outer, c));
  }
  for (size_t b = 0; b < graphs.size(); ++b) {
    for (const Tensor& handle : written) {
      graphs[b]->results().push_back(tracers[b]->state_of(handle));
    }
  }
  for (ValueRef v : graphs[0]->results()) node.outputs.push_back(graphs[0]->info(v));
  for (ValueInfo& o : node.outputs) {
    o.data = nullptr;
    o.has_value = false;
    o.value.clear();
  }
  for (auto& g : graphs) {
    node.subgraphs.push_back(std::make_shared<const Graph>(std::move(*g)));
  }
  const auto count = static_cast<int32_t>(node.outputs.size() - written.size());
  const int32_t index = outer.add_control_flow(std::move(node));
  for (size_t k = 0; k < written.size(); ++k) {
    outer.set_state(written[k], {index, count + static_cast<int32_t>(k)});
  }
  Tensors results;
  for (int32_t k = 0; k < count; ++k) results.push_back(outer.symbolic({index, k}));
  return results;
}

// A sub-graph of a loop: carried values first, then the states it writes.
struct LoopPart {
  Graph graph;
  Tracer tracer;
  Tensors carried;

  LoopPart(const char* name, Tracer& outer, const Tensors& initial,
           const Tensors& written)
      : graph(name), tracer(graph, nullptr, &outer) {
    for (const Tensor& t : initial) {
      carried.push_back(tracer.parameter(t.dtype(), t.shape(), "carried"));
    }
    for (const Tensor& handle : written) tracer.state_of(handle);
  }
};

}  // namespace

Graph trace(const std::vector<Argument>& arguments, const Function& function) {
  Graph graph;
  Tracer tracer(graph, nullptr);
  EmitterScope scope(&tracer);
  Tensors parameters;
  for (const Argument& a : arguments) {
    parameters.push_back(tracer.parameter(a.dtype, a.shape, "x"));
  }
  for (const Tensor& r : function(parameters)) {
    graph.results().push_back(tracer.value_of(r));
  }
  tracer.finish();
  return graph;
}

Tensors trace_if(const Tensor& predicate, const std::function<Tensors()>& then_branch,
                 const std::function<Tensors()>& else_branch) {
  return trace_branches(Node::Kind::kIf, predicate, {then_branch, else_branch});
}
Tensors trace_case(const Tensor& index,
                   const std::vector<std::function<Tensors()>>& branches) {
  return trace_branches(Node::Kind::kCase, index, branches);
}

Tensors trace_while(const std::function<Tensor(const Tensors&)>& condition,
                    const Function& body, const Tensors& initial) {
  Tracer& outer = *current_tracer();
  // Once to see which variables the body writes.
  Tensors written;
  {
    LoopPart probe("probe", outer, initial, {});
    EmitterScope scope(&probe.tracer);
    body(probe.carried);
    for (const Tracer::Capture& c : probe.tracer.captures()) {
      if (c.written) written.push_back(c.tensor);
    }
  }
  LoopPart test("condition", outer, initial, written);
  {
    EmitterScope scope(&test.tracer);
    test.graph.results().push_back(test.tracer.value_of(condition(test.carried)));
  }
  LoopPart turn("body", outer, initial, written);
  capture_like(turn.tracer, test.tracer);
  {
    EmitterScope scope(&turn.tracer);
    for (const Tensor& t : body(turn.carried)) {
      turn.graph.results().push_back(turn.tracer.value_of(t));
    }
    for (const Tensor& handle : written) {
      turn.graph.results().push_back(turn.tracer.state_of(handle));
    }
  }
  capture_like(test.tracer, turn.tracer);
  Node node;
  node.kind = Node::Kind::kWhile;
  node.name = "while";
  for (const Tensor& t : initial) node.inputs.push_back(outer.value_of(t));
  for (const Tracer::Capture& c : test.tracer.captures()) {
    node.inputs.push_back(outside(outer, c));
  }
  const size_t count = initial.size() + written.size();
  node.carried = static_cast<int32_t>(count);
  for (size_t i = 0; i < count; ++i) {
    ValueInfo info = outer.graph().info(node.inputs[i]);
    info.data = nullptr;
    info.has_value = false;
    info.value.clear();
    node.outputs.push_back(std::move(info));
  }
  node.subgraphs = {std::make_shared<const Graph>(std::move(test.graph)),
                    std::make_shared<const Graph>(std::move(turn.graph))};
  const int32_t index = outer.add_control_flow(std::move(node));
  for (size_t k = 0; k < written.size(); ++k) {
    outer.set_state(written[k], {index, static_cast<int32_t>(initial.size() + k)});
  }
  Tensors results;
  for (size_t k = 0; k < initial.size(); ++k) {
    results.push_back(outer.symbolic({index, static_cast<int32_t>(k)}));
  }
  return results;
}

Tensors trace_call(const Function& function, const Tensors& arguments) {
  Tracer& outer = *current_tracer();
  LoopPart body("body", outer, arguments, {});
  size_t count = 0;
  Tensors written;
  {
    EmitterScope scope(&body.tracer);
    for (const Tensor& t : function(body.carried)) {
      body.graph.results().push_back(body.tracer.value_of(t));
    }
    count = body.graph.results().size();
    for (const Tracer::Capture& c : body.tracer.captures()) {
      if (!c.written) continue;
      written.push_back(c.tensor);
      body.graph.results().push_back(body.tracer.state_of(c.tensor));
    }
  }
  Node node;
  node.kind = Node::Kind::kCall;
  node.name = "call";
  for (const Tensor& t : arguments) node.inputs.push_back(outer.value_of(t));
  for (const Tracer::Capture& c : body.tracer.captures()) {
    node.inputs.push_back(outside(outer, c));
  }
  for (ValueRef v : body.graph.results()) {
    node.outputs.push_back(body.graph.info(v));
    node.outputs.back().data = nullptr;
  }
  node.subgraphs = {std::make_shared<const Graph>(std::move(body.graph))};
  const int32_t index = outer.add_control_flow(std::move(node));
  for (size_t k = 0; k < written.size(); ++k) {
    outer.set_state(written[k], {index, static_cast<int32_t>(count + k)});
  }
  Tensors results;
  for (size_t k = 0; k < count; ++k) {
    results.push_back(outer.symbolic({index, static_cast<int32_t>(k)}));
  }
  return results;
}

namespace {
std::string word_of(const Node& n) {
  switch (n.kind) {
    case Node::Kind::kOp:
      return n.op->name;
    case Node::Kind::kCopy:
      return "Copy";
    case Node::Kind::kIf:
      return "If";
    case Node::Kind::kCase:
      return "Case";
    case Node::Kind::kWhile:
      return "While";
    case Node::Kind::kCall:
      return "Call";
    case Node::Kind::kParameter:
    case Node::Kind::kConstant:
    case Node::Kind::kVariable:
      break;
  }
  return {};
}
}  // namespace

std::string op_list(const Graph& graph) {
  std::string list;
  for (const Node& n : graph.nodes()) {
    const std::string word = word_of(n);
    if (word.empty()) continue;
    list += (list.empty() ? "" : " ") + word;
  }
  return list;
}

int count_ops(const Graph& graph, std::string_view op) {
  int count = 0;
  for (const Node& n : graph.nodes()) count += word_of(n) == op;
  return count;
}

const Node& find_node(const Graph& graph, std::string_view word) {
  for (const Node& n : graph.nodes()) {
    if (word_of(n) == word) return n;
  }
  ADD_FAILURE() << "no " << word << " in\n" << graph.dump();
  static const Node none;
  return none;
}

std::vector<TensorInfo> infos_of(const Tensors& arguments) {
  std::vector<TensorInfo> infos;
  for (const Tensor& t : arguments) {
    TensorInfo info;
    info.dtype = t.dtype();
    info.shape = t.shape();
    infos.push_back(std::move(info));
  }
  return infos;
}

}  // namespace tandem::testing
