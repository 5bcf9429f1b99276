// The cut: nodes on the source's side stay as written, nodes on the sink's side move. A
// value is two more vertices, one for each direction of a transposition: the first is
// drawn to the sink by any reader there, the second to the source by any reader there,
// and the edge between it and the maker is what the transposition costs. Flow by blocking
// flows (Dinic), without recursion: chains of nodes are as long as models are deep.
#include "graph/passes/layout_cut.h"

#include <algorithm>
#include <limits>

namespace tandem {

namespace {

constexpr int64_t kInfinite = std::numeric_limits<int64_t>::max() / 4;

class Flow {
 public:
  explicit Flow(size_t vertices) : first_(vertices) {}

  int32_t add_vertex() {
    first_.emplace_back();
    return static_cast<int32_t>(first_.size()) - 1;
  }
  void add_edge(int32_t from, int32_t to, int64_t capacity) {
    if (capacity <= 0 || from == to) return;
    first_[index(from)].push_back(static_cast<int32_t>(edges_.size()));
    edges_.push_back({to, capacity});
    first_[index(to)].push_back(static_cast<int32_t>(edges_.size()));
    edges_.push_back({from, 0});
  }

  void run(int32_t source, int32_t sink) {
    while (set_levels(source, sink)) {
      next_.assign(first_.size(), 0);
      while (augment(source, sink)) {
      }
    }
  }

  // Vertices from which the sink can still be reached: the least side of the sink.
  std::vector<char> side_of(int32_t sink) const {
    std::vector<char> reached(first_.size(), 0);
    std::vector<int32_t> open = {sink};
    reached[index(sink)] = 1;
    while (!open.empty()) {
      const int32_t v = open.back();
      open.pop_back();
      for (int32_t e : first_[index(v)]) {
        // The edge towards v is the twin of the one away from it.
        const int32_t u = edges_[index(e)].to;
        if (reached[index(u)] || edges_[index(e ^ 1)].left == 0) continue;
        reached[index(u)] = 1;
        open.push_back(u);
      }
    }
    return reached;
  }

 private:
  struct Edge {
    int32_t to;
    int64_t left;
  };
  static size_t index(int32_t i) { return static_cast<size_t>(i); }

  bool set_levels(int32_t source, int32_t sink) {
    level_.assign(first_.size(), -1);
    std::vector<int32_t> queue = {source};
    level_[index(source)] = 0;
    for (size_t at = 0; at < queue.size(); ++at) {
      const int32_t v = queue[at];
      for (int32_t e : first_[index(v)]) {
        const int32_t to = edges_[index(e)].to;
        if (edges_[index(e)].left == 0 || level_[index(to)] >= 0) continue;
        level_[index(to)] = level_[index(v)] + 1;
        queue.push_back(to);
      }
    }
    return level_[index(sink)] >= 0;
  }

  // One path along the levels; what leads nowhere is not looked at again.
  bool augment(int32_t source, int32_t sink) {
    std::vector<int32_t> path;
    int32_t v = source;
    while (v != sink) {
      auto& next = next_[index(v)];
      if (next == first_[index(v)].size()) {
        if (path.empty()) return false;
        v = edges_[index(path.back() ^ 1)].to;
        path.pop_back();
        ++next_[index(v)];
        continue;
      }
      const int32_t e = first_[index(v)][next];
      const int32_t to = edges_[index(e)].to;
      if (edges_[index(e)].left > 0 && level_[index(to)] == level_[index(v)] + 1) {
        path.push_back(e);
        v = to;
      } else {
        ++next;
      }
    }
    int64_t most = kInfinite;
    for (int32_t e : path) most = std::min(most, edges_[index(e)].left);
    for (int32_t e : path) {
      edges_[index(e)].left -= most;
      edges_[index(e ^ 1)].left += most;
    }
    return true;
  }

  std::vector<std::vector<int32_t>> first_;  // edges by vertex
  std::vector<Edge> edges_;                  // an edge and its twin, alternately
  std::vector<int32_t> level_;
  std::vector<size_t> next_;
};

}  // namespace

int32_t LayoutNetwork::add_node(int64_t as_written, int64_t moved) {
  nodes_.push_back({as_written, moved});
  return static_cast<int32_t>(nodes_.size()) + kMoved;
}

void LayoutNetwork::add_value(int32_t maker, std::vector<int32_t> readers,
                              int64_t bytes) {
  if (bytes > 0 && !readers.empty()) {
    values_.push_back({maker, std::move(readers), bytes});
  }
}

std::vector<char> LayoutNetwork::as_written() const {
  std::vector<char> moved(nodes_.size() + 2, 0);
  moved[kMoved] = 1;
  return moved;
}

int64_t LayoutNetwork::cost(const std::vector<char>& moved) const {
  int64_t total = 0;
  for (size_t i = 0; i < nodes_.size(); ++i) {
    total += moved[i + 2] ? nodes_[i].moved : nodes_[i].as_written;
  }
  for (const Value& v : values_) {
    const bool differs = std::any_of(v.readers.begin(), v.readers.end(), [&](int32_t r) {
      return moved[static_cast<size_t>(r)] != moved[static_cast<size_t>(v.maker)];
    });
    if (differs) total += v.bytes;
  }
  return total;
}

std::vector<char> LayoutNetwork::solve() const {
  Flow flow(nodes_.size() + 2);
  for (size_t i = 0; i < nodes_.size(); ++i) {
    const auto v = static_cast<int32_t>(i + 2);
    flow.add_edge(v, kMoved, nodes_[i].as_written);
    flow.add_edge(kAsWritten, v, nodes_[i].moved);
  }
  for (const Value& v : values_) {
    const int32_t moved = flow.add_vertex(), back = flow.add_vertex();
    flow.add_edge(v.maker, moved, v.bytes);
    flow.add_edge(back, v.maker, v.bytes);
    for (int32_t r : v.readers) {
      flow.add_edge(moved, r, kInfinite);
      flow.add_edge(r, back, kInfinite);
    }
  }
  flow.run(kAsWritten, kMoved);
  std::vector<char> side = flow.side_of(kMoved);
  side.resize(nodes_.size() + 2);
  return side;
}

}  // namespace tandem
