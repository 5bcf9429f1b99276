#include "op/grad.h"

#include "op/emitter.h"
#include "tandem/ops/attrs.h"

namespace tandem {

namespace {
Tensor shape_tensor(const Tensor& t, DType dtype) {
  static const OpHandle shape("Shape");
  return emit(shape, {t}, ShapeAttrs{dtype});
}
}  // namespace

Tensor GradContext::grad(int i) const {
  const Gradient& g = grads_[static_cast<size_t>(i)];
  if (g.defined()) return g.dense();
  static const OpHandle zeros_like("ZerosLike");
  return emit(zeros_like, {outputs_[static_cast<size_t>(i)]});
}

Tensor GradContext::shape_of_input(int i, DType dtype) const {
  return shape_tensor(input(i), dtype);
}
Tensor GradContext::shape_of_output(int i, DType dtype) const {
  return shape_tensor(output(i), dtype);
}
Tensor GradContext::size_of_input(int i, DType dtype) const {
  static const OpHandle size("Size"), cast("Cast");
  const Tensor n = emit(size, {input(i)}, ShapeAttrs{DType::kInt64});
  return emit(cast, {n}, CastAttrs{dtype});
}

Tensor Gradient::dense() const {
  if (!slices_) return dense_;
  static const OpHandle slices_to_dense("IndexedSlicesToDense");
  return emit(slices_to_dense, {slices_->values, slices_->indices, slices_->dense_shape});
}

}  // namespace tandem
