// Row-major matrix products for kernels that make them from within: C = alpha * op(A)
// op(B) + beta * C. gemm() runs on the calling thread alone, team_gemm() shares the work
// with parallel_for.
#pragma once

#include <cstdint>

namespace tandem::cpu {

struct GemmShape {
  int64_t m, n, k;
  bool transpose_a = false, transpose_b = false;
};

void gemm(const GemmShape& s, float alpha, const float* a, int64_t lda, const float* b,
          int64_t ldb, float beta, float* c, int64_t ldc);
void gemm(const GemmShape& s, double alpha, const double* a, int64_t lda, const double* b,
          int64_t ldb, double beta, double* c, int64_t ldc);

/// The same with the rows or columns of C shared among the team.
template <class T>
void team_gemm(const GemmShape& s, T alpha, const T* a, int64_t lda, const T* b,
               int64_t ldb, T beta, T* c, int64_t ldc);

}  // namespace tandem::cpu
