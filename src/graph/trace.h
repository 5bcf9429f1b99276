// Tracing: an emitter that appends ops to a graph instead of running them. Tensors inside
// are symbolic; tensors from outside are captured: eager ones as constants, those of an
// enclosing trace as parameters of the inner graph. Variables are threaded through as
// states. One thread.
#pragma once

#include <functional>
#include <map>
#include <unordered_map>

#include "graph/graph.h"
#include "op/emitter.h"
#include "tandem/gradient.h"

namespace tandem {

class Tracer final : public Emitter {
 public:
  /// Called for every op, with symbolic inputs and outputs; tapes listen here.
  using Listener = std::function<void(const OpDef&, AttrsRef, std::span<const TensorArg>,
                                      std::span<const Tensor>)>;
  /// `outer`: the trace that a sub-graph is part of; outlives this one.
  Tracer(Graph& graph, Listener listener, Tracer* outer = nullptr);
  ~Tracer() override;

  Graph& graph() { return graph_; }
  const Graph& graph() const { return graph_; }
  Tracer* outer() const { return outer_; }
  const Listener& listener() const { return listener_; }
  /// Expires with this trace; for records that may outlive it.
  std::weak_ptr<const void> lifetime() const { return alive_; }
  /// Whether a symbolic tensor is a value of this graph.
  bool owns(const Tensor& tensor) const;

  /// Eager tensors for which `wanted` is true are captured like values of an outer trace
  /// instead of becoming constants (a tape outside watches them). Inner traces ask their
  /// outer ones too.
  void lift(std::function<bool(const Tensor&)> wanted) { lift_ = std::move(wanted); }
  /// Ops that look only at the shape of a value of an outer trace do not capture it: the
  /// shape is computed there and captured instead. For backward graphs, whose captures
  /// are memory kept from the forward pass.
  void keep_shapes_only() { shapes_only_ = true; }

  /// For the graph of a session, of which parts are taken out and run later: every use of
  /// a variable takes the state that it begins with, and nothing is kept in program
  /// order. graph/extract.h makes the order of what runs.
  void stay_open() { open_ = true; }
  bool open() const { return open_; }
  /// Nothing can be added any more.
  void freeze() { frozen_ = true; }
  bool frozen() const { return frozen_; }
  /// Nodes that those made from now on need, and come after, without using a value of
  /// theirs. Of open graphs.
  void set_controls(std::vector<int32_t> controls) { control_ = std::move(controls); }
  /// What a node was made to come after.
  const std::vector<int32_t>& controls_of(int32_t node) const;
  /// Notes the controls for a node that was just made.
  void note_controls(int32_t node);

  Tensor parameter(DType dtype, const Shape& shape, std::string name);
  /// A symbolic tensor for a value of this graph. States have none.
  Tensor symbolic(ValueRef v);
  /// The graph's value for a tensor of this trace or of an outer one, or a captured
  /// constant. Undefined tensor: absent.
  ValueRef value_of(const Tensor& tensor);

  /// The present state of a variable, and its next one.
  ValueRef state_of(const Tensor& handle);
  void set_state(const Tensor& handle, ValueRef state);

  /// Values of the outer trace that became parameters here, in order of parameters.
  struct Capture {
    Tensor tensor;         // of an outer trace, lifted, or a variable's handle
    int32_t parameter;     // node of this graph
    bool written = false;  // a state that this graph changes
  };
  const std::vector<Capture>& captures() const { return captures_; }

  /// Appends a node with sub-graphs; one that prints or asserts stays in order with what
  /// does so outside. The caller makes the states among its outputs the present ones
  /// (set_state).
  int32_t add_control_flow(Node node);

  /// Gives `outputs`, traced here from `inputs` (tensors, or handles of variables), a
  /// gradient of their own, whoever asks for it: `backward` is traced now, in a trace
  /// nested in this one, from gradients of the outputs to one per input. It may use
  /// anything that was traced before. Returns what stands for the outputs from now on.
  /// Tapes that listen must be hidden meanwhile, and told by the caller.
  using CustomBackward =
      std::function<std::vector<Gradient>(std::span<const Gradient> output_grads)>;
  std::vector<Tensor> with_gradient(std::span<const Tensor> inputs,
                                    std::span<const Tensor> outputs,
                                    const CustomBackward& backward);

  /// Numbers random ops without a seed, as TensorFlow numbers them in each graph.
  int64_t next_random_op() { return random_ops_++; }

  /// Fills final_states() of an outermost graph.
  void finish();

  bool tracing() const override { return true; }
  void emit(const OpDef& op, AttrsRef attrs, std::span<const TensorArg> inputs,
            std::vector<Tensor>& outputs) override;
  Tensor emit_one(const OpDef& op, AttrsRef attrs,
                  std::span<const TensorArg> inputs) override;

 private:
  struct VariableState {
    Tensor handle;
    ValueRef now;
    ValueRef first;
  };
  // Which value a tensor is, however many handles there are: trace and reference, or 0
  // and the tensor's id.
  using ValueKey = std::pair<uint64_t, uint64_t>;
  static ValueKey key_of(const Tensor& tensor);
  ValueRef capture(const Tensor& tensor);
  bool lifts(const Tensor& tensor) const;
  Tracer* owner_outside(const Tensor& tensor);
  bool emit_shape_outside(const OpDef& op, AttrsRef attrs, const Tensor& input,
                          std::vector<Tensor>& outputs);
  Tensor stand_in(const Tensor& tensor);
  void emit_here(const OpDef& op, AttrsRef attrs, std::span<const TensorArg> inputs,
                 std::vector<Tensor>& outputs);
  void annotate(Node& node);

  Graph& graph_;
  const uint64_t trace_;
  Listener listener_;
  Tracer* outer_;
  std::vector<Capture> captures_;
  std::map<ValueKey, int32_t> captured_;              // → node
  std::map<ValueKey, Tensor> stand_ins_;              // same shape, no contents
  std::unordered_map<uint64_t, ValueRef> constants_;  // tensor id → value
  std::function<bool(const Tensor&)> lift_;
  bool shapes_only_ = false;
  std::shared_ptr<const bool> alive_ = std::make_shared<const bool>(true);
  std::vector<VariableState> states_;
  std::unordered_map<uint64_t, size_t> state_index_;  // variable's handle id → states_
  int32_t last_ordered_ = -1;
  bool open_ = false;
  bool frozen_ = false;
  std::vector<int32_t> control_;
  std::unordered_map<int32_t, std::vector<int32_t>> controls_;  // by node
  int64_t random_ops_ = 0;
};

/// Whether the trace with this number still exists: only then may the graph of a symbolic
/// tensor be looked at. Any thread.
bool is_trace_alive(uint64_t trace);

/// The trace of this thread, or null when ops run eagerly.
Tracer* current_tracer();

/// Whether a graph prints, asserts or does anything else that is kept in program order.
bool has_ordered_effects(const Graph& graph);

/// Names of nodes traced while it lives begin with `name` + "/".
class NameScope {
 public:
  explicit NameScope(std::string name);
  NameScope(const NameScope&) = delete;
  NameScope& operator=(const NameScope&) = delete;
  ~NameScope();

 private:
  size_t previous_;
};

/// Asked for every traced node, so that a front can say which line of the user's program
/// it belongs to; until one is set, the C++ program that calls (graph/source_of.h). Null:
/// nobody knows.
using LocationProvider = std::shared_ptr<const SourceLocation> (*)();
void set_location_provider(LocationProvider provider);

}  // namespace tandem
