// Linear systems, inverses, determinants, least squares.
#include <limits>

#include <fmt/format.h>

#include "ops/linalg_ops.h"
#include "tandem/ops.h"
#include "tandem/ops/array_layout.h"

namespace tandem {

namespace {

void infer_solve(InferContext& c) {
  const Square a = check_square(c, 0);
  check_matrix(c, 1);
  const Shape& b = c.shape(1);
  if (!c.shape(0).has_rank() || !b.has_rank()) {
    c.add_output(c.dtype(0), b);
    return;
  }
  const auto both = [&] {
    return fmt::format(" (matrix {}, rhs {})", c.shape(0).debug_str(), b.debug_str());
  };
  c.require(c.shape(0).rank() == b.rank(),
            "All input tensors must have the same rank." + both());
  const Shape b_batch = b.slice(0, b.rank() - 2);
  c.require(a.batch.compatible_with(b_batch),
            "All input tensors must have the same outer dimensions." + both());
  c.require(a.side == kUnknownDim || b.dim(-2) == kUnknownDim || a.side == b.dim(-2),
            "Input matrix and rhs are incompatible." + both());
  c.add_output(c.dtype(0), with_matrix(a.batch.merged_with(b_batch),
                                       std::max(a.side, b.dim(-2)), b.dim(-1)));
}

void grad_solve(GradContext& c) {
  const bool adjoint = c.attrs<linalg::AdjointAttrs>().adjoint;
  const Tensor &a = c.input(0), &x = c.output(0);
  const Tensor db = linalg::solve(a, c.grad(), {.adjoint = !adjoint});
  if (c.needs(0)) {
    c.set(0, negative(adjoint ? matmul(x, db, {.adjoint_b = true})
                              : matmul(db, x, {.adjoint_b = true})));
  }
  c.set(1, db);
}

void infer_triangular(InferContext& c) {
  const Square a = check_square(c, 0);
  check_matrix(c, 1);
  const Shape& b = c.shape(1);
  if (!c.shape(0).has_rank() || !b.has_rank()) {
    c.add_output(c.dtype(0), Shape::unknown());
    return;
  }
  if (a.side != kUnknownDim && b.dim(-2) != kUnknownDim && a.side != b.dim(-2)) {
    c.fail(fmt::format("In[0] mismatch In[1] shape: {} vs. {}: {} {}", a.side, b.dim(-2),
                       c.shape(0).debug_str(), b.debug_str()));
  }
  Shape batch;
  if (!broadcast_shapes(a.batch, b.slice(0, b.rank() - 2), &batch)) {
    c.fail(fmt::format("In[0] and In[1] must have compatible batch dimensions: {} vs. {}",
                       c.shape(0).debug_str(), b.debug_str()));
  }
  c.add_output(c.dtype(0), with_matrix(batch, std::max(a.side, b.dim(-2)), b.dim(-1)));
}

void grad_triangular(GradContext& c) {
  const auto& attrs = c.attrs<linalg::TriangularSolveAttrs>();
  const Tensor &a = c.input(0), &b = c.input(1), &x = c.output(0);
  const Tensor db = linalg::triangular_solve(
      a, c.grad(), {.lower = attrs.lower, .adjoint = !attrs.adjoint});
  if (c.needs(0)) {
    const Tensor da = negative(attrs.adjoint ? matmul(x, db, {.adjoint_b = true})
                                             : matmul(db, x, {.adjoint_b = true}));
    c.set(0, sum_like(attrs.lower ? lower_triangle(da) : upper_triangle(da), a));
  }
  c.set(1, sum_like(db, b));
}

void infer_inverse(InferContext& c) {
  const Square a = check_square(c, 0);
  c.add_output(c.dtype(0), with_matrix(a.batch, a.side, a.side));
}
void grad_inverse(GradContext& c) {
  const bool adjoint = c.attrs<linalg::AdjointAttrs>().adjoint;
  const Tensor& x = c.output(0);
  const Tensor right = matmul(c.grad(), x, {.adjoint_a = adjoint, .adjoint_b = !adjoint});
  c.set(0, negative(matmul(x, right, {.adjoint_a = !adjoint})));
}

void infer_determinant(InferContext& c) {
  c.add_output(c.dtype(0), check_square(c, 0).batch);
}
void infer_log_determinant(InferContext& c) {
  const Square a = check_square(c, 0);
  c.add_output(c.dtype(0), a.batch);
  c.add_output(c.dtype(0), a.batch);
}

Tensor as_matrices(const Tensor& x) { return expand_dims(expand_dims(x, -1), -1); }

void grad_determinant(GradContext& c) {
  const Tensor factor = multiply(c.grad(), conj(c.output(0)));
  c.set(0, as_matrices(factor) * linalg::inv(c.input(0), {.adjoint = true}));
}
// The sign is constant but for jumps.
void grad_log_determinant(GradContext& c) {
  c.set(0, as_matrices(c.grad(1)) * linalg::inv(c.input(0), {.adjoint = true}));
}

Cost cost_solve(const Signature& s) {
  Cost cost = cubic_cost(s, 2.0 / 3);
  const auto n = static_cast<double>(s.in(0).shape.dim(-1));
  cost.flops += 2 * n * static_cast<double>(s.out().shape.num_elements());
  return cost;
}
Cost cost_triangular(const Signature& s) {
  Cost cost = default_cost(s);
  cost.flops = static_cast<double>(s.in(0).shape.dim(-1)) *
               static_cast<double>(s.out().shape.num_elements());
  return cost;
}
Cost cost_inverse(const Signature& s) { return cubic_cost(s, 2); }
Cost cost_determinant(const Signature& s) { return cubic_cost(s, 2.0 / 3); }

double epsilon(DType dtype) {
  return real_dtype(dtype) == DType::kFloat64 ? std::numeric_limits<double>::epsilon()
                                              : std::numeric_limits<float>::epsilon();
}

// Sides of the matrices of a function that cannot do without them.
std::pair<int64_t, int64_t> known_sides(const char* who, const Tensor& a) {
  const Shape& s = a.shape();
  if (!s.has_rank() || s.rank() < 2 || s.dim(-1) < 0 || s.dim(-2) < 0) {
    throw InvalidArgumentError(fmt::format(
        "{}: needs matrices of known size, but the shape is {}.", who, s.debug_str()));
  }
  return {s.dim(-2), s.dim(-1)};
}

}  // namespace

void register_solver_ops(OpTable& table) {
  const std::vector<TypeVar> types = {{'T', kMatrixTypes}};
  table.add({.name = "MatrixSolve",
             .doc = "Solves systems of linear equations.",
             .types = types,
             .inputs = {{.name = "matrix"}, {.name = "rhs"}},
             .attrs = &attrs_type<linalg::AdjointAttrs>(),
             .infer = infer_solve,
             .gradient = grad_solve,
             .grad_inputs = 1,
             .cost = cost_solve,
             .effects = kMayFail});
  table.add({.name = "MatrixTriangularSolve",
             .doc = "Solves systems with triangular matrices; batches broadcast.",
             .types = types,
             .inputs = {{.name = "matrix"}, {.name = "rhs"}},
             .attrs = &attrs_type<linalg::TriangularSolveAttrs>(),
             .infer = infer_triangular,
             .gradient = grad_triangular,
             .grad_inputs = 1,
             .cost = cost_triangular});
  table.add({.name = "MatrixInverse",
             .doc = "Inverse of square matrices.",
             .types = types,
             .inputs = {{.name = "input"}},
             .attrs = &attrs_type<linalg::AdjointAttrs>(),
             .infer = infer_inverse,
             .gradient = grad_inverse,
             .grad_inputs = 0,
             .cost = cost_inverse,
             .effects = kMayFail});
  table.add({.name = "MatrixDeterminant",
             .doc = "Determinant of square matrices.",
             .types = types,
             .inputs = {{.name = "input"}},
             .infer = infer_determinant,
             .gradient = grad_determinant,
             .cost = cost_determinant});
  table.add({.name = "LogMatrixDeterminant",
             .doc = "Sign and logarithm of the absolute value of determinants.",
             .types = types,
             .inputs = {{.name = "input"}},
             .outputs = {"sign", "log_abs_determinant"},
             .infer = infer_log_determinant,
             .gradient = grad_log_determinant,
             .grad_outputs = 0,
             .cost = cost_determinant});
}

namespace linalg {

Tensor solve(const Tensor& a, const Tensor& rhs, AdjointAttrs attrs) {
  static const OpHandle op("MatrixSolve");
  return emit(op, {a, rhs}, attrs);
}

Tensor triangular_solve(const Tensor& a, const Tensor& rhs, TriangularSolveAttrs attrs) {
  static const OpHandle op("MatrixTriangularSolve");
  return emit(op, {a, rhs}, attrs);
}

Tensor cholesky_solve(const Tensor& chol, const Tensor& rhs) {
  return triangular_solve(chol, triangular_solve(chol, rhs), {.adjoint = true});
}

Tensor inv(const Tensor& a, AdjointAttrs attrs) {
  static const OpHandle op("MatrixInverse");
  return emit(op, {a}, attrs);
}

Tensor det(const Tensor& a) {
  static const OpHandle op("MatrixDeterminant");
  return emit(op, {a});
}

SLogDet slogdet(const Tensor& a) {
  static const OpHandle op("LogMatrixDeterminant");
  auto out = emit_all(op, {a});
  return {out[0], out[1]};
}

Tensor logdet(const Tensor& a) {
  const Tensor diagonal = matrix_diag_part(cholesky(a));
  return reduce_sum(log(cast(diagonal, real_dtype(a.dtype()))), {.axis = {-1}}) * 2;
}

Tensor lstsq(const Tensor& a, const Tensor& rhs, double l2_regularizer) {
  const auto [rows, columns_of_a] = known_sides("lstsq", a);
  const bool tall = rows >= columns_of_a;
  Tensor gram =
      tall ? matmul(a, a, {.adjoint_a = true}) : matmul(a, a, {.adjoint_b = true});
  if (l2_regularizer != 0) {
    gram = matrix_set_diag(gram, matrix_diag_part(gram) + l2_regularizer);
  }
  const Tensor chol = cholesky(gram);
  if (tall) return cholesky_solve(chol, matmul(a, rhs, {.adjoint_a = true}));
  return matmul(a, cholesky_solve(chol, rhs), {.adjoint_a = true});
}

namespace {

/// Rows or columns of the matrices, whichever are more; known when traced or when run.
Tensor longer_side(const Tensor& a, DType dtype) {
  const Shape& s = a.shape();
  if (s.has_rank() && s.rank() >= 2 && s.dim(-1) >= 0 && s.dim(-2) >= 0) {
    return scalar(static_cast<double>(std::max(s.dim(-1), s.dim(-2))), dtype);
  }
  const Tensor sides =
      strided_slice(tandem::shape(a), Ints{-2}, Ints{2147483647}, Ints{1});
  return cast(reduce_max(sides, {}), dtype);
}

}  // namespace

Tensor pinv(const Tensor& a, std::optional<double> rcond) {
  const Svd d = svd(a);
  const Tensor limit = rcond ? scalar(*rcond, d.s.dtype())
                             : longer_side(a, d.s.dtype()) * (10.0 * epsilon(a.dtype()));
  const Tensor cutoff = reduce_max(d.s, {.axis = {-1}, .keepdims = true}) * limit;
  const Tensor none = scalar(std::numeric_limits<double>::infinity(), d.s.dtype());
  const Tensor s = where(greater_than(d.s, cutoff), d.s, none);
  const Tensor scaled = d.v / cast(expand_dims(s, -2), a.dtype());
  return matmul(scaled, d.u, {.adjoint_b = true});
}

Tensor matrix_rank(const Tensor& a, std::optional<double> tol) {
  const Tensor s = svdvals(a);
  const Tensor limit = tol ? scalar(*tol, s.dtype())
                           : reduce_max(s, {.axis = {-1}, .keepdims = true}) *
                                 (longer_side(a, s.dtype()) * epsilon(a.dtype()));
  return reduce_sum(cast(greater_than(s, limit), DType::kInt32), {.axis = {-1}});
}

}  // namespace linalg
}  // namespace tandem
