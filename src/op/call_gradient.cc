#include "op/call_gradient.h"

#include "op/emitter.h"
#include "op/op_def.h"

namespace tandem {

Gradient add_gradients(const Gradient& a, const Gradient& b) {
  if (!a.defined()) return b;
  if (!b.defined()) return a;
  if (a.is_slices() && b.is_slices()) {
    static const OpHandle merge("IndexedSlicesConcat");
    const std::vector<Tensor> out = emit_all(
        merge,
        {a.slices().values, a.slices().indices, b.slices().values, b.slices().indices});
    return IndexedSlices{out[0], out[1], a.slices().dense_shape};
  }
  if (a.dense().dtype() == DType::kVariant) {
    static const OpHandle add_lists("TensorListAdd");
    return emit(add_lists, {a.dense(), b.dense()});
  }
  static const OpHandle add("AddV2");
  return emit(add, {a.dense(), b.dense()});
}

std::vector<Gradient> call_gradient(const OpDef& op, AttrsRef attrs,
                                    std::span<const Tensor> inputs,
                                    std::span<const Tensor> outputs,
                                    std::span<const Gradient> output_grads,
                                    std::span<const bool> needs) {
  if (!op.gradient) {
    throw NotFoundError("No gradient defined for operation '" + op.name + "' (op type: " +
                        op.name + "). Use stop_gradient where none is wanted.");
  }
  GradContext context(op, attrs, inputs, outputs, output_grads, needs);
  op.gradient(context);
  return std::move(context.results());
}

}  // namespace tandem
