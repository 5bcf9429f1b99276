// Matrix decompositions: Cholesky, QR, SVD, eigenvalues and LU.
#include <fmt/format.h>

#include "ops/linalg_ops.h"
#include "tandem/ops.h"
#include "tandem/ops/array_layout.h"

namespace tandem {

namespace {

void infer_cholesky(InferContext& c) {
  const Square a = check_square(c, 0);
  c.add_output(c.dtype(0), with_matrix(a.batch, a.side, a.side));
}
Cost cost_cholesky(const Signature& s) { return cubic_cost(s, 1.0 / 3); }

void infer_cholesky_grad(InferContext& c) {
  const Square l = check_square(c, 0), g = check_square(c, 1);
  if (!c.shape(0).compatible_with(c.shape(1))) {
    c.fail(fmt::format("the factor has shape {} but its gradient {}. They must be equal.",
                       c.shape(0).debug_str(), c.shape(1).debug_str()));
  }
  const Shape both = c.shape(0).merged_with(c.shape(1));
  const int64_t side = std::max(l.side, g.side);
  c.add_output(c.dtype(0), both.has_rank()
                               ? with_matrix(both.slice(0, both.rank() - 2), side, side)
                               : both);
}
Cost cost_cholesky_grad(const Signature& s) { return cubic_cost(s, 4); }

// Rows, columns and the lesser of both, as far as known.
struct Sides {
  Shape batch = Shape::unknown();
  int64_t rows = kUnknownDim, columns = kUnknownDim, least = kUnknownDim;
};
Sides sides_of(const InferContext& c) {
  check_matrix(c, 0);
  const Shape& a = c.shape(0);
  if (!a.has_rank()) return {};
  Sides s{a.slice(0, a.rank() - 2), a.dim(-2), a.dim(-1), kUnknownDim};
  if (s.rows == 0 || s.columns == 0) {
    s.least = 0;
  } else if (s.rows != kUnknownDim && s.columns != kUnknownDim) {
    s.least = std::min(s.rows, s.columns);
  }
  return s;
}

void infer_qr(InferContext& c) {
  const Sides a = sides_of(c);
  const int64_t q = c.attrs<linalg::QrAttrs>().full_matrices ? a.rows : a.least;
  c.add_output(c.dtype(0), with_matrix(a.batch, a.rows, q));
  c.add_output(c.dtype(0), with_matrix(a.batch, q, a.columns));
}
Cost cost_qr(const Signature& s) { return cubic_cost(s, 4); }

void infer_svd(InferContext& c) {
  const Sides a = sides_of(c);
  const auto& attrs = c.attrs<linalg::SvdAttrs>();
  c.add_output(real_dtype(c.dtype(0)), with_vector(a.batch, a.least));
  if (!attrs.compute_uv) {
    c.add_output(c.dtype(0), {0});
    c.add_output(c.dtype(0), {0});
    return;
  }
  c.add_output(c.dtype(0),
               with_matrix(a.batch, a.rows, attrs.full_matrices ? a.rows : a.least));
  c.add_output(c.dtype(0), with_matrix(a.batch, a.columns,
                                       attrs.full_matrices ? a.columns : a.least));
}
Cost cost_svd(const Signature& s) {
  return cubic_cost(s, s.attrs.as<linalg::SvdAttrs>().compute_uv ? 14 : 4);
}

void infer_eigen(InferContext& c, DType result) {
  const Square a = check_square(c, 0);
  c.add_output(result, with_vector(a.batch, a.side));
  c.add_output(result, c.attrs<linalg::EigAttrs>().compute_v
                           ? with_matrix(a.batch, a.side, a.side)
                           : Shape{0});
}
void infer_eigh(InferContext& c) { infer_eigen(c, c.dtype(0)); }
void infer_eig(InferContext& c) {
  const bool wide = real_dtype(c.dtype(0)) == DType::kFloat64;
  infer_eigen(c, wide ? DType::kComplex128 : DType::kComplex64);
}
Cost cost_eigen(const Signature& s) {
  return cubic_cost(s, s.attrs.as<linalg::EigAttrs>().compute_v ? 9 : 4.0 / 3);
}

void infer_lu(InferContext& c) {
  const DType index = c.attrs<linalg::LuAttrs>().output_idx_type;
  c.require(index == DType::kInt32 || index == DType::kInt64,
            "output_idx_type must be int32 or int64");
  const Square a = check_square(c, 0);
  c.add_output(c.dtype(0), with_matrix(a.batch, a.side, a.side));
  c.add_output(index, with_vector(a.batch, a.side));
}
Cost cost_lu(const Signature& s) { return cubic_cost(s, 2.0 / 3); }

}  // namespace

void register_decomposition_ops(OpTable& table) {
  const std::vector<TypeVar> types = {{'T', kMatrixTypes}};
  table.add({.name = "Cholesky",
             .doc = "Lower triangular factor of positive definite matrices.",
             .types = types,
             .inputs = {{.name = "input"}},
             .infer = infer_cholesky,
             .gradient = grad_cholesky,
             .grad_inputs = 0,
             .cost = cost_cholesky});
  table.add({.name = "CholeskyGrad",
             .doc = "Gradient of Cholesky from the factor and its gradient.",
             .types = types,
             .inputs = {{.name = "l"}, {.name = "grad"}},
             .infer = infer_cholesky_grad,
             .gradient = grad_cholesky_grad,
             .grad_outputs = 0,
             .cost = cost_cholesky_grad});
  table.add({.name = "Qr",
             .doc = "QR decomposition: orthonormal columns times an upper triangle.",
             .types = types,
             .inputs = {{.name = "input"}},
             .outputs = {"q", "r"},
             .attrs = &attrs_type<linalg::QrAttrs>(),
             .infer = infer_qr,
             .gradient = grad_qr,
             .cost = cost_qr});
  table.add({.name = "Svd",
             .doc = "Singular values and vectors of matrices.",
             .types = types,
             .inputs = {{.name = "input"}},
             .outputs = {"s", "u", "v"},
             .attrs = &attrs_type<linalg::SvdAttrs>(),
             .infer = infer_svd,
             .gradient = grad_svd,
             .cost = cost_svd,
             .effects = kMayFail});
  table.add({.name = "SelfAdjointEigV2",
             .doc = "Eigenvalues and eigenvectors of self-adjoint matrices.",
             .types = types,
             .inputs = {{.name = "input"}},
             .outputs = {"e", "v"},
             .attrs = &attrs_type<linalg::EigAttrs>(),
             .infer = infer_eigh,
             .gradient = grad_eigh,
             .cost = cost_eigen,
             .effects = kMayFail});
  table.add({.name = "Eig",
             .doc = "Eigenvalues and eigenvectors of square matrices; complex results.",
             .types = types,
             .inputs = {{.name = "input"}},
             .outputs = {"e", "v"},
             .attrs = &attrs_type<linalg::EigAttrs>(),
             .infer = infer_eig,
             .gradient = grad_eig,
             .cost = cost_eigen,
             .effects = kMayFail});
  table.add({.name = "Lu",
             .doc = "LU decomposition with partial pivoting.",
             .types = types,
             .inputs = {{.name = "input"}},
             .outputs = {"lu", "p"},
             .attrs = &attrs_type<linalg::LuAttrs>(),
             .infer = infer_lu,
             .cost = cost_lu,
             .effects = kMayFail});
}

namespace linalg {

Tensor cholesky(const Tensor& a) {
  static const OpHandle op("Cholesky");
  return emit(op, {a});
}

Tensor cholesky_grad(const Tensor& l, const Tensor& grad) {
  static const OpHandle op("CholeskyGrad");
  return emit(op, {l, grad});
}

Qr qr(const Tensor& a, QrAttrs attrs) {
  static const OpHandle op("Qr");
  auto out = emit_all(op, {a}, attrs);
  return {out[0], out[1]};
}

Svd svd(const Tensor& a, SvdAttrs attrs) {
  static const OpHandle op("Svd");
  auto out = emit_all(op, {a}, attrs);
  if (!attrs.compute_uv) return {out[0], {}, {}};
  return {out[0], out[1], out[2]};
}

Tensor svdvals(const Tensor& a) { return svd(a, {.compute_uv = false}).s; }

Eig eigh(const Tensor& a) {
  static const OpHandle op("SelfAdjointEigV2");
  auto out = emit_all(op, {a}, EigAttrs{});
  return {out[0], out[1]};
}

Tensor eigvalsh(const Tensor& a) {
  static const OpHandle op("SelfAdjointEigV2");
  return emit_all(op, {a}, EigAttrs{.compute_v = false})[0];
}

Eig eig(const Tensor& a) {
  static const OpHandle op("Eig");
  auto out = emit_all(op, {a}, EigAttrs{});
  return {out[0], out[1]};
}

Tensor eigvals(const Tensor& a) {
  static const OpHandle op("Eig");
  return emit_all(op, {a}, EigAttrs{.compute_v = false})[0];
}

Lu lu(const Tensor& a, LuAttrs attrs) {
  static const OpHandle op("Lu");
  auto out = emit_all(op, {a}, attrs);
  return {out[0], out[1]};
}

}  // namespace linalg
}  // namespace tandem
