// Linear algebra: products, contractions, decompositions, solvers and norms. Matrices are
// the last two dimensions; everything before them is a batch.
#pragma once

#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "tandem/gradient.h"
#include "tandem/ops/attrs.h"
#include "tandem/tensor.h"

namespace tandem {

// ---- Products
// ---------------------------------------------------------------------------

/// How the operands of a product are turned before it. Adjoint: transposed and
/// conjugated. An operand may have one of the two.
struct MatMulAttrs {
  bool transpose_a = false;
  bool transpose_b = false;
  bool adjoint_a = false;
  bool adjoint_b = false;
  TANDEM_ATTRS(MatMulAttrs, transpose_a, transpose_b, adjoint_a, adjoint_b)
};
/// Matrix product over the last two dimensions; leading ones broadcast.
Tensor matmul(const Tensor& a, const Tensor& b, MatMulAttrs attrs = {});
/// Sum over the labels that the equation leaves out of its result: "bij,bjk->bik".
/// Repeated labels take diagonals, "..." stands for dimensions that broadcast; without
/// "->" the result has the labels that occur once, in alphabetical order. Any number of
/// operands.
Tensor einsum(std::string_view equation, const std::vector<Tensor>& inputs);
/// Sums products over axes `a_axes` of a and `b_axes` of b, pairwise.
Tensor tensordot(const Tensor& a, const Tensor& b, const Ints& a_axes,
                 const Ints& b_axes);
/// Sums over the last `axes` dimensions of a and the first of b.
Tensor tensordot(const Tensor& a, const Tensor& b, int64_t axes);

// ---- Norms
// ------------------------------------------------------------------------------

/// Which norm: `order` is the p of a vector norm (1, 2, 3.5, infinity) or of a matrix
/// norm (1, 2, infinity); the default is the Euclidean norm (of a matrix: Frobenius).
struct NormAttrs {
  /// 0: Euclidean.
  double order = 0;
  /// 'fro' was asked for: the Euclidean norm, of matrices only.
  bool frobenius = false;
  /// Empty: all elements as one vector. One axis: vectors. Two axes: matrices.
  Ints axis = {};
  bool keepdims = false;
  TANDEM_ATTRS(NormAttrs, order, frobenius, axis, keepdims)
};
Tensor norm(const Tensor& x, NormAttrs attrs = {});
/// Scales x down so that its Euclidean norm (over `axes`; all when empty) is at most
/// `clip_norm`.
Tensor clip_by_norm(const Tensor& x, const Tensor& clip_norm, const Ints& axes = {});
/// Euclidean norm of all tensors together; undefined ones count nothing, slices by their
/// values.
Tensor global_norm(const std::vector<Gradient>& tensors);
/// Scales all tensors by one factor so that their global norm is at most `clip_norm`, and
/// returns them with the norm they had. All become NaN when that norm is not finite.
std::pair<std::vector<Gradient>, Tensor> clip_by_global_norm(
    const std::vector<Gradient>& tensors, const Tensor& clip_norm,
    const Tensor& use_norm = {});

namespace linalg {

/// Matrix times vector over the last dimensions; leading ones broadcast.
Tensor matvec(const Tensor& a, const Tensor& b, MatMulAttrs attrs = {});
/// Cross product of vectors of 3 along the last dimension.
Tensor cross(const Tensor& a, const Tensor& b);
/// Matrices transposed and conjugated.
Tensor adjoint(const Tensor& a);
/// Sum of the main diagonal.
Tensor trace(const Tensor& a);
/// a multiplied n times with itself; negative n inverts it.
Tensor matrix_power(const Tensor& a, int64_t n);

// ---- Decompositions
// ---------------------------------------------------------------------

/// Lower L with a = L·Lᴴ; only the lower triangle of a is read. A matrix that is not
/// positive definite gives NaN.
Tensor cholesky(const Tensor& a);
/// Gradient of a Cholesky factor's input, from the factor and its gradient (op
/// CholeskyGrad).
Tensor cholesky_grad(const Tensor& l, const Tensor& grad);

struct QrAttrs {
  bool full_matrices = false;
  TANDEM_ATTRS(QrAttrs, full_matrices)
};
struct Qr {
  Tensor q, r;
};
/// a = q·r with orthonormal columns in q and upper triangular r.
Qr qr(const Tensor& a, QrAttrs attrs = {});

struct SvdAttrs {
  bool compute_uv = true;
  bool full_matrices = false;
  TANDEM_ATTRS(SvdAttrs, compute_uv, full_matrices)
};
struct Svd {
  Tensor s, u, v;
};
/// a = u·diag(s)·vᴴ, singular values in descending order.
Svd svd(const Tensor& a, SvdAttrs attrs = {});
/// Singular values alone.
Tensor svdvals(const Tensor& a);

struct EigAttrs {
  bool compute_v = true;
  TANDEM_ATTRS(EigAttrs, compute_v)
};
struct Eig {
  Tensor e, v;
};
/// Eigenvalues (ascending) and eigenvectors of self-adjoint matrices; the lower triangle
/// is read.
Eig eigh(const Tensor& a);
Tensor eigvalsh(const Tensor& a);
/// Eigenvalues and eigenvectors of any square matrices; complex.
Eig eig(const Tensor& a);
Tensor eigvals(const Tensor& a);

struct LuAttrs {
  DType output_idx_type = DType::kInt32;
  TANDEM_ATTRS(LuAttrs, output_idx_type)
};
struct Lu {
  Tensor lu, p;
};
/// Both triangular factors in one matrix (L has a unit diagonal), and the permutation p
/// with a[p] = L·U.
Lu lu(const Tensor& a, LuAttrs attrs = {});

// ---- Solvers
// ----------------------------------------------------------------------------

struct AdjointAttrs {
  bool adjoint = false;
  TANDEM_ATTRS(AdjointAttrs, adjoint)
};
/// x with a·x = rhs (aᴴ·x = rhs when adjoint).
Tensor solve(const Tensor& a, const Tensor& rhs, AdjointAttrs attrs = {});

struct TriangularSolveAttrs {
  bool lower = true;
  bool adjoint = false;
  TANDEM_ATTRS(TriangularSolveAttrs, lower, adjoint)
};
/// x with a·x = rhs for triangular a, of which only that triangle is read; batches
/// broadcast.
Tensor triangular_solve(const Tensor& a, const Tensor& rhs,
                        TriangularSolveAttrs attrs = {});
/// x with (chol·cholᴴ)·x = rhs.
Tensor cholesky_solve(const Tensor& chol, const Tensor& rhs);
/// Inverse of square matrices, of their adjoints when asked.
Tensor inv(const Tensor& a, AdjointAttrs attrs = {});
Tensor det(const Tensor& a);
struct SLogDet {
  Tensor sign, log_abs_determinant;
};
SLogDet slogdet(const Tensor& a);
/// log(det) of Hermitian positive definite matrices.
Tensor logdet(const Tensor& a);
/// Least squares by the normal equations: least |a·x - rhs|² + l2·|x|², of least norm
/// when there are more unknowns than equations.
Tensor lstsq(const Tensor& a, const Tensor& rhs, double l2_regularizer = 0);
/// Moore–Penrose inverse; singular values below rcond·max are taken as 0.
/// rcond defaults to 10·max(rows, columns)·epsilon.
Tensor pinv(const Tensor& a, std::optional<double> rcond = {});
/// Number of singular values above `tol` (default: max(rows, columns)·epsilon·max).
Tensor matrix_rank(const Tensor& a, std::optional<double> tol = {});
}  // namespace linalg
}  // namespace tandem
