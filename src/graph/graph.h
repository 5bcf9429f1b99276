// Graph: ops in SSA form, as tracing records them. Nodes are kept in topological order
// and name their inputs by (node, output). Owned by whoever traced it; not shared between
// threads while it grows.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "op/op_def.h"
#include "tandem/tensor.h"
#include "tensor/tensor_impl.h"

namespace tandem {

/// Output `output` of node `node`.
struct ValueRef {
  int32_t node = -1;
  int32_t output = 0;
  friend bool operator==(const ValueRef&, const ValueRef&) = default;
};

struct Node {
  enum class Kind : uint8_t { kParameter, kConstant, kOp };
  Kind kind = Kind::kOp;
  const OpDef* op = nullptr;        // kOp
  Attrs attrs;                      // kOp
  std::vector<ValueRef> inputs;     // node -1: absent optional input
  std::vector<TensorInfo> outputs;  // what inference knows
  Tensor constant;                  // kConstant: captured tensor or variable handle
  std::string name;
};

class Graph {
 public:
  ValueRef add_parameter(DType dtype, const Shape& shape, std::string name);
  ValueRef add_constant(const Tensor& value);
  /// Checks dtypes, infers outputs and appends; returns the node's index.
  int32_t add_op(const OpDef& op, AttrsRef attrs, std::vector<ValueRef> inputs);

  const std::vector<Node>& nodes() const { return nodes_; }
  const Node& node(int32_t i) const { return nodes_[static_cast<size_t>(i)]; }
  const TensorInfo& info(ValueRef v) const {
    return node(v.node).outputs[static_cast<size_t>(v.output)];
  }
  const std::vector<int32_t>& parameters() const { return parameters_; }
  std::vector<ValueRef>& results() { return results_; }
  const std::vector<ValueRef>& results() const { return results_; }

  /// One line per node: "%3 = MatMul(%0, %2) transpose_b=True : float32[?,10]".
  std::string dump() const;

 private:
  std::vector<Node> nodes_;
  std::vector<int32_t> parameters_;
  std::vector<ValueRef> results_;
};

/// What a symbolic tensor refers to.
struct GraphValue final : SymbolicValue {
  Graph* graph = nullptr;
  ValueRef ref;
};

}  // namespace tandem
