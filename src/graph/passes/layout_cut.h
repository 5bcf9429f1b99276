// LayoutNetwork: which nodes of a graph run in the layout they were written in (0) and
// which in the other one (1), at the least cost in bytes. A value costs its bytes once
// when somebody wants it in the layout that it is not made in; a node may cost something
// in one of the layouts. Solved exactly, as a minimum cut. Used by one thread.
#pragma once

#include <cstdint>
#include <vector>

namespace tandem {

class LayoutNetwork {
 public:
  /// Makers and readers whose layout is given; nodes that may choose come after them.
  static constexpr int32_t kAsWritten = 0;
  static constexpr int32_t kMoved = 1;

  /// A node that may choose; `as_written` and `moved` are what each choice costs.
  int32_t add_node(int64_t as_written, int64_t moved);
  /// A value of that many bytes, made and read by nodes or in a given layout.
  void add_value(int32_t maker, std::vector<int32_t> readers, int64_t bytes);

  /// The layout of each node, by the number add_node() gave. Of equally cheap ones the
  /// one that moves the fewest nodes.
  std::vector<char> solve() const;
  /// What layouts cost in all.
  int64_t cost(const std::vector<char>& moved) const;
  /// Everything as it was written.
  std::vector<char> as_written() const;

 private:
  struct Value {
    int32_t maker;
    std::vector<int32_t> readers;
    int64_t bytes;
  };
  struct Choice {
    int64_t as_written, moved;
  };
  std::vector<Choice> nodes_;
  std::vector<Value> values_;
};

}  // namespace tandem
