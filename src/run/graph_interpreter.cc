#include "run/graph_interpreter.h"

#include <optional>

#include <fmt/format.h>

#include "base/interrupt.h"
#include "run/eager.h"
#include "run/tape.h"
#include "tandem/device.h"
#include "tensor/variable_impl.h"

namespace tandem {

namespace {

// A tensor; or, with a handle, the state of that variable: its contents.
struct Value {
  Tensor tensor;
  Tensor handle;
};
using Values = std::vector<Value>;

Values run_graph(const Graph& graph, Values arguments, bool outermost);

Tensor eager_read(const Tensor& handle) {
  static const OpHandle read("ReadVariableOp");
  return eager_emitter().emit_one(read, {}, std::vector<TensorArg>{handle});
}

// Ops on variables get one that lives for this call and holds the state's contents.
Values run_op(const Node& n, const Values& inputs) {
  std::vector<Variable> variables;
  variables.reserve(inputs.size());
  std::vector<TensorArg> args;
  const Tensor* written = nullptr;
  const Tensor* owner = nullptr;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const InputDef& def = n.op->input_def(static_cast<int>(i));
    if (!def.resource) {
      // What is made of a value that the branch did not make is not there either.
      if (!inputs[i].tensor.defined() && !def.optional) {
        return Values(n.outputs.size());
      }
      args.emplace_back(inputs[i].tensor);
      continue;
    }
    variables.emplace_back(inputs[i].tensor,
                           VariableOptions{.shape = variable_of(inputs[i].handle).shape});
    args.emplace_back(variables.back().handle());
    if (def.writes) {
      written = &variables.back().handle();
      owner = &inputs[i].handle;
    }
  }
  std::vector<Tensor> made;
  eager_emitter().emit(*n.op, n.attrs.ref(), args, made);
  Values outputs;
  for (Tensor& t : made) outputs.push_back({std::move(t), {}});
  if (written) outputs.push_back({eager_read(*written), *owner});
  return outputs;
}

bool truth(const Value& v) { return host_int(v.tensor, "The predicate") != 0; }

Values run_while(const Node& n, Values operands) {
  const auto carried = static_cast<size_t>(n.carried);
  for (int64_t turn = 0; n.max_iterations < 0 || turn < n.max_iterations; ++turn) {
    poll_interrupt();
    if (!truth(run_graph(*n.subgraphs[0], operands, false).at(0))) break;
    Values next = run_graph(*n.subgraphs[1], operands, false);
    for (size_t i = 0; i < carried; ++i) operands[i] = std::move(next.at(i));
  }
  operands.resize(carried);
  return operands;
}

Values run_node(const Node& n, Values inputs) {
  std::optional<DeviceScope> scope;
  if (!n.device.empty()) scope.emplace(n.device);
  switch (n.kind) {
    case Node::Kind::kOp:
      return run_op(n, inputs);
    case Node::Kind::kCopy:
      return {{inputs[0].tensor.to(n.device), inputs[0].handle}};
    case Node::Kind::kWhile:
      return run_while(n, std::move(inputs));
    case Node::Kind::kCall:
      return run_graph(*n.subgraphs[0], std::move(inputs), false);
    case Node::Kind::kIf:
    case Node::Kind::kCase: {
      size_t branch = 0;
      if (n.kind == Node::Kind::kIf) {
        branch = truth(inputs[0]) ? 0 : 1;
      } else {
        const int64_t index = host_int(inputs[0].tensor, "branch_index");
        const auto count = static_cast<int64_t>(n.subgraphs.size());
        branch = static_cast<size_t>(index < 0 || index >= count ? count - 1 : index);
      }
      inputs.erase(inputs.begin());
      return run_graph(*n.subgraphs[branch], std::move(inputs), false);
    }
    case Node::Kind::kParameter:
    case Node::Kind::kConstant:
    case Node::Kind::kVariable:
      break;
  }
  throw InternalError("interpret: not a node that runs: " + n.name);
}

Values run_graph(const Graph& graph, Values arguments, bool outermost) {
  std::vector<Values> values(graph.nodes().size());
  const auto value = [&](ValueRef v) {
    return v.defined()
               ? values[static_cast<size_t>(v.node)].at(static_cast<size_t>(v.output))
               : Value{};
  };
  size_t next = 0;
  for (size_t i = 0; i < values.size(); ++i) {
    const Node& n = graph.nodes()[i];
    if (n.kind == Node::Kind::kParameter) {
      if (next == arguments.size()) {
        throw InvalidArgumentError(
            fmt::format("{}: got {} arguments and has {} parameters. Pass one for each.",
                        graph.name(), arguments.size(), graph.parameters().size()));
      }
      values[i] = {arguments[next++]};
    } else if (n.kind == Node::Kind::kConstant) {
      values[i] = {{n.constant, {}}};
    } else if (n.kind == Node::Kind::kVariable) {
      values[i] = {{eager_read(n.constant), n.constant}};
    } else {
      Values inputs;
      for (ValueRef v : n.inputs) inputs.push_back(value(v));
      values[i] = run_node(n, std::move(inputs));
    }
  }
  if (next != arguments.size()) {
    throw InvalidArgumentError(
        fmt::format("{}: got {} arguments and has {} parameters. Pass one for each.",
                    graph.name(), arguments.size(), next));
  }
  Values results;
  for (ValueRef v : graph.results()) results.push_back(value(v));
  if (outermost) {
    static const OpHandle assign("AssignVariableOp");
    for (ValueRef v : graph.final_states()) {
      const Value last = value(v);
      std::vector<Tensor> none;
      eager_emitter().emit(assign, {}, std::vector<TensorArg>{last.handle, last.tensor},
                           none);
    }
  }
  return results;
}

}  // namespace

std::vector<Tensor> interpret(const Graph& graph, std::span<const Tensor> arguments) {
  PauseRecording pause;
  EmitterScope eager(nullptr);
  Values values;
  for (const Tensor& t : arguments) values.push_back({t, {}});
  std::vector<Tensor> results;
  for (Value& v : run_graph(graph, std::move(values), true)) {
    results.push_back(std::move(v.tensor));
  }
  return results;
}

std::vector<Tensor> interpret_node(const Node& node, std::span<const Tensor> inputs) {
  PauseRecording pause;
  EmitterScope eager(nullptr);
  Values values;
  for (const Tensor& t : inputs) values.push_back({t, {}});
  std::vector<Tensor> outputs;
  for (Value& v : run_op(node, values)) outputs.push_back(std::move(v.tensor));
  return outputs;
}

}  // namespace tandem
