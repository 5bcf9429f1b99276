// FusionLayout: decides whether a set of nodes can be one fused program, and how: the
// domain they run over, the form of each value, what is read and what is written. Every
// rule about shapes is here; the passes only choose sets. One thread.
#pragma once

#include <optional>

#include "graph/passes/fusion_op.h"

namespace tandem {

/// A program and how it is tied to the old graph.
struct FusionLayout {
  enum class Form : uint8_t { kFull, kRow, kColumn, kScalar };
  struct Input {
    ValueRef value;
    Shape shape;  // that the program sees; a view of the value's where it differs
  };
  struct Output {
    int32_t node;  // of the old graph
    Shape shape;   // as the program gives it
  };
  Shape domain;
  int32_t row_axes = 0;
  std::vector<Input> inputs;
  /// Of all members in turn: inputs from 0 up, members from -1 down.
  std::vector<int32_t> arguments;
  std::vector<Form> forms;  // by member
  std::vector<Output> outputs;
};

class FusionPlanner {
 public:
  FusionPlanner(const FusionGraph& graph, const FusionTarget& target);

  const FusionGraph& graph() const { return graph_; }
  const FusionTarget& target() const { return target_; }
  /// The node as an instruction, or null.
  const FusionOp* op(int32_t node) const {
    const auto& o = ops_[static_cast<size_t>(node)];
    return o ? &*o : nullptr;
  }

  /// Nothing when the nodes (ascending) cannot be one program.
  std::optional<FusionLayout> layout(std::span<const int32_t> members);
  FusedProgram program(std::span<const int32_t> members,
                       const FusionLayout& layout) const;

 private:
  struct Frame;  // what is being found out about one set
  bool find_domain(Frame& f) const;
  bool find_rows(Frame& f) const;
  bool place_member(Frame& f, size_t m) const;
  bool place_operands(Frame& f, size_t m, bool whole) const;
  bool find_outputs(Frame& f) const;
  /// The place of a value's node among the members; -1: none of them.
  int32_t member_of(ValueRef v) const;
  bool used_outside(ValueRef v) const;

  const FusionGraph& graph_;
  const FusionTarget& target_;
  std::vector<std::optional<FusionOp>> ops_;
  std::vector<int32_t> slot_;  // node → its place among the members, or -1
};

}  // namespace tandem
