// ClusterDag: a directed graph without cycles whose nodes are joined step by step, and
// which refuses a step that would close a cycle. It keeps an order of clusters and
// repairs it locally (the idea of Pearce and Kelly), so that a step looks only at what
// lies between the two. One thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace tandem {

class ClusterDag {
 public:
  using Lists = std::vector<std::vector<int32_t>>;
  /// Edges go from smaller to larger numbers. `before` and `after` name the same edges.
  ClusterDag(Lists before, Lists after);

  /// The cluster of a node, named by one of its nodes.
  int32_t find(int32_t node);
  /// Its nodes in ascending order.
  const std::vector<int32_t>& members(int32_t cluster) const {
    return members_[static_cast<size_t>(cluster)];
  }
  /// Joins two clusters, unless a path leads from one to the other through a third.
  /// Refuses too when the search grows too long to be worth it.
  bool join(int32_t a, int32_t b);

 private:
  bool collect_after(int32_t from, int32_t to);
  void collect_before(int32_t from, int32_t to);
  void reorder(int32_t joined, int32_t gone);

  Lists before_, after_, members_;
  std::vector<int32_t> parent_, order_;
  std::vector<uint32_t> seen_;
  uint32_t turn_ = 0;
  std::vector<int32_t> later_, earlier_;  // of the present step
};

}  // namespace tandem
