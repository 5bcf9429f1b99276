// Gradients of the decompositions. Formulas: Giles, "An extended collection of matrix
// derivative results" (2008); Townsend, "Differentiating the singular value
// decomposition" (2016); Roberts and Roberts, arXiv:2009.10071 (QR); Boeddeker et al.,
// arXiv:1701.00392 (general eigenvectors).
#include <fmt/format.h>

#include "ops/linalg_ops.h"
#include "tandem/ops.h"
#include "tandem/ops/array_layout.h"

namespace tandem {

using linalg::adjoint;
using linalg::triangular_solve;

namespace {

// 1/x, and 0 in place of infinity: equal eigenvalues have no defined vectors.
Tensor safe_reciprocal(const Tensor& x) { return x / (square(x) + 1e-20); }

// f[i][j] = 1 / (x[j] - x[i]), 0 on the diagonal.
Tensor reciprocal_differences(const Tensor& x) {
  const Tensor f = safe_reciprocal(expand_dims(x, -2) - expand_dims(x, -1));
  return matrix_set_diag(f, zeros_like(x));
}

Tensor symmetric_sum(const Tensor& x) { return x + adjoint(x); }

// lower(lᴴ·g) with halved diagonal; what both gradients of Cholesky are made of.
Tensor halved_lower(const Tensor& x) { return lower_triangle(halve_diagonal(x)); }

// x·a⁻ᴴ for upper triangular a.
Tensor times_inverse_adjoint(const Tensor& x, const Tensor& a) {
  return adjoint(triangular_solve(a, adjoint(x), {.lower = false}));
}

[[noreturn]] void unsupported(const char* what, const Shape& shape) {
  throw UnimplementedError(
      fmt::format("{} is not implemented for shape {}", what, shape.debug_str()));
}

// A place between the columns of matrices: the size of the last dimension of `measure`.
// Known sizes cost nothing; unknown ones are computed.
class ColumnCut {
 public:
  explicit ColumnCut(const Tensor& measure) : at_(measure.shape().dim(-1)) {
    if (at_ != kUnknownDim) return;
    const int last = measure.shape().rank() - 1;
    size_ = slice(shape(measure), {last}, {1});
  }
  /// Whether x is known to have no columns after the cut.
  bool at_end_of(const Tensor& x) const {
    return at_ != kUnknownDim && x.shape().dim(-1) == at_;
  }
  Tensor before(const Tensor& x) const {
    return at_end_of(x) ? x : cut(x, constant(std::vector<int32_t>{0}), end());
  }
  Tensor after(const Tensor& x) const {
    return cut(x, end(), constant(std::vector<int32_t>{-1}));
  }

