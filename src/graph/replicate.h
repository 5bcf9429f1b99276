// Replication: one graph that does, for every replica, what a replica's graph does
// (design, decision 19: replicas are traced once). Where replicas meet, in a collective
// node, the joined graph computes the result once from the values of all of them; all
// else exists once per replica, on the replica's device. So a step over several devices
// is one ordinary graph: planned, ordered over lanes and captured like any other. Pure;
// any thread.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "graph/graph.h"

namespace tandem {

struct ReplicaSetup {
  /// One per replica: where its nodes run that nobody placed.
  std::vector<std::string> devices = {};
  /// Variables with a copy per replica: the handle's id in the replica's graph → handles
  /// by replica. All other variables are shared; replicas write them one after the other.
  std::unordered_map<uint64_t, std::vector<Tensor>> copies = {};

  /// The number of the first replica.
  int64_t first = 0;

  size_t replicas() const { return devices.size(); }
  /// Handles by replica, or one for a variable that they share.
  std::vector<Tensor> handles(const Tensor& handle) const;
};

/// Every parameter and every result becomes one per replica, side by side; states of
/// shared variables stay one. A branch that holds a collective is taken when all replicas
/// would take it: one that finds a gradient infinite makes all of them skip the update.
/// Throws UnimplementedError for a collective inside a loop.
Graph replicate(const Graph& replica, const ReplicaSetup& setup);

/// Whether a graph, or one inside it, holds a node where replicas meet.
bool has_collectives(const Graph& graph);

}  // namespace tandem
