// What the layout pass asks about single nodes: may a node run on permuted values as
// well, and how. One rule per family of ops. Pure functions.
#pragma once

#include <vector>

#include "graph/passes/passes.h"

namespace tandem {

/// Another layout of values with that many dimensions: dimension i of the moved value is
/// dimension `to[i]` of the value as written.
struct Permutation {
  Ints to;
  Ints back;

  explicit Permutation(const Ints& perm);
  int rank() const { return static_cast<int>(to.size()); }
  Shape moved(const Shape& shape) const;
  /// One entry per dimension, in the order of the moved value.
  Ints moved(const Ints& list) const;
  int64_t axis(int64_t axis) const;  // negative: from the end
};

/// Whether a transposition of this shape moves anything but dimensions of size 1.
bool moves(const Ints& perm, const Shape& shape);
/// The bytes that a transposition of the value moves; 0 where it folds, 1 where it is a
/// reshape.
int64_t transpose_bytes(const Graph& graph, ValueRef v, const Ints& perm);

/// A node's part in a choice of layouts.
struct LayoutRole {
  bool either = false;          // false: the node knows only the layout it was written in
  std::vector<char> inputs;     // those that come in the node's layout
  std::vector<char> outputs;    // those that leave in it
  int64_t cost_as_written = 0;  // bytes
  int64_t cost_moved = 0;
};
LayoutRole layout_role(const Graph& graph, const Node& node, const Permutation& p,
                       const LayoutTarget& target);

/// Appends `node` of `from` for moved values; `inputs` has the moved values where the
/// role says so. Gives its outputs.
std::vector<ValueRef> add_moved(Graph& to, const Graph& from, const Node& node,
                                std::vector<ValueRef> inputs, const Permutation& p);

/// The permutation under which an op that does badly as written would do well; empty:
/// none.
Ints wanted_layout(const Node& node, const Graph& graph, const LayoutTarget& target);

/// The permutation of a Transpose that does nothing but permute known shapes; else empty.
Ints plain_permutation(const Graph& graph, const Node& node);
/// A Transpose of `v` that takes device and source line of `like`.
ValueRef add_transpose(Graph& to, ValueRef v, const Ints& perm, const Node& like,
                       const std::string& name);

// ---- Families -------------------------------------------------------------------------

/// A node being built for moved values: what the rules change.
struct MovedNode {
  Graph& to;
  const Graph& from;
  const Node& node;
  const Permutation& p;
  const OpDef* op;
  std::vector<ValueRef> inputs;  // of `to`
  Attrs attrs;

  template <class A>
  A attributes() const {
    return node.attrs.ref().as<A>();
  }
  template <class A>
  void set(const A& a) {
    attrs = Attrs(attrs_ref(a));
  }
  /// Input i becomes these integers, in the dtype it has.
  void set_ints(size_t i, const Shape& shape, const Ints& values);
};

struct LayoutRule {
  /// False: the node stays as written. `role` comes with everything marked that has the
  /// permutation's rank.
  bool (*applies)(const Graph&, const Node&, const Permutation&, const LayoutTarget&,
                  LayoutRole& role);
  void (*move)(MovedNode&);
};

/// The rule of an op; null when it has none.
const LayoutRule* layout_rule(const OpDef& op);
/// Those of convolutions, pools, normalisations and biases.
const LayoutRule* format_rule(const OpDef& op);

}  // namespace tandem
