// What the files of the linear algebra family share.
#pragma once

#include "op/emitter.h"
#include "op/op_def.h"
#include "tandem/ops/linalg.h"

namespace tandem {

/// dtypes of LAPACK.
inline constexpr DTypeMask kMatrixTypes =
    mask(DType::kFloat32, DType::kFloat64) | kComplexes;

/// x as a matrix: everything before the last dimension flattened.
Tensor flatten_rows(const Tensor& x);
Tensor lower_triangle(const Tensor& x);
Tensor upper_triangle(const Tensor& x);
/// x with its main diagonal halved.
Tensor halve_diagonal(const Tensor& x);
/// Whether x > y, elementwise.
Tensor greater_than(const Tensor& x, const Tensor& y);

/// Input i is a batch of matrices; throws with TensorFlow's words otherwise.
void check_matrix(const InferContext& c, int i);
/// The same for square matrices; their side and the shape before it, as far as known.
struct Square {
  Shape batch;
  int64_t side = kUnknownDim;
};
Square check_square(const InferContext& c, int i);
/// A batch shape with two more dimensions, or one; unknown when it is.
Shape with_matrix(Shape batch, int64_t rows, int64_t columns);
Shape with_vector(Shape batch, int64_t n);
/// The shape of a product of inputs 0 and 1; throws with TensorFlow's words when they do
/// not fit.
Shape matmul_shape(const InferContext& c, const MatMulAttrs& m);
Cost matmul_cost(const Signature& s, const MatMulAttrs& m);
/// flops = factor · rows · columns · min(rows, columns) for every matrix of input 0.
Cost cubic_cost(const Signature& s, double factor);

void register_matmul_ops(OpTable& table);
void register_decomposition_ops(OpTable& table);
void register_solver_ops(OpTable& table);

// Gradients of the decompositions (ops/linalg_gradients.cc).
void grad_cholesky(GradContext& c);
void grad_cholesky_grad(GradContext& c);
void grad_qr(GradContext& c);
void grad_svd(GradContext& c);
void grad_eigh(GradContext& c);
void grad_eig(GradContext& c);

}  // namespace tandem
