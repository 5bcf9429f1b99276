// Softmax, LogSoftmax and their gradients over one axis: float32, float64 (float16 and
// bfloat16 through float32). A tensor is [outer, n, inner]; with inner 1 whole rows are
// contiguous.
#include "base/parallel.h"
#include "kernels/cpu/nn_register.h"
#include "kernels/cpu/nn_rows.h"
#include "kernels/cpu/nn_short_rows.h"
#include "kernels/cpu/nn_typed.h"
#include "tandem/ops/nn_loss.h"

namespace tandem::cpu {

namespace {

struct SoftmaxPlan {
  int64_t outer = 1, n = 1, inner = 1;
  bool log = false;
};

SoftmaxPlan prepare_softmax(const Signature& s) {
  const Shape& shape = s.out().shape;
  const int64_t given = s.attrs.as<nn::SoftmaxAttrs>().axis;
  const int axis = static_cast<int>(given < 0 ? given + shape.rank() : given);
  return {.outer = shape.slice(0, axis).num_elements(),
          .n = shape[axis],
          .inner = shape.slice(axis + 1, shape.rank()).num_elements(),
          .log = s.op->name.starts_with("Log")};
}

// Calls row(offset) for contiguous rows, or columns(offset, width) for blocks of columns.
template <class Row, class Columns>
void for_each_line(const SoftmaxPlan& p, Row row, Columns columns) {
  if (p.n == 0 || p.outer == 0 || p.inner == 0) return;
  const int64_t grain = std::max<int64_t>(1, 16384 / p.n);
  if (p.inner == 1) {
    parallel_for(p.outer, grain, [&](int64_t b, int64_t e) {
      for (int64_t i = b; i < e; ++i) row(i * p.n);
    });
    return;
  }
  const int64_t blocks = (p.inner + kColumns - 1) / kColumns;
  const int64_t width = std::min(p.inner, kColumns);
  parallel_for(p.outer * blocks, std::max<int64_t>(1, grain / width),
               [&](int64_t b, int64_t e) {
                 for (int64_t i = b; i < e; ++i) {
                   const int64_t column = i % blocks * kColumns;
                   columns(i / blocks * p.n * p.inner + column,
                           std::min(kColumns, p.inner - column));
                 }
               });
}

template <class T>
void launch_softmax(const SoftmaxPlan& p, const LaunchArgs& a) {
  const RowLoops<T>& loops = best::row_loops<T>();
  const auto row = p.log ? loops.log_softmax : loops.softmax;
  const auto columns = p.log ? loops.log_softmax_columns : loops.softmax_columns;
  const T* x = a.in<T>(0);
  T* y = a.out<T>();
  if (p.inner == 1 && p.n <= kShortRow && p.n > 0) {
    const ShortRowLoops<T>& few = best::short_row_loops<T>();
    const auto rows = p.log ? few.log_softmax : few.softmax;
    parallel_for(p.outer, short_row_grain(p.n), [&](int64_t b, int64_t e) {
      rows(x + b * p.n, y + b * p.n, p.n, e - b);
    });
    return;
  }
  for_each_line(
      p, [&](int64_t at) { row(x + at, y + at, p.n); },
      [&](int64_t at, int64_t width) { columns(x + at, y + at, p.n, p.inner, width); });
}

template <class T>
void launch_softmax_grad(const SoftmaxPlan& p, const LaunchArgs& a) {
  const RowLoops<T>& loops = best::row_loops<T>();
  const auto row = p.log ? loops.log_softmax_grad : loops.softmax_grad;
  const auto columns =
      p.log ? loops.log_softmax_grad_columns : loops.softmax_grad_columns;
  const T *y = a.in<T>(0), *g = a.in<T>(1);
  T* out = a.out<T>();
  for_each_line(
      p, [&](int64_t at) { row(y + at, g + at, out + at, p.n); },
      [&](int64_t at, int64_t width) {
        columns(y + at, g + at, out + at, p.n, p.inner, width);
      });
}

}  // namespace

void register_nn_softmax_kernels(KernelRegistry& registry) {
  for (const char* op : {"Softmax", "LogSoftmax"}) {
    add_float_kernels<prepare_softmax, launch_softmax<float>, launch_softmax<double>>(
        registry, op);
  }
  for (const char* op : {"SoftmaxGrad", "LogSoftmaxGrad"}) {
    add_float_kernels<prepare_softmax, launch_softmax_grad<float>,
                      launch_softmax_grad<double>>(registry, op);
  }
}

}  // namespace tandem::cpu
