#include "graph/trace.h"

namespace tandem {

Tensor TraceEmitter::symbolic(ValueRef v) {
  auto value = make_ref<GraphValue>();
  value->graph = &graph_;
  value->ref = v;
  const TensorInfo& info = graph_.info(v);
  return make_symbolic(info.dtype, info.shape, value);
}

Tensor TraceEmitter::parameter(DType dtype, const Shape& shape, std::string name) {
  return symbolic(graph_.add_parameter(dtype, shape, std::move(name)));
}

ValueRef TraceEmitter::value_of(const Tensor& tensor) {
  if (!tensor.defined()) return {};
  if (!tensor.impl()->symbolic) return graph_.add_constant(tensor);
  const auto* value = static_cast<const GraphValue*>(tensor.impl()->symbolic.get());
  if (value->graph != &graph_) {
    throw InvalidArgumentError(
        "A tensor of another function is used here. Pass it as an argument, or return "
        "it.");
  }
  return value->ref;
}

void TraceEmitter::emit(const OpDef& op, AttrsRef attrs,
                        std::span<const TensorArg> inputs, std::vector<Tensor>& outputs) {
  std::vector<ValueRef> refs;
  for (const TensorArg& t : inputs) refs.push_back(value_of(t.get()));
  const int32_t node = graph_.add_op(op, attrs, std::move(refs));
  std::vector<Tensor> made;
  for (size_t i = 0; i < graph_.node(node).outputs.size(); ++i) {
    made.push_back(symbolic({node, static_cast<int32_t>(i)}));
  }
  if (listener_) listener_(op, graph_.node(node).attrs.ref(), inputs, made);
  outputs = std::move(made);
}

Tensor TraceEmitter::emit_one(const OpDef& op, AttrsRef attrs,
                              std::span<const TensorArg> inputs) {
  std::vector<Tensor> outputs;
  emit(op, attrs, inputs, outputs);
  return outputs.empty() ? Tensor() : outputs[0];
}

}  // namespace tandem
