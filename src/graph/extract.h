// A part of the graph of a session, taken out as a function of its own: what the fetched
// values and nodes need, through values and control dependencies, from what is fed. A use
// of a variable comes after the writes that it depends on and before others; among
// writes, the order in which they were added decides. One thread at a time per graph.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "graph/trace.h"

namespace tandem {

struct ExtractRequest {
  std::vector<ValueRef> fetches;
  std::vector<int32_t> targets;  // nodes that have to run
  std::vector<ValueRef> fed;     // values that the caller gives
  /// Nodes that read a variable when everything else is done, unless their value is used.
  std::vector<int32_t> late;
};

/// Nodes that a request needs, in order, placeholders that are not fed among them.
std::vector<int32_t> needed_nodes(const Tracer& tracer, const ExtractRequest& request);

/// A variable in a function that was taken out.
struct VariableUse {
  Tensor handle;      // as the graph knows it
  bool read = false;  // its first value matters
  bool written = false;
};

struct Extracted {
  /// Parameters: one per fed value, then one per entry of `asked`.
  std::shared_ptr<Graph> graph;
  std::vector<VariableUse> variables;
  /// Handles of the variables of which the function is told whether they have a value.
  std::vector<Tensor> asked;
};

/// Says where a session keeps a variable of the graph.
using StorageOf = std::function<Tensor(const Tensor& handle)>;

/// Takes out what `request` needs. `storage` is asked for every variable.
Extracted extract(const Tracer& tracer, const ExtractRequest& request,
                  const StorageOf& storage);

}  // namespace tandem
