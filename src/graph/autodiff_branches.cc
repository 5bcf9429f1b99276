// Gradients of kIf, kCase and kCall.
#include <algorithm>
#include <memory>

#include "graph/autodiff.h"
#include "graph/autodiff_control_flow.h"
#include "graph/rewriter.h"
#include "op/emitter.h"

namespace tandem {

namespace {

// One branch: a copy of it, and its gradient, which is traced as if nested in the copy.
struct Branch {
  Branch(Graph copy, Tracer& here)
      : forward(std::move(copy)),
        tracer(forward, nullptr, &here),
        backward(std::make_unique<Subgraph>(forward.name() + "_grad", tracer, nullptr)) {
    backward->tracer.keep_shapes_only();
  }
  Graph forward;
  Tracer tracer;
  std::unique_ptr<Subgraph> backward;
  std::vector<Gradient> grads;  // by operand
};

// The output of the node that gives value `v` of branch `k`; a new one where there is
// none.
int32_t output_for(std::vector<std::unique_ptr<Branch>>& branches, size_t k, ValueRef v) {
  const std::vector<ValueRef>& results = branches[k]->forward.results();
  const auto found = std::find(results.begin(), results.end(), v);
  if (found != results.end()) return static_cast<int32_t>(found - results.begin());
  for (size_t other = 0; other < branches.size(); ++other) {
    branches[other]->forward.results().push_back(other == k ? v : ValueRef{});
  }
  return static_cast<int32_t>(results.size()) - 1;
}

}  // namespace

NodeGradient branch_gradient(const NodeQuestion& q) {
  Tracer& here = *current_tracer();
  const std::span<const Tensor> operands = q.operands;
  const Node node = q.owner.graph().node(q.node);
  const size_t lead = node.kind == Node::Kind::kCall ? 0 : 1;  // the selector
  const size_t count = operands.size() - lead;
  NodeGradient made;
  made.operands.resize(operands.size());

  std::vector<Tensor> seeds;
  for (const Gradient& g : q.output_grads) seeds.push_back(g.dense());
  std::vector<std::unique_ptr<Branch>> branches;
  std::vector<bool> connected(count, false);
  for (const GraphPtr& sub : node.subgraphs) {
    std::vector<ValueRef> wanted;
    std::vector<size_t> operand_of;
    for (size_t j = 0; j < count; ++j) {
      if (!q.needs[lead + j]) continue;
      wanted.push_back({sub->parameters()[j], 0});
      operand_of.push_back(j);
    }
    branches.push_back(std::make_unique<Branch>(with_loop_seeds(*sub, wanted), here));
    Branch& b = *branches.back();
    b.grads.resize(count);
    std::vector<Seed> given;
    for (size_t o = 0; o < seeds.size(); ++o) {
      const ValueRef v = b.forward.results()[o];
      if (seeds[o].defined() && v.defined()) given.emplace_back(v, seeds[o]);
    }
    const EmitterScope scope(&b.backward->tracer);
    const std::vector<Gradient> grads = backpropagate(b.tracer, given, wanted);
    for (size_t k = 0; k < grads.size(); ++k) {
      b.grads[operand_of[k]] = grads[k];
      if (grads[k].defined()) connected[operand_of[k]] = true;
    }
  }
  if (std::find(connected.begin(), connected.end(), true) == connected.end()) return made;

  // Slices end here: a result of branches is one tensor.
  Subgraphs backward;
  for (auto& b : branches) {
    const EmitterScope scope(&b->backward->tracer);
    for (size_t j = 0; j < count; ++j) {
      if (!connected[j]) continue;
      const Tensor g =
          b->grads[j].defined() ? b->grads[j].dense() : zero_gradient(operands[lead + j]);
      b->backward->results.push_back(b->backward->tracer.value_of(g));
    }
  }

  // What the gradients captured of their branches: operands of the node, or results of
  // it.
  const auto before = static_cast<int32_t>(node.outputs.size());
  std::vector<std::pair<Tracer::Capture*, int32_t>> saved;
  for (size_t k = 0; k < branches.size(); ++k) {
    Branch& b = *branches[k];
    b.backward->close();
    for (Tracer::Capture& c : b.backward->captures) {
      if (c.tensor.dtype() == DType::kResource || !b.tracer.owns(c.tensor)) continue;
      const ValueRef v = b.tracer.value_of(c.tensor);
      const auto& parameters = b.forward.parameters();
      const auto p = std::find(parameters.begin(), parameters.end(), v.node);
      if (p != parameters.end()) {
        c.tensor = operands[lead + static_cast<size_t>(p - parameters.begin())];
      } else {
        saved.emplace_back(&c, output_for(branches, k, v));
      }
    }
  }
  Node& extended = q.owner.graph().node(q.node);
  const size_t outputs = branches[0]->forward.results().size();
  for (auto o = static_cast<size_t>(before); o < outputs; ++o) {
    for (auto& b : branches) {
      const ValueRef v = b->forward.results()[o];
      if (!v.defined()) continue;
      const ValueInfo& info = b->forward.info(v);
      extended.outputs.push_back(common_info(info, info));
    }
  }
  for (auto& [capture, output] : saved) {
    capture->tensor = q.output(output);
    made.read_outputs.push_back(output);
  }
  extended.subgraphs.clear();
  for (auto& b : branches) {
    extended.subgraphs.push_back(std::make_shared<const Graph>(b->forward));
    backward.push_back(std::move(b->backward));
  }

  made.backward = add_branches(here, node.kind, lead ? operands[0] : Tensor(), backward,
                               "gradient_of_" + node.name);
  size_t next = 0;
  for (size_t j = 0; j < count; ++j) {
    if (connected[j]) made.operands[lead + j] = made.backward.results[next++];
  }
  return made;
}

Tensor NodeQuestion::output(int32_t i) const {
  const auto at = static_cast<size_t>(i);
  if (outputs.size() <= at) outputs.resize(at + 1);
  if (!outputs[at].defined()) outputs[at] = owner.symbolic({node, i});
  return outputs[at];
}

NodeGradient control_flow_gradient(const NodeQuestion& q) {
  const Node& node = q.owner.graph().node(q.node);
  if (node.gradient) return custom_call_gradient(q);
  return node.kind == Node::Kind::kWhile ? loop_gradient(q) : branch_gradient(q);
}

Graph with_loop_seeds(const Graph& graph, std::vector<ValueRef>& values) {
  int32_t first = -1;
  for (int32_t i = graph.size(); i-- > 0;) {
    if (graph.node(i).kind == Node::Kind::kWhile) first = i;
  }
  if (first < 0 || find_loop_seeds(graph, first).zero.defined()) return graph;
  GraphRewriter rewriter(graph);
  add_loop_seeds(rewriter.to());
  for (int32_t i = 0; i < graph.size(); ++i) rewriter.copy(i);
  for (ValueRef& v : values) v = rewriter.map(v);
  return rewriter.finish();
}

}  // namespace tandem
