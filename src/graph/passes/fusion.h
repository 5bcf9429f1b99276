// The fusion passes: pure functions Graph → Graph that make fewer kernels and fewer
// passes over memory out of the same computation. They run on graphs whose shapes are
// known (specialised to a call), after states were made canonical (AssignAdd → read, add,
// assign) and common subexpressions were merged. What a kernel can do is asked of a
// FusionTarget, so that every backend has its own. Any thread.
//
// Aliasing, for the memory planner: an output of a `Fused` or `FusedMulti` node may be
// given the memory of a full input of its own group with as many bytes, provided that
// input dies with the node and no other input of the node shares its memory: every
// element of a full input is read before the element of an output at its place is
// written. Row, column and scalar outputs and broadcast inputs never alias. Outputs of
// `FusedMatMul`, `FusedConv2D`, `FusedBatchNormEx`, `FusedBatchNormGradEx` and
// `FusedSparseCrossEntropy` alias nothing. Reshape nodes that fusion inserts are views.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "graph/graph.h"

namespace tandem {

/// May a product become `fused`, which is it with its end? `bias`: undefined without one.
using EndAllowed = std::function<bool(const Graph& graph, const Node& product,
                                      const OpDef& fused, AttrsRef attrs, ValueRef bias)>;

/// What the fused kernels of a backend can do, and where fusing stops to pay.
struct FusionTarget {
  /// May this op be an instruction of a fused program?
  std::function<bool(const OpDef& op, AttrsRef attrs, std::span<const DType> inputs,
                     DType output)>
      can_fuse;
  /// May a program reduce with `op` ("Sum", "Max", "All") over elements of `dtype`?
  std::function<bool(std::string_view op, DType dtype)> can_reduce;
  /// Empty: any product may end with its bias and activation.
  EndAllowed end_allowed;
  /// Which normalisations may end with a sum and relu, and which gradients of them may
  /// begin with relu's (`bias` is then its result, if that is read); empty: none.
  EndAllowed norm_end_allowed;
  /// Which cross entropies of `bias`, perhaps in half precision, may scale and cast their
  /// gradient; empty: none.
  EndAllowed loss_allowed;
  /// Each input and output is a stream of memory, each live value a register.
  int32_t max_inputs = 24;
  int32_t max_outputs = 12;
  int32_t max_instructions = 96;
  /// A row is read several times by its reductions: it must stay in a cache.
  int64_t max_row_elements = 1 << 16;
  /// Rows are what threads share: a large domain of fewer rows is reduced unfused.
  int64_t min_rows = 16;
  /// Domains up to this size may have few rows, or be one row.
  int64_t small_domain = 4096;
  /// Groups of one FusedMulti.
  int32_t max_groups = 4096;
  /// Nodes above this size are grouped only where it cannot hold up anything: see
  /// fuse_horizontal.cc.
  int64_t small_group = 1 << 16;
  int32_t many_groups = 8;
};

/// What the host kernels of `Fused` can do.
FusionTarget cpu_fusion_target();

/// One line per decision, for explain().
struct FusionNote {
  std::string node;  // of the new graph
  std::string text;  // "3 ops over float32[64,10] in one pass: Mul, AddV2, Relu"
};
using FusionNotes = std::vector<FusionNote>;

/// All of the passes below in their order; verified after each in debug builds.
Graph fuse(const Graph& graph, const FusionTarget& target, FusionNotes* notes = nullptr);

/// Elementwise ops and reductions that feed each other become `Fused` nodes.
Graph fuse_elementwise(const Graph& graph, const FusionTarget& target,
                       FusionNotes* notes = nullptr);
/// Equal programs over independent inputs become one `FusedMulti` node; after
/// fuse_elementwise.
Graph fuse_horizontal(const Graph& graph, const FusionTarget& target,
                      FusionNotes* notes = nullptr);
/// Bias and activation go into the MatMul or Conv2D before them; before fuse_elementwise.
Graph fuse_epilogue(const Graph& graph, FusionNotes* notes = nullptr,
                    const EndAllowed& allowed = {});

/// A sum and relu go into the FusedBatchNormV3 before them; before fuse_elementwise.
Graph fuse_norm(const Graph& graph, FusionNotes* notes = nullptr,
                const EndAllowed& allowed = {});
/// ReluGrad, perhaps with the sum before it, goes into the FusedBatchNormGradV3 after it;
/// after fuse_norm.
Graph fuse_norm_grad(const Graph& graph, FusionNotes* notes = nullptr,
                     const EndAllowed& allowed = {});

/// The scale of a cross entropy's gradient, and the casts around it, become part of it.
Graph fuse_loss(const Graph& graph, FusionNotes* notes = nullptr,
                const EndAllowed& allowed = {});

/// Ops but reads, assigns and views.
bool launches_kernel(const Node& node);
/// Nodes that launch a kernel, without sub-graphs.
int64_t count_kernels(const Graph& graph);

}  // namespace tandem
