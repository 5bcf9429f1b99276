#include "run/boundary.h"

#include <optional>

#include <fmt/format.h>

#include "base/idx.h"
#include "base/interrupt.h"
#include "graph/states.h"
#include "run/eager.h"
#include "run/graph_function.h"
#include "run/node_error.h"
#include "tandem/device.h"

namespace tandem {

namespace {

// What a branch that did not run would have made is absent, and so is what depends on it
// (graph.h).
bool is_absent(const Node& n, const std::vector<Tensor>& inputs) {
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (!inputs[i].defined() && n.inputs[i].defined() &&
        !n.op->input_def(static_cast<int>(i)).optional) {
      return true;
    }
  }
  return false;
}

bool truth(const Tensor& t) { return host_int(t, "The predicate") != 0; }

}  // namespace

Boundary::Boundary(Graph graph, const GraphFunctionOptions& options)
    : graph_(std::move(graph)), functions_(graph_.nodes().size()) {
  for (int32_t i = 0; i < graph_.size(); ++i) {
    for (const GraphPtr& g : graph_.node(i).subgraphs) {
      functions_[idx(i)].push_back(std::make_unique<GraphFunction>(g, options));
    }
  }
}

Boundary::~Boundary() = default;

std::vector<Tensor> Boundary::run(std::span<const Tensor> arguments) {
  std::vector<std::vector<Tensor>> values(graph_.nodes().size());
  size_t next = 0;
  for (int32_t i = 0; i < graph_.size(); ++i) {
    const Node& n = graph_.node(i);
    auto& out = values[idx(i)];
    if (n.kind == Node::Kind::kParameter) {
      out = {arguments[next++]};
      continue;
    }
    if (n.kind == Node::Kind::kConstant || n.kind == Node::Kind::kVariable) {
      out = {n.constant};
      continue;
    }
    std::vector<Tensor> inputs;
    for (ValueRef v : n.inputs) {
      if (!v.defined()) {
        inputs.emplace_back();
      } else if (graph_.info(v).state) {
        inputs.push_back(variable_handle(graph_, v));
      } else {
        inputs.push_back(values[idx(v.node)][idx(v.output)]);
      }
    }
    if (n.has_subgraphs()) {
      out = run_control_flow(i, inputs);
    } else if (!is_absent(n, inputs)) {
      // Where the scopes of the body said, not those around this call.
      const DeviceScope none(std::nullopt);
      std::optional<DeviceScope> scope;
      if (!n.device.empty()) scope.emplace(n.device);
      const std::vector<TensorArg> args(inputs.begin(), inputs.end());
      try {
        eager_emitter().emit(*n.op, n.attrs.ref(), args, out);
      } catch (...) {
        rethrow_at(n);
      }
    }
    out.resize(n.outputs.size());  // states have no tensor
  }
  std::vector<Tensor> results;
  for (ValueRef v : graph_.results())
    results.push_back(values[idx(v.node)][idx(v.output)]);
  return results;
}

// Results of a function have no states among them: they go where no state is expected.
std::vector<Tensor> Boundary::run_control_flow(int32_t node,
                                               std::span<const Tensor> inputs) {
  const Node& n = graph_.node(node);
  const auto operands = [&](std::span<const Tensor> all) {
    std::vector<Tensor> list;
    const size_t first = all.size() - operands_of(n).size();
    for (size_t i = first; i < all.size(); ++i) {
      if (!graph_.info(n.inputs[i]).state) list.push_back(all[i]);
    }
    return list;
  };
  const auto spread = [&](std::vector<Tensor> made) {
    std::vector<Tensor> all(n.outputs.size());
    size_t next = 0;
    for (size_t o = 0; o < all.size(); ++o) {
      if (!n.outputs[o].state) all[o] = std::move(made[next++]);
    }
    return all;
  };
  auto& functions = functions_[idx(node)];
  if (n.kind != Node::Kind::kWhile) {
    size_t branch = 0;
    if (n.kind == Node::Kind::kIf) branch = truth(inputs[0]) ? 0 : 1;
    if (n.kind == Node::Kind::kCase) {
      const int64_t asked = host_int(inputs[0], "branch_index");
      const auto last = static_cast<int64_t>(functions.size()) - 1;
      branch = static_cast<size_t>(asked < 0 || asked > last ? last : asked);
    }
    return spread(functions[branch]->run(operands(inputs)));
  }
  std::vector<Tensor> now(inputs.begin(), inputs.end());
  for (int64_t turn = 0; n.max_iterations < 0 || turn < n.max_iterations; ++turn) {
    poll_interrupt();
    if (!truth(functions[0]->run(operands(now))[0])) break;
    std::vector<Tensor> next = spread(functions[1]->run(operands(now)));
    for (size_t i = 0; i < idx(n.carried); ++i) {
      if (next[i].defined()) now[i] = std::move(next[i]);
    }
  }
  now.resize(n.outputs.size());
  return now;
}

std::string Boundary::describe() const {
  std::string text;
  for (const Node& n : graph_.nodes()) {
    if (n.kind == Node::Kind::kParameter || n.kind == Node::Kind::kConstant) continue;
    text += fmt::format("  {} {}\n", n.op ? n.op->name : "control flow", n.name);
  }
  return text;
}

}  // namespace tandem
