// Softmax, LogSoftmax and their gradients over one axis: floats. Contiguous rows are read
// once where they can be kept (row_form.h).
#include "kernels/cuda/softmax.h"

#include <fmt/format.h>

#include "kernels/cuda/expression.h"
#include "kernels/cuda/families.h"
#include "kernels/cuda/row_form.h"
#include "tandem/ops/nn_loss.h"

namespace tandem::cuda {

std::string rows_text(DType dtype) {
  return text_prefix(false) + fmt::format("typedef {} T;\n", type_text(dtype)) +
         std::string(device_text("rows.cuh"));
}

namespace {

struct SoftmaxPlan {
  std::optional<RowKernel> kept;  // contiguous rows of up to some length
  Function function;              // others
  int64_t rows = 0, n = 0, inner = 1;
  int64_t element = 4;  // bytes
  int log = 0;
};

SoftmaxPlan plan_softmax(const Signature& s, bool gradient) {
  const Shape& shape = s.out().shape;
  const int64_t given = s.attrs.as<nn::SoftmaxAttrs>().axis;
  const int axis = static_cast<int>(given < 0 ? given + shape.rank() : given);
  const DType dtype = s.out().dtype;
  SoftmaxPlan p;
  p.inner = shape.slice(axis + 1, shape.rank()).num_elements();
  p.n = shape[axis];
  p.rows = shape.slice(0, axis).num_elements() * p.inner;
  p.log = s.op->name.starts_with("Log");
  p.element = static_cast<int64_t>(dtype_size(dtype));
  const char* const entry = gradient ? "softmax_grad" : "softmax";
  if (p.inner == 1) {
    p.kept = plan_rows(s, dtype, p.rows, p.n, gradient ? 2 : 1, "row_softmax.cuh", entry);
  }
  if (p.kept) return p;
  p.function = find_function(s.device, s.op->name, rows_text(dtype),
                             p.inner == 1 && !gradient ? "softmax_rows" : entry);
  return p;
}
SoftmaxPlan prepare_softmax(const Signature& s) { return plan_softmax(s, false); }
SoftmaxPlan prepare_softmax_grad(const Signature& s) { return plan_softmax(s, true); }

void launch_softmax(const SoftmaxPlan& p, const LaunchArgs& a) {
  if (p.rows == 0 || p.n == 0) return;
  const int64_t bytes = p.n * p.element;
  if (p.kept) {
    launch(p.kept->function, *a.stream, p.kept->grid, a.inputs[0], a.outputs[0], p.rows,
           p.n, p.log, rows_together(bytes, {a.inputs[0], a.outputs[0]}));
  } else if (p.inner == 1) {
    launch(p.function, *a.stream, chunk_grid(p.rows, bytes), a.inputs[0], a.outputs[0],
           p.rows, p.n, p.log, rows_together(bytes, {a.inputs[0], a.outputs[0]}));
  } else {
    launch(p.function, *a.stream, row_grid(p.rows, p.n), a.inputs[0], a.outputs[0],
           p.rows, p.n, p.inner, p.log);
  }
}
void launch_softmax_grad(const SoftmaxPlan& p, const LaunchArgs& a) {
  if (p.rows == 0 || p.n == 0) return;
  if (p.kept) {
    launch(p.kept->function, *a.stream, p.kept->grid, a.inputs[0], a.inputs[1],
           a.outputs[0], p.rows, p.n, p.log,
           rows_together(p.n * p.element, {a.inputs[0], a.inputs[1], a.outputs[0]}));
    return;
  }
  launch(p.function, *a.stream, row_grid(p.rows, p.n), a.inputs[0], a.inputs[1],
         a.outputs[0], p.rows, p.n, p.inner, p.log);
}

}  // namespace

void register_softmax(Kernels& kernels) {
  for (const char* op : {"Softmax", "LogSoftmax"}) {
    kernels.add(make_kernel<prepare_softmax, launch_softmax>(
        op, std::string("cuda.") + op, kFloats));
  }
  for (const char* op : {"SoftmaxGrad", "LogSoftmaxGrad"}) {
    kernels.add(make_kernel<prepare_softmax_grad, launch_softmax_grad>(
        op, std::string("cuda.") + op, kFloats));
  }
}

}  // namespace tandem::cuda
