// Graph: a function in SSA form, as tracing records it and as passes rewrite it. Nodes
// stand in topological order and name their inputs by (node, output). A variable is a
// chain of state values: who reads takes the state, who writes takes it and gives the
// next one, so that variables order nothing but themselves (design, decision 15).
// Structured control flow is a node with sub-graphs, which see nothing but their
// parameters. Grown by one thread; shared as `std::shared_ptr<const Graph>` afterwards.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "op/op_def.h"
#include "tandem/tensor.h"
#include "tensor/tensor_impl.h"

namespace tandem {

class Graph;
using GraphPtr = std::shared_ptr<const Graph>;

/// Output `output` of node `node`; node -1: absent optional input.
struct ValueRef {
  int32_t node = -1;
  int32_t output = 0;
  bool defined() const { return node >= 0; }
  friend bool operator==(const ValueRef&, const ValueRef&) = default;
};

/// What is known about a value. Tensor lists and optionals have dtype kVariant.
struct ValueInfo : TensorInfo {
  /// The value is a variable's state: dtype and shape are those of its contents.
  bool state = false;
  /// Names of the dimensions, one per dimension, "" for none; empty: none has one. Equal
  /// names are equal sizes (graph/dim_names.h).
  std::vector<std::string> dims = {};
};

struct CustomGradient;  // graph/custom_gradient.h

/// Where in the user's program a node comes from; empty file: not known.
struct SourceLocation {
  std::string file;
  int line = 0;
  std::string function;
};

struct Node {
  enum class Kind : uint8_t {
    kParameter,
    kConstant,  // a captured tensor
    kVariable,  // the state of a captured variable when the function begins
    kOp,
    kCopy,  // input 0 on the device that `device` names; made by the plan
    kIf,    // inputs: predicate, operands; subgraphs: then, else
    kCase,  // inputs: index, operands; subgraphs: one per branch, the last is the default
    kWhile,  // inputs: carried, invariants; subgraphs: condition, body (→ carried)
    kCall,   // inputs: operands; subgraphs: body
  };
  Kind kind = Kind::kOp;
  const OpDef* op = nullptr;       // kOp
  Attrs attrs;                     // kOp
  std::vector<ValueRef> inputs;    // ops that use a variable take its state
  std::vector<ValueInfo> outputs;  // an op that writes a variable: its next state, last
  /// Nodes without a common value that must come first (prints, asserts).
  std::vector<int32_t> after;
  /// kConstant: the tensor. kVariable and parameters that are states: the handle.
  Tensor constant;
  /// kConstant: what infos point to when the tensor is small and not on the host.
  Tensor host_copy;
  /// Every sub-graph has one parameter per operand, in order.
  std::vector<GraphPtr> subgraphs;
  /// kCall: a gradient that takes the place of the body's.
  std::shared_ptr<const CustomGradient> gradient;
  int32_t carried = 0;          // kWhile: inputs that change from turn to turn
  int64_t max_iterations = -1;  // kWhile: -1: no limit
  std::string name;             // unique in the graph
  std::string device;           // what the scopes say: "/device:GPU:0"; empty: nothing
  std::shared_ptr<const SourceLocation> location;

  /// Equal in every process for the same program.
  uint64_t id() const;
  bool is_op(std::string_view op_name) const { return op && op->name == op_name; }
  bool has_subgraphs() const { return !subgraphs.empty(); }
};

class Graph {
 public:
  explicit Graph(std::string name = "function") : name_(std::move(name)) {}
  const std::string& name() const { return name_; }

  // ---- Growing
  ValueRef add_parameter(DType dtype, const Shape& shape, std::string name);
  /// A parameter that is the state of a variable (in sub-graphs).
  ValueRef add_state_parameter(const Tensor& handle);
  ValueRef add_constant(const Tensor& value, std::string name = "Const");
  ValueRef add_variable(const Tensor& handle);
  /// Checks dtypes, infers outputs and appends; returns the node's index.
  int32_t add_op(const OpDef& op, AttrsRef attrs, std::vector<ValueRef> inputs,
                 std::string name = {});
  /// Appends a finished node; the name is made unique, inputs must exist.
  int32_t add_node(Node node);
  /// A copy of a node (of this or another graph) with other inputs; infers nothing.
  int32_t add_copy(const Node& like, std::vector<ValueRef> inputs);
  /// Gives a node, which was added last under its name, another one, made unique.
  void rename(int32_t i, std::string name);

  // ---- Reading
  const std::vector<Node>& nodes() const { return nodes_; }
  int32_t size() const { return static_cast<int32_t>(nodes_.size()); }
  const Node& node(int32_t i) const { return nodes_[static_cast<size_t>(i)]; }
  Node& node(int32_t i) { return nodes_[static_cast<size_t>(i)]; }
  const ValueInfo& info(ValueRef v) const {
    return node(v.node).outputs[static_cast<size_t>(v.output)];
  }
  ValueInfo& info(ValueRef v) {
    return node(v.node).outputs[static_cast<size_t>(v.output)];
  }
  const std::vector<int32_t>& parameters() const { return parameters_; }

  /// What the function returns. In a sub-graph an absent result stands for a value that
  /// this branch does not make and whose contents nobody reads when it ran. Absence
  /// spreads: an op with an absent input that is not optional has absent outputs.
  std::vector<ValueRef>& results() { return results_; }
  const std::vector<ValueRef>& results() const { return results_; }
  /// The last state of each variable that is written (not in sub-graphs, where states are
  /// results).
  std::vector<ValueRef>& final_states() { return final_states_; }
  const std::vector<ValueRef>& final_states() const { return final_states_; }

  /// Nodes, without those of sub-graphs / with them.
  int64_t count(bool nested) const;
  /// One line per node: "%3 = MatMul(%0, %2) transpose_b=True : float32[?,10]  # name".
  std::string dump() const;
  /// Graphviz: nodes coloured by device, states dashed, sub-graphs as clusters.
  std::string dot() const;

 private:
  int32_t append(Node node);
  std::string unique(std::string name);
  std::string name_;
  std::vector<Node> nodes_;
  std::vector<int32_t> parameters_;
  std::vector<ValueRef> results_;
  std::vector<ValueRef> final_states_;
  std::unordered_map<std::string, int> names_;
};

/// Infers the outputs of an op from what is known about its inputs; states come last.
std::vector<ValueInfo> infer_outputs(const OpDef& op, AttrsRef attrs,
                                     std::span<const ValueInfo> inputs);
/// What is known about a constant: contents of small ones. Where those are not on the
/// host, `host_copy` holds them.
ValueInfo constant_info(const Tensor& value, Tensor& host_copy);

/// What a symbolic tensor refers to. The graph outlives the trace, not the tensor.
struct GraphValue final : SymbolicValue {
  Graph* graph = nullptr;
  uint64_t trace = 0;  // distinguishes graphs at the same address
  ValueRef ref;
};

}  // namespace tandem
