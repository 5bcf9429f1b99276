// Tracing: an emitter that appends ops to a graph instead of running them. Tensors inside
// are symbolic; tensors from outside are captured as constants. One thread.
#pragma once

#include <functional>

#include "graph/graph.h"
#include "op/emitter.h"

namespace tandem {

class TraceEmitter final : public Emitter {
 public:
  /// Called for every op, with symbolic inputs and outputs; tapes listen here.
  using Listener = std::function<void(const OpDef&, AttrsRef, std::span<const TensorArg>,
                                      std::span<const Tensor>)>;
  TraceEmitter(Graph& graph, Listener listener)
      : graph_(graph), listener_(std::move(listener)) {}

  Tensor parameter(DType dtype, const Shape& shape, std::string name);
  /// The graph's value for a tensor of this trace, or a captured constant.
  ValueRef value_of(const Tensor& tensor);

  void emit(const OpDef& op, AttrsRef attrs, std::span<const TensorArg> inputs,
            std::vector<Tensor>& outputs) override;
  Tensor emit_one(const OpDef& op, AttrsRef attrs,
                  std::span<const TensorArg> inputs) override;

 private:
  Tensor symbolic(ValueRef v);
  Graph& graph_;
  Listener listener_;
};

}  // namespace tandem
