// SoftmaxCrossEntropyWithLogits and its form with class numbers: floats; the latter with
// the loss in float32 and a scaled gradient (FusedSparseCrossEntropy): halfs, float32.
// Rows are read once where they can be kept (row_form.h); the gradient is written on the
// way.
#include <fmt/format.h>

#include "kernels/cuda/families.h"
#include "kernels/cuda/row_form.h"
#include "kernels/cuda/softmax.h"
#include "ops/fused_losses.h"

namespace tandem::cuda {

namespace {

struct CrossEntropyPlan {
  std::optional<RowKernel> kept;  // contiguous rows of up to some length
  Function function;              // others
  int64_t rows = 0, classes = 0;
  int64_t element = 4;  // bytes
  // Steps along rows and classes; 0 where they broadcast.
  int64_t x_row = 0, x_step = 0, label_row = 0, label_step = 0;
  int64_t scale_step = 0;
  int wide_labels = 0;  // of 64 bits
  std::shared_ptr<ErrorSite> site;
};

void steps(const Shape& shape, int64_t* row, int64_t* step) {
  const int64_t classes = shape.rank() > 0 ? shape.dim(-1) : 1;
  const int64_t rows = shape.rank() > 1 ? shape[0] : 1;
  *step = classes == 1 ? 0 : 1;
  *row = rows == 1 ? 0 : classes;
}

CrossEntropyPlan plan_cross_entropy(const Signature& s, const Shape& shape, int tensors,
                                    const char* entry) {
  const DType dtype = s.in(0).dtype;
  CrossEntropyPlan p;
  p.rows = shape[0];
  p.classes = shape[1];
  p.element = static_cast<int64_t>(dtype_size(dtype));
  steps(s.in(0).shape, &p.x_row, &p.x_step);
  steps(s.in(1).shape, &p.label_row, &p.label_step);
  const bool dense = tensors == 2;
  const bool apart = p.x_step == 0 || (dense && p.label_step == 0);
  if (!apart || p.classes == 1) {
    p.kept = plan_rows(s, dtype, p.rows, p.classes, tensors, "row_entropy.cuh", entry);
  }
  if (!p.kept) {
    p.function = find_function(s.device, s.op->name, rows_text(dtype), entry);
  }
  return p;
}

CrossEntropyPlan prepare_dense(const Signature& s) {
  return plan_cross_entropy(s, s.out(1).shape, 2, "cross_entropy");
}
void launch_dense(const CrossEntropyPlan& p, const LaunchArgs& a) {
  if (p.rows == 0) return;
  if (p.kept) {
    launch(
        p.kept->function, *a.stream, p.kept->grid, a.inputs[0], a.inputs[1], a.outputs[0],
        a.outputs[1], p.rows, p.classes, p.x_row, p.label_row,
        rows_together(p.classes * p.element, {a.inputs[0], a.inputs[1], a.outputs[1]}));
    return;
  }
  launch(p.function, *a.stream, row_grid(p.rows, p.classes), a.inputs[0], a.inputs[1],
         a.outputs[0], a.outputs[1], p.rows, p.classes, p.x_row, p.x_step, p.label_row,
         p.label_step);
}

CrossEntropyPlan plan_sparse(const Signature& s, const char* entry) {
  CrossEntropyPlan p = plan_cross_entropy(s, s.in(0).shape, 1, entry);
  p.wide_labels = s.in(1).dtype == DType::kInt64;
  p.site = std::make_shared<ErrorSite>([](const Report& r) {
    return fmt::format(
        "SparseSoftmaxCrossEntropyWithLogits: Received a label value of {} which is "
        "outside the valid range of [0, {}) (label {}).",
        r.value, r.extra, r.position);
  });
  return p;
}
Grid sparse_grid(const CrossEntropyPlan& p) {
  return p.kept ? p.kept->grid : chunk_grid(p.rows, p.classes * p.element);
}

CrossEntropyPlan prepare_sparse(const Signature& s) { return plan_sparse(s, "sparse"); }
void launch_sparse(const CrossEntropyPlan& p, const LaunchArgs& a) {
  if (p.rows == 0) return;
  launch(p.kept ? p.kept->function : p.function, *a.stream, sparse_grid(p), a.inputs[0],
         a.inputs[1], a.outputs[0], a.outputs[1], p.rows, p.classes, flags_of(a),
         p.site->id(), p.wide_labels,
         rows_together(p.classes * p.element, {a.inputs[0], a.outputs[1]}));
}

struct FusedSparsePlan {
  CrossEntropyPlan rows;
  bool gradient = true, scaled = false;
};
FusedSparsePlan prepare_fused_sparse(const Signature& s) {
  FusedSparsePlan p{.rows = plan_sparse(s, "fused_sparse")};
  p.gradient = s.attrs.as<FusedSparseCrossEntropyAttrs>().gradient;
  p.scaled = s.inputs.size() > kLossScale && s.in(kLossScale).dtype != DType::kInvalid;
  p.rows.scale_step = p.scaled && s.in(kLossScale).shape.rank() == 1 ? 1 : 0;
  return p;
}
void launch_fused_sparse(const FusedSparsePlan& all, const LaunchArgs& a) {
  const CrossEntropyPlan& p = all.rows;
  if (p.rows == 0) return;
  void* const backprop = all.gradient ? a.outputs[1] : nullptr;
  const void* const scale = all.scaled ? a.inputs[kLossScale] : nullptr;
  launch(p.kept ? p.kept->function : p.function, *a.stream, sparse_grid(p), a.inputs[0],
         a.inputs[1], scale, a.outputs[0], backprop, p.rows, p.classes, p.scale_step,
         flags_of(a), p.site->id(), p.wide_labels,
         rows_together(p.classes * p.element, {a.inputs[0], backprop}));
}

}  // namespace

void register_cross_entropy(Kernels& kernels) {
  kernels.add(make_kernel<prepare_dense, launch_dense>("SoftmaxCrossEntropyWithLogits",
                                                       "cuda.cross_entropy", kFloats));
  kernels.add(make_kernel<prepare_sparse, launch_sparse>(
      "SparseSoftmaxCrossEntropyWithLogits", "cuda.sparse_cross_entropy", kFloats));
  kernels.add(make_kernel<prepare_fused_sparse, launch_fused_sparse>(
      "FusedSparseCrossEntropy", "cuda.fused_sparse_cross_entropy",
      kHalfs | mask(DType::kFloat32)));
}

}  // namespace tandem::cuda
