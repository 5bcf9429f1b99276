#include "run/replica_call.h"

#include <fmt/format.h>

#include "graph/handle.h"
#include "graph/subgraph.h"
#include "run/control_flow_record.h"
#include "run/trace_into.h"
#include "tandem/error.h"

namespace tandem {

namespace {

void check_arguments(const std::vector<std::vector<Tensor>>& arguments, size_t replicas) {
  if (arguments.size() != replicas) {
    throw InvalidArgumentError(
        fmt::format("{} replicas were given arguments for {}. Give a list for each.",
                    replicas, arguments.size()));
  }
  for (size_t r = 1; r < replicas; ++r) {
    const std::vector<Tensor>&first = arguments[0], &other = arguments[r];
    if (other.size() != first.size()) {
      throw InvalidArgumentError(
          fmt::format("Replica 0 is called with {} tensors, replica {} with {}.",
                      first.size(), r, other.size()));
    }
    for (size_t i = 0; i < first.size(); ++i) {
      if (other[i].dtype() == first[i].dtype()) continue;
      throw InvalidArgumentError(fmt::format(
          "Argument {} is {} on replica 0 and {} on replica {}. Cast one of them.", i,
          dtype_name(first[i].dtype()), dtype_name(other[i].dtype()), r));
    }
  }
}

// What holds for the argument on every replica.
Shape common_shape(const std::vector<std::vector<Tensor>>& arguments, size_t i) {
  ValueInfo common;
  common.shape = arguments[0][i].shape();
  for (const auto& list : arguments) {
    ValueInfo other;
    other.shape = list[i].shape();
    common = common_info(common, other);
  }
  return common.shape;
}

// Parameters before all other nodes, as everywhere.
Graph parameters_first(const Graph& graph) {
  std::vector<Operand> operands;
  for (int32_t p : graph.parameters()) operands.push_back({p, {}, {}});
  return with_operands(graph, operands);
}

}  // namespace

std::vector<std::vector<Tensor>> call_replicas(
    const std::vector<std::string>& devices, const FindCopies& copies,
    const std::vector<std::vector<Tensor>>& arguments, const ReplicaBody& body) {
  const size_t replicas = devices.size();
  check_arguments(arguments, replicas);
  Tracer& outer = *current_tracer();
  Subgraph sub("replica", outer, outer.listener());
  trace_into(sub, [&] {
    std::vector<Tensor> parameters;
    for (size_t i = 0; i < arguments[0].size(); ++i) {
      parameters.push_back(sub.tracer.parameter(arguments[0][i].dtype(),
                                                common_shape(arguments, i),
                                                fmt::format("argument_{}", i)));
    }
    return body(parameters);
  });
  sub.graph.results() = sub.results;
  const size_t plain = sub.graph.results().size();

  ReplicaSetup setup{.devices = devices};
  std::vector<Tensor> operands, written;
  for (size_t i = 0; i < arguments[0].size(); ++i) {
    for (const auto& list : arguments) operands.push_back(list[i]);
  }
  const std::vector<Tracer::Capture> captures = sub.tracer.captures();
  for (const Tracer::Capture& c : captures) {
    if (!is_handle(c.tensor)) {
      operands.insert(operands.end(), replicas, c.tensor);
      continue;
    }
    std::vector<Tensor> handles = copies(c.tensor);
    if (!handles.empty()) setup.copies[c.tensor.impl()->id] = std::move(handles);
    for (const Tensor& h : setup.handles(c.tensor)) {
      operands.push_back(h);
      if (c.written) written.push_back(h);
    }
    if (c.written) sub.graph.results().push_back(sub.tracer.state_of(c.tensor));
  }
  auto joined =
      std::make_shared<const Graph>(parameters_first(replicate(sub.graph, setup)));
  const ControlFlowNode made =
      add_call(outer, std::move(joined), std::move(operands), written, "replicas");
  record_control_flow(outer, made);

  std::vector<std::vector<Tensor>> results(replicas);
  for (size_t i = 0; i < plain; ++i) {
    for (size_t r = 0; r < replicas; ++r) {
      results[r].push_back(made.results[i * replicas + r]);
    }
  }
  return results;
}

}  // namespace tandem