 private:
  Tensor end() const {
    return at_ == kUnknownDim ? size_
                              : constant(std::vector<int32_t>{static_cast<int32_t>(at_)});
  }
  static Tensor cut(const Tensor& x, const Tensor& begin, const Tensor& size) {
    const auto rows = static_cast<size_t>(x.shape().rank() - 1);
    return slice(x, concat({constant(std::vector<int32_t>(rows, 0)), begin}, {.axis = 0}),
                 concat({constant(std::vector<int32_t>(rows, -1)), size}, {.axis = 0}));
  }
  int64_t at_;
  Tensor size_;
};

void need_rank(const char* what, const Tensor& a) {
  if (!a.shape().has_rank()) unsupported(what, a.shape());
}

// q has at least as many rows as columns, r is square.
Tensor grad_qr_deep(const Tensor& q, const Tensor& r, const Tensor& dq,
                    const Tensor& dr) {
  const Tensor qdq = matmul(q, dq, {.adjoint_a = true});
  const Tensor rdr = matmul(r, dr, {.adjoint_b = true});
  const Tensor low =
      lower_triangle(subtract(qdq, adjoint(qdq)) + subtract(rdr, adjoint(rdr)));
  const Tensor grad = matmul(q, dr + times_inverse_adjoint(low, r)) +
                      times_inverse_adjoint(dq - matmul(q, qdq), r);
  if (!is_complex(q.dtype())) return grad;
  const Tensor diagonal = matrix_diag_part(rdr - adjoint(qdq));
  const Tensor imaginary =
      diagonal - cast(cast(diagonal, real_dtype(q.dtype())), q.dtype());
  return grad + times_inverse_adjoint(matmul(q, adjoint(matrix_diag(imaginary))), r);
}

}  // namespace

void grad_cholesky(GradContext& c) {
  c.set(0, linalg::cholesky_grad(c.output(0), c.grad()));
}

// CholeskyGrad(l, g) = ½(S + Sᴴ) with S = l⁻ᴴ·P·l⁻¹ and P = halved_lower(lᴴ·g). With H
// the incoming gradient made self-adjoint, P gets Q = l⁻¹·H·l⁻ᴴ.
void grad_cholesky_grad(GradContext& c) {
  const Tensor l = lower_triangle(c.input(0)), g = c.input(1);
  const Tensor h = symmetric_sum(c.grad()) * 0.5;
  // Q = l⁻¹·H·l⁻ᴴ
  const Tensor left = triangular_solve(l, h);
  const Tensor q = adjoint(triangular_solve(l, adjoint(left)));
  const Tensor dm = halved_lower(q);  // the gradient of M = lᴴ·g
  if (c.needs(1)) c.set(1, matmul(l, dm));
  if (!c.needs(0)) return;
  const Tensor from_product = matmul(g, dm, {.adjoint_b = true});
  // dS = -(dl·l⁻¹)ᴴ·S - S·(dl·l⁻¹), so the inner product with H gives -(S + Sᴴ)·H·l⁻ᴴ.
  const Tensor s = linalg::cholesky_grad(l, g) * 2;
  const Tensor turned = adjoint(triangular_solve(l, adjoint(matmul(s, h))));
  c.set(0, lower_triangle(from_product - turned));
}

void grad_qr(GradContext& c) {
  const Tensor &a = c.input(0), &q = c.output(0), &r = c.output(1);
  need_rank("the gradient of Qr", a);
  if (r.dim(-1) != kUnknownDim && r.dim(-2) > r.dim(-1)) {
    unsupported("the gradient of Qr with full_matrices and more rows than columns",
                r.shape());
  }
  const Tensor dq = c.grad(0), dr = c.grad(1);
  const ColumnCut square(q);
  if (square.at_end_of(r)) {
    c.set(0, grad_qr_deep(q, r, dq, dr));
    return;
  }
  // a = [x, y], r = [u, v] with square u: the deep case for x, and y by itself. There may
  // be no y.
  const Tensor y = square.after(a), dv = square.after(dr);
  const Tensor dx = grad_qr_deep(
      q, square.before(r), dq + matmul(y, dv, {.adjoint_b = true}), square.before(dr));
  c.set(0, concat({dx, matmul(q, dv)}, {.axis = -1}));
}

namespace {

// What changes of w, the vectors on one side, outside of the space they span contribute
// to the gradient of s⁻¹·wᴴ; nothing when there are as many vectors as dimensions.
Tensor outside_of_span(const ColumnCut& values, const Tensor& w, const Tensor& grad,
                       bool full) {
  const Tensor w1 = values.before(w), g = adjoint(values.before(grad));
  const Tensor outside = g - matmul(matmul(g, w1), w1, {.adjoint_b = true});
  if (!full || values.at_end_of(w)) return outside;
  const Tensor w2 = values.after(w), grad2 = values.after(grad);
  return outside -
         matmul(matmul(w1, grad2, {.adjoint_a = true}), w2, {.adjoint_b = true});
}

}  // namespace

void grad_svd(GradContext& c) {
  const Tensor& a = c.input(0);
  const auto& attrs = c.attrs<linalg::SvdAttrs>();
  const DType dtype = a.dtype();
  const Tensor grad_s = matrix_diag(cast(c.grad(0), dtype));
  if (!attrs.compute_uv || (!c.has_grad(1) && !c.has_grad(2))) {
    const bool own = attrs.compute_uv && !attrs.full_matrices;
    const linalg::Svd d =
        own ? linalg::Svd{c.output(0), c.output(1), c.output(2)} : linalg::svd(a);
    c.set(0, matmul(d.u, matmul(grad_s, d.v, {.adjoint_b = true})));
    return;
  }
  need_rank("the gradient of Svd", a);
  const int64_t m = a.dim(-2), n = a.dim(-1);
  const bool known = m != kUnknownDim && n != kUnknownDim;
  if (attrs.full_matrices && known && std::abs(m - n) > 1) {
    unsupported("the gradient of Svd with full_matrices and abs(m - n) > 1", a.shape());
  }
  const Tensor s = cast(c.output(0), dtype), &u = c.output(1), &v = c.output(2);
  const Tensor grad_u = c.grad(1), grad_v = c.grad(2);
  const ColumnCut values(s);
  const Tensor u1 = values.before(u), v1 = values.before(v);
  const Tensor s_matrix = matrix_diag(s), s_inverse = matrix_diag(safe_reciprocal(s));
  const Tensor f = reciprocal_differences(square(s));
  const Tensor u_gu = matmul(u1, values.before(grad_u), {.adjoint_a = true});
  const Tensor v_gv = matmul(v1, values.before(grad_v), {.adjoint_a = true});
  Tensor inner = grad_s + matmul(symmetric_sum(f * u_gu), s_matrix) +
                 matmul(s_matrix, symmetric_sum(f * v_gv));
  if (is_complex(dtype)) {
    const Tensor l = matrix_diag(matrix_diag_part(v_gv));
    inner = inner + matmul(s_inverse, adjoint(l) - l) * 0.5;
  }
  Tensor grad = matmul(u1, matmul(inner, v1, {.adjoint_b = true}));
  if (!known || n > m) {
    const Tensor outside = outside_of_span(values, v, grad_v, attrs.full_matrices);
    grad = grad + matmul(matmul(u1, s_inverse), outside);
  }
  if (!known || m > n) {
    const Tensor outside = outside_of_span(values, u, grad_u, attrs.full_matrices);
    grad = grad + adjoint(matmul(matmul(v1, s_inverse), outside));
  }
  c.set(0, grad);
}

void grad_eigh(GradContext& c) {
  Tensor v, inner = matrix_diag(c.grad(0));
  if (c.attrs<linalg::EigAttrs>().compute_v) {
    v = c.output(1);
    if (c.has_grad(1)) {
      inner = inner + reciprocal_differences(c.output(0)) *
                          matmul(v, c.grad(1), {.adjoint_a = true});
    }
  } else {
    v = linalg::eigh(c.input(0)).v;
  }
  const Tensor grad = matmul(v, matmul(inner, v, {.adjoint_b = true}));
  // The op reads the lower triangle alone.
  c.set(0, halve_diagonal(lower_triangle(symmetric_sum(grad))));
}

void grad_eig(GradContext& c) {
  const DType dtype = c.input(0).dtype();
  Tensor inner = matrix_diag(c.grad(0));
  Tensor vt;
  if (c.attrs<linalg::EigAttrs>().compute_v) {
    const Tensor& v = c.output(1);
    vt = adjoint(v);
    const Tensor f = conj(reciprocal_differences(c.output(0)));
    const Tensor vgv = matmul(vt, c.grad(1));
    const DType real = real_dtype(v.dtype());
    const Tensor diagonal =
        matrix_diag(cast(cast(matrix_diag_part(vgv), real), v.dtype()));
    inner = inner + f * (vgv - matmul(matmul(vt, v), diagonal));
  } else {
    vt = adjoint(linalg::eig(c.input(0)).v);
  }
  c.set(0, cast(linalg::solve(vt, matmul(inner, vt)), dtype));
}

}  // namespace tandem
