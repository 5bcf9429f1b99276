#include <fmt/format.h>

#include "ops/linalg_ops.h"
#include "ops/register.h"
#include "tandem/ops.h"
#include "tandem/ops/array_layout.h"

namespace tandem {

Tensor flatten_rows(const Tensor& x) {
  const int64_t last = x.shape().dim(-1);
  if (last > 0) return reshape(x, Shape{-1, last});
  const Tensor sizes = shape(x);
  const int rank = x.shape().rank();
  return reshape(
      x,
      concat({reduce_prod(slice(sizes, {0}, {rank - 1}), {.axis = {0}, .keepdims = true}),
              slice(sizes, {rank - 1}, {1})},
             {.axis = 0}));
}

Tensor lower_triangle(const Tensor& x) {
  return band_part(x, {.num_lower = -1, .num_upper = 0});
}
Tensor upper_triangle(const Tensor& x) {
  return band_part(x, {.num_lower = 0, .num_upper = -1});
}
Tensor halve_diagonal(const Tensor& x) {
  return matrix_set_diag(x, matrix_diag_part(x) * 0.5);
}
Tensor greater_than(const Tensor& x, const Tensor& y) {
  static const OpHandle op("Greater");
  return emit(op, {x, y});
}

void check_matrix(const InferContext& c, int i) {
  const Shape& s = c.shape(i);
  if (!s.has_rank() || s.rank() >= 2) return;
  c.fail(fmt::format("Input tensor {} must have rank >= 2, got {} (shape {}).", i,
                     s.rank(), s.debug_str()));
}

Square check_square(const InferContext& c, int i) {
  check_matrix(c, i);
  const Shape& s = c.shape(i);
  if (!s.has_rank()) return {Shape::unknown(), kUnknownDim};
  const int64_t rows = s.dim(-2), columns = s.dim(-1);
  if (rows != columns && rows != kUnknownDim && columns != kUnknownDim) {
    c.fail(fmt::format("Input matrix must be square. Its shape is {}.", s.debug_str()));
  }
  return {s.slice(0, s.rank() - 2), std::max(rows, columns)};
}

Shape with_matrix(Shape batch, int64_t rows, int64_t columns) {
  if (!batch.has_rank()) return batch;
  batch.push_back(rows);
  batch.push_back(columns);
  return batch;
}
Shape with_vector(Shape batch, int64_t n) {
  if (batch.has_rank()) batch.push_back(n);
  return batch;
}

Cost cubic_cost(const Signature& s, double factor) {
  const Shape& a = s.in(0).shape;
  const auto least = static_cast<double>(std::min(a.dim(-1), a.dim(-2)));
  const double complex = is_complex(s.in(0).dtype) ? 4 : 1;
  Cost cost = default_cost(s);
  cost.flops = factor * complex * least * static_cast<double>(a.num_elements());
  return cost;
}

namespace linalg {

Tensor adjoint(const Tensor& a) { return matrix_transpose(a, is_complex(a.dtype())); }

Tensor trace(const Tensor& a) { return reduce_sum(matrix_diag_part(a), {.axis = {-1}}); }

Tensor matrix_power(const Tensor& a, int64_t n) {
  Tensor base = n < 0 ? inv(a) : a;
  uint64_t left =
      n < 0 ? uint64_t{0} - static_cast<uint64_t>(n) : static_cast<uint64_t>(n);
  if (left == 0) return matrix_set_diag(zeros_like(a), ones_like(matrix_diag_part(a)));
  Tensor result;
  for (; left > 0; left >>= 1) {
    if (left & 1) result = result.defined() ? matmul(result, base) : base;
    if (left > 1) base = matmul(base, base);
  }
  return result;
}

}  // namespace linalg

void register_linalg_ops(OpTable& table) {
  register_matmul_ops(table);
  register_decomposition_ops(table);
  register_solver_ops(table);
}

}  // namespace tandem
