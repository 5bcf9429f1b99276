// What the case files of linear algebra share.
#pragma once

#include "ops/case_parts.h"
#include "tandem/ops/linalg.h"

namespace tandem::testing {

inline const std::vector<DType> kMatrixDTypes = {DType::kFloat32, DType::kFloat64,
                                                 DType::kComplex64, DType::kComplex128};

/// Matrices of numbers in [-0.5, 0.5), always the same, with `diagonal` + 0.3·i added.
std::vector<double> matrices(int64_t batch, int64_t rows, int64_t columns,
                             double diagonal);
In matrix_input(Shape batch, int64_t rows, int64_t columns, double diagonal);
/// Number of matrices in a shape; matrix i of a Ref.
int64_t batch_of(const Shape& s);
Complex* matrix(Ref& r, int64_t i);
const Complex* matrix(const Ref& r, int64_t i);
/// LU with partial pivoting in place; returns the order of rows.
std::vector<int64_t> eliminate(std::vector<Complex>& a, int64_t n, int* exchanges);

/// The product of inputs 0 and 1.
Reference matmul_reference(MatMulAttrs m);

void add_decomposition_cases(CaseList& cases);

}  // namespace tandem::testing
