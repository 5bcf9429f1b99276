// Which outputs of a node may have the memory of which inputs. Pure; any thread.
#pragma once

#include <vector>

#include "device/device.h"
#include "graph/graph.h"

namespace tandem {

/// Which outputs of one node may be written to the memory of which of its inputs, when
/// nobody needs those any more: both have the same elements in the same places, and the
/// kernel reads an element before it writes it. Looks at the node once.
class InPlace {
 public:
  /// `device`: where the node runs.
  InPlace(const Graph& graph, const Node& node, const Device* device);
  bool may_share(size_t input, int32_t output) const;

 private:
  const Graph& graph_;
  const Node& node_;
  bool fused_ = false;
  size_t groups_ = 1;
  /// Fused nodes, by output of the program: it is elementwise, so that a block is written
  /// when it has been read.
  std::vector<char> elementwise_;
  std::vector<int64_t> domain_;  // by group: elements; -1: not known
};

}  // namespace tandem
