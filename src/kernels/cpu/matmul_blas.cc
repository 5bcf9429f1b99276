// MatMul for float64, complex64 and complex128 through OpenBLAS, cut into tiles for our
// threads.
#include <type_traits>

#include "kernels/cpu/matmul_plan.h"
#include "kernels/cpu/openblas.h"

namespace tandem::cpu {

namespace {

CBLAS_TRANSPOSE transpose_flag(bool transpose, bool conjugate) {
  return conjugate ? CblasConjTrans : transpose ? CblasTrans : CblasNoTrans;
}
blasint blas_size(int64_t n) { return static_cast<blasint>(n); }

struct Gemm {
  CBLAS_TRANSPOSE ta, tb;
  blasint m, n, k, lda, ldb, ldc;
};

void blas_gemm(const Gemm& g, const double* a, const double* b, double* c) {
  cblas_dgemm(CblasRowMajor, g.ta, g.tb, g.m, g.n, g.k, 1, a, g.lda, b, g.ldb, 0, c,
              g.ldc);
}
void blas_gemm(const Gemm& g, const std::complex<float>* a, const std::complex<float>* b,
               std::complex<float>* c) {
  const std::complex<float> one = 1, zero = 0;
  cblas_cgemm(CblasRowMajor, g.ta, g.tb, g.m, g.n, g.k, &one, a, g.lda, b, g.ldb, &zero,
              c, g.ldc);
}
void blas_gemm(const Gemm& g, const std::complex<double>* a,
               const std::complex<double>* b, std::complex<double>* c) {
  const std::complex<double> one = 1, zero = 0;
  cblas_zgemm(CblasRowMajor, g.ta, g.tb, g.m, g.n, g.k, &one, a, g.lda, b, g.ldb, &zero,
              c, g.ldc);
}

// y = op(M)·x for the rows × columns matrix M as stored.
void gemv(CBLAS_TRANSPOSE t, blasint rows, blasint columns, const double* matrix,
          blasint ld, const double* x, blasint x_step, double* y, blasint y_step) {
  cblas_dgemv(CblasRowMajor, t, rows, columns, 1, matrix, ld, x, x_step, 0, y, y_step);
}

template <class T>
void run_tile(const MatMulPlan& p, const MatMulTile& t, const T* a, const T* b, T* c) {
  a += p.a_offset(t.batch) + t.row * (p.transpose_a ? 1 : p.lda);
  b += p.b_offset(t.batch) + t.column * (p.transpose_b ? p.ldb : 1);
  c += t.batch * p.m * p.n + t.row * p.n + t.column;
  const blasint k = blas_size(p.k), lda = blas_size(p.lda), ldb = blas_size(p.ldb);
  if constexpr (std::is_same_v<T, double>) {
    if (p.n == 1) {
      const blasint rows = blas_size(t.rows), step = p.transpose_b ? 1 : ldb;
      return p.transpose_a ? gemv(CblasTrans, k, rows, a, lda, b, step, c, 1)
                           : gemv(CblasNoTrans, rows, k, a, lda, b, step, c, 1);
    }
    if (p.m == 1) {
      const blasint columns = blas_size(t.columns), step = p.transpose_a ? lda : 1;
      return p.transpose_b ? gemv(CblasNoTrans, columns, k, b, ldb, a, step, c, 1)
                           : gemv(CblasTrans, k, columns, b, ldb, a, step, c, 1);
    }
  }
  blas_gemm({transpose_flag(p.transpose_a, p.conjugate_a),
             transpose_flag(p.transpose_b, p.conjugate_b), blas_size(t.rows),
             blas_size(t.columns), k, lda, ldb, blas_size(p.n)},
            a, b, c);
}

template <class T>
void launch_blas(const MatMulPlan& p, const LaunchArgs& args) {
  if (finish_trivial(p, args.out<T>())) return;
  constexpr double kFlopsPerUs = std::is_same_v<T, double> ? 2e4 : 1e4;
  parallel_tiles(p, kFlopsPerUs, [&](const MatMulTile& t) {
    run_tile(p, t, args.in<T>(0), args.in<T>(1), args.out<T>());
  });
}

// BLAS counts in 32 bits.
bool fits_blas(const Signature& s) {
  const MatMulPlan p = plan_matmul(s);
  constexpr int64_t kMost = INT32_MAX;
  return std::max({p.m, p.n, p.k, p.lda, p.ldb}) <= kMost;
}

}  // namespace

void register_matmul_blas(KernelRegistry& registry) {
  registry.add(make_kernel<&plan_matmul, &launch_blas<double>>(
      "MatMul", "cpu.matmul.blas.f64", mask(DType::kFloat64), fits_blas));
  registry.add(make_kernel<&plan_matmul, &launch_blas<std::complex<float>>>(
      "MatMul", "cpu.matmul.blas.c64", mask(DType::kComplex64), fits_blas));
  registry.add(make_kernel<&plan_matmul, &launch_blas<std::complex<double>>>(
      "MatMul", "cpu.matmul.blas.c128", mask(DType::kComplex128), fits_blas));
}

}  // namespace tandem::cpu
