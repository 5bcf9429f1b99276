// Assignment: the one function from a graph to a device for each node, with its reason.
// Now: the user's scopes, else TensorFlow's rule; the measured choice takes its place
// behind the same signature. Pure; any thread.
#pragma once

#include <string>
#include <vector>

#include "device/device.h"
#include "graph/graph.h"
#include "tandem/device.h"

namespace tandem {

struct Assignment {
  std::vector<Device*> devices;      // by node; null: no work (states, constants)
  std::vector<std::string> reasons;  // by node
  /// Where the outputs of control flow are, by node and output; empty: on the node's
  /// device.
  std::vector<std::vector<Device*>> outputs;

  /// The device that holds a value; null: it can be anywhere (constants, states).
  Device* of(ValueRef v) const {
    const auto& list = outputs[static_cast<size_t>(v.node)];
    return list.empty() ? devices[static_cast<size_t>(v.node)]
                        : list[static_cast<size_t>(v.output)];
  }
};

struct AssignOptions {
  /// A sub-graph, whose results are nobody's but the control flow's around it.
  bool nested = false;
  /// A sub-graph of a conditional node of this device (plan/conditional.h): what could
  /// stay on the host goes there, too.
  Device* inside = nullptr;
};

/// `parameter_devices`: where the arguments are; of lists, where their elements are.
/// Throws InvalidArgumentError when a scope cannot be satisfied and soft placement is
/// off.
Assignment assign_devices(const Graph& graph,
                          const std::vector<Device*>& parameter_devices,
                          AssignOptions options = {});

/// The graph with a copy for each value that is needed on another device than its own,
/// once per device; the assignment is extended accordingly. Throws what the policy says
/// (plan/copy_policy.h). `fixed`: arguments have the same addresses in every call.
Graph insert_copies(const Graph& graph, Assignment& assignment, CopyPolicy policy,
                    bool fixed = false);

/// What a kernel prepares for: infos of the node's inputs and outputs.
struct NodeSignature {
  std::vector<Tensor> kept;  // host copies that the infos point into
  std::vector<TensorInfo> inputs;
  std::vector<TensorInfo> outputs;
  Signature signature;
};
/// Fills `into` for a kOp node; `into` must outlive the use of its signature.
void node_signature(const Graph& graph, const Node& node, Device* device,
                    NodeSignature& into);

}  // namespace tandem
