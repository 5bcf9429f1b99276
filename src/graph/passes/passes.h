// The passes: pure functions Graph → Graph, one file each, and the pipeline that runs
// them. Every pass works inside sub-graphs too. A pass changes no bits of a result
// except where its file says exactly which. Any thread.
#pragma once

#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/fn_ref.h"
#include "graph/graph.h"

namespace tandem {

/// Runs one op node on concrete inputs; given by the layer that can run ops.
using Evaluate = FnRef<std::vector<Tensor>(const Node&, std::span<const Tensor>)>;
/// Shapes of variables' present contents, by the id of the handle.
using VariableShapes = std::unordered_map<uint64_t, Shape>;

/// Concrete shapes (and known small integers) for the parameters, everything inferred
/// again. Without `variables` the shapes of their present contents are read.
Graph specialize(const Graph& graph, std::span<const TensorInfo> parameters,
                 const VariableShapes* variables = nullptr);
/// Infers everything again from what is known about parameters and variables now.
Graph infer_again(const Graph& graph);

/// kCall nodes become the nodes of their bodies.
Graph inline_calls(const Graph& graph);
/// Reads after assignments become what was assigned; only last assignments stay.
Graph canonical_states(const Graph& graph);
/// Nodes of which everything is known become constants. Null: only what inference knows.
Graph fold_constants(const Graph& graph, const Evaluate* evaluate);
/// Branches that are always or never taken, loops that never turn.
Graph remove_dead_branches(const Graph& graph);
/// Algebraic identities, changes of shape that change nothing, broadcasts nobody needs.
Graph simplify(const Graph& graph);
/// Equal nodes become one.
Graph merge_common(const Graph& graph);
/// What a loop computes anew in every turn from what never changes moves before it.
Graph hoist_loop_invariants(const Graph& graph);
/// What nobody needs goes, also results and operands of control flow.
Graph remove_dead_nodes(const Graph& graph);

/// How much better channels last is than channels first for the kernels that will run, in
/// units of moving an op's images once. 0: as good.
struct LayoutTarget {
  /// oneDNN takes channels first by copying images into layouts of its own: one
  /// convolution alone loses about what transposing around it would cost.
  double convolution = 0.9;
  /// Windows over one channel do not vectorise; over few channels they do no better.
  double pool = 3;
  int64_t pool_channels = 8;  // below, no layout is preferred
  /// Either layout is one stream of memory.
  double normalization = 0;
};
/// Transposes move to where they cancel or are cheapest; convolutions, pools and
/// normalisations run channels last.
Graph layout(const Graph& graph, const LayoutTarget& target = {});

struct PassOptions {
  bool inline_calls = true;
  bool canonical_states = true;
  bool fold_constants = true;
  bool remove_dead_branches = true;
  bool simplify = true;
  bool merge_common = true;
  bool hoist_loop_invariants = true;
  bool remove_dead_nodes = true;
  /// After the others, which then run again if it changed something.
  bool layout = true;
  LayoutTarget layout_target = {};
  /// How fold_constants runs ops; null: it folds only what inference knows.
  const Evaluate* evaluate = nullptr;
  /// The passes that feed each other are repeated until nothing changes, so often at
  /// most.
  int max_rounds = 4;
};

/// What the passes did, in order: for `tandem explain` and for tests.
struct PassTrace {
  struct Entry {
    std::string pass;
    int64_t nodes_before = 0;  // with those of sub-graphs
    int64_t nodes_after = 0;
    std::string note;  // empty: nothing to say
  };
  std::vector<Entry> entries;
  /// One line per pass that changed something.
  std::string text() const;
};

/// Runs the passes that `options` leave on. In debug builds every graph is verified.
Graph optimize(const Graph& graph, const PassOptions& options = {},
               PassTrace* trace = nullptr);

}  // namespace tandem
