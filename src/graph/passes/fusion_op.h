// FusionOp: a node as an instruction of a fused program: which op it is there, what it
// reads (through reshapes and broadcasts, which cost nothing inside a kernel), and, for a
// reduction, over which axes. Value types; one thread.
#pragma once

#include <optional>

#include "graph/passes/fusion.h"
#include "graph/passes/fusion_graph.h"
#include "op/fused_program.h"

namespace tandem {

/// One argument of an instruction.
struct FusionOperand {
  ValueRef value;  // what a kernel would read
  ValueRef root;  // the same through views: a member's output where it is computed inside
  Shape shape;    // as the instruction sees it: broadcasts to the node's shape
  int64_t elements = 0;
  /// `value` is broadcast to the node's shape by a node of its own, `whole` its output.
  bool broadcast = false;
  ValueRef whole;
};

/// Which axes a reduction sums up, seen from its input. Axes of size 1 count either way.
struct ReducedAxes {
  enum class Kind : uint8_t { kNone, kTrailing, kLeading, kAll, kOther };
  Kind kind = Kind::kNone;
  /// Trailing axes reduced (kTrailing) or kept (kLeading): any number in this range says
  /// the same.
  int32_t low = 0;
  int32_t high = 0;
};
ReducedAxes reduced_axes(const Shape& shape, std::span<const bool> reduced);

struct FusionOp {
  bool reduction = false;
  std::string name;  // the instruction's op; a sum of n > 2 tensors: n - 1 times "AddV2"
  Attrs attrs;
  DType dtype = DType::kInvalid;
  Shape shape;  // of the node's output
  std::vector<FusionOperand> operands;
  ReducedAxes axes;      // reductions
  int64_t elements = 0;  // that it works on: of the output, or of a reduction's input
};

/// Nothing when the node cannot be an instruction for this target.
std::optional<FusionOp> fusion_op(const FusionGraph& graph, int32_t node,
                                  const FusionTarget& target);

}  // namespace tandem
