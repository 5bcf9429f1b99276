// Emitting ops: the one door through which every op call goes, eager or traced. Public op
// functions, gradients and the Python dispatcher call emit(); the thread's current
// emitter decides what happens (run the op, or add a node to the graph being traced).
#pragma once

#include <initializer_list>
#include <span>
#include <string_view>
#include <vector>

#include "op/op_def.h"
#include "tandem/tensor.h"

namespace tandem {

/// A tensor borrowed for one call: no reference counting on the way in.
class TensorArg {
 public:
  TensorArg(const Tensor& tensor) : tensor_(&tensor) {}
  const Tensor& get() const { return *tensor_; }
  TensorImpl* impl() const { return tensor_->impl(); }

 private:
  const Tensor* tensor_;
};

/// Inference, placement and preparation run only when a call is seen for the first time;
/// the call key (op, attributes, dtypes, shapes, host values, scope, determinism,
/// threads) decides them all.
class Emitter {
 public:
  virtual ~Emitter() = default;
  /// Fills `outputs` (sized by the emitter for ops with a list of outputs).
  virtual void emit(const OpDef& op, AttrsRef attrs, std::span<const TensorArg> inputs,
                    std::vector<Tensor>& outputs) = 0;
  /// For ops with one output.
  virtual Tensor emit_one(const OpDef& op, AttrsRef attrs,
                          std::span<const TensorArg> inputs) = 0;
  /// Ops become nodes of a graph: nothing that a call returns has contents yet.
  virtual bool tracing() const { return false; }
};

/// The emitter of this thread: a tracer while one is active, else the eager one.
Emitter& current_emitter();
/// Set once by the run layer.
void set_eager_emitter(Emitter* emitter);

/// Replaces the thread's emitter while it lives (tracing). Null: back to eager
/// (init_scope).
class EmitterScope {
 public:
  explicit EmitterScope(Emitter* emitter);
  EmitterScope(const EmitterScope&) = delete;
  EmitterScope& operator=(const EmitterScope&) = delete;
  ~EmitterScope();

 private:
  Emitter* previous_;
};

/// The attributes of an op when nobody gives any.
inline AttrsRef default_attrs(const OpDef& op) {
  return op.attrs ? AttrsRef{op.attrs->defaults, op.attrs} : AttrsRef{};
}

/// Runs (or traces) an op with one output.
template <class A>
Tensor emit(const OpDef& op, std::initializer_list<TensorArg> inputs, const A& attrs) {
  return current_emitter().emit_one(op, attrs_ref(attrs),
                                    {inputs.begin(), inputs.size()});
}
inline Tensor emit(const OpDef& op, std::initializer_list<TensorArg> inputs) {
  return current_emitter().emit_one(op, default_attrs(op),
                                    {inputs.begin(), inputs.size()});
}
/// The same with all outputs.
template <class A>
std::vector<Tensor> emit_all(const OpDef& op, std::initializer_list<TensorArg> inputs,
                             const A& attrs) {
  std::vector<Tensor> outputs;
  current_emitter().emit(op, attrs_ref(attrs), {inputs.begin(), inputs.size()}, outputs);
  return outputs;
}
inline std::vector<Tensor> emit_all(const OpDef& op,
                                    std::initializer_list<TensorArg> inputs) {
  std::vector<Tensor> outputs;
  current_emitter().emit(op, default_attrs(op), {inputs.begin(), inputs.size()}, outputs);
  return outputs;
}
/// The same for a list of inputs (concat, stack).
template <class A>
std::vector<Tensor> emit_list(const OpDef& op, std::span<const Tensor> inputs,
                              const A& attrs) {
  const std::vector<TensorArg> args(inputs.begin(), inputs.end());
  std::vector<Tensor> outputs;
  current_emitter().emit(op, attrs_ref(attrs), args, outputs);
  return outputs;
}

/// A handle to an op by name, looked up once: `static const OpHandle op("AddV2");`
class OpHandle {
 public:
  explicit OpHandle(std::string_view name) : def_(&OpTable::get().at(name)) {}
  operator const OpDef&() const { return *def_; }

 private:
  const OpDef* def_;
};

}  // namespace tandem
