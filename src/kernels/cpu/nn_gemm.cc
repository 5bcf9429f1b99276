#include "kernels/cpu/nn_gemm.h"

#include <algorithm>
#include <type_traits>

#include <cblas.h>

#include "base/parallel.h"
#include "kernels/cpu/gemm_tiles.h"
#include "kernels/cpu/nn_onednn.h"
#include "tandem/error.h"

namespace tandem::cpu {

namespace {

// A product over nothing: C = beta * C.
template <class T>
bool trivial(const GemmShape& s, T beta, T* c, int64_t ldc) {
  if (s.m > 0 && s.n > 0 && s.k > 0) return false;
  for (int64_t i = 0; i < s.m; ++i) {
    for (int64_t j = 0; j < s.n; ++j) {
      c[i * ldc + j] = beta == T(0) ? T(0) : beta * c[i * ldc + j];
    }
  }
  return true;
}

// B fits the cache and C's columns fill vectors: no packing that a library could do pays.
// The number of rows is left out, so that shares of a product choose alike.
bool shape_suits_tiles(const GemmShape& s, float alpha, float beta) {
  constexpr int64_t kMostElements = 1 << 16;
  const int64_t lanes = best::gemm_tiles().lanes;
  return alpha == 1 && (beta == 0 || beta == 1) && 2 * s.n >= lanes &&
         s.n * s.k <= kMostElements;
}
bool shape_suits_tiles(const GemmShape&, double, double) { return false; }

void library_gemm(const GemmShape& s, float alpha, const float* a, int64_t lda,
                  const float* b, int64_t ldb, float beta, float* c, int64_t ldc) {
  const onednn::LibraryThreads one(1);
  const auto status = dnnl_sgemm(s.transpose_a ? 'T' : 'N', s.transpose_b ? 'T' : 'N',
                                 s.m, s.n, s.k, alpha, a, lda, b, ldb, beta, c, ldc);
  if (status != dnnl_success) throw InternalError("oneDNN: a matrix product failed");
}
void library_gemm(const GemmShape& s, double alpha, const double* a, int64_t lda,
                  const double* b, int64_t ldb, double beta, double* c, int64_t ldc) {
  cblas_dgemm(CblasRowMajor, s.transpose_a ? CblasTrans : CblasNoTrans,
              s.transpose_b ? CblasTrans : CblasNoTrans, static_cast<int>(s.m),
              static_cast<int>(s.n), static_cast<int>(s.k), alpha, a,
              static_cast<int>(lda), b, static_cast<int>(ldb), beta, c,
              static_cast<int>(ldc));
}

template <class T>
void run_gemm(bool tiles, const GemmShape& s, T alpha, const T* a, int64_t lda,
              const T* b, int64_t ldb, T beta, T* c, int64_t ldc) {
  if (trivial(s, beta, c, ldc)) return;
  if constexpr (std::is_same_v<T, float>) {
    if (tiles) {
      best::gemm_tiles().run({.m = s.m,
                              .n = s.n,
                              .k = s.k,
                              .a = a,
                              .b = b,
                              .c = c,
                              .lda = lda,
                              .ldb = ldb,
                              .ldc = ldc,
                              .transpose_a = s.transpose_a,
                              .transpose_b = s.transpose_b,
                              .add = beta == 1});
      return;
    }
  }
  library_gemm(s, alpha, a, lda, b, ldb, beta, c, ldc);
}

}  // namespace

void gemm(const GemmShape& s, float alpha, const float* a, int64_t lda, const float* b,
          int64_t ldb, float beta, float* c, int64_t ldc) {
  run_gemm(shape_suits_tiles(s, alpha, beta), s, alpha, a, lda, b, ldb, beta, c, ldc);
}
void gemm(const GemmShape& s, double alpha, const double* a, int64_t lda, const double* b,
          int64_t ldb, double beta, double* c, int64_t ldc) {
  run_gemm(false, s, alpha, a, lda, b, ldb, beta, c, ldc);
}

template <class T>
void team_gemm(const GemmShape& s, T alpha, const T* a, int64_t lda, const T* b,
               int64_t ldb, T beta, T* c, int64_t ldc) {
  const bool tiles = shape_suits_tiles(s, alpha, beta);
  // Blocks of the longer side of C; each is worth a few hundred thousand operations or
  // more.
  const bool by_rows = s.m >= s.n;
  const int64_t side = by_rows ? s.m : s.n;
  const int64_t line = std::max<int64_t>(1, 2 * s.k * (by_rows ? s.n : s.m));
  const int64_t grain = std::max<int64_t>(16, 2000000 / line);
  parallel_for(side, grain, [&](int64_t begin, int64_t end) {
    GemmShape part = s;
    if (by_rows) {
      part.m = end - begin;
      run_gemm(tiles, part, alpha, a + begin * (s.transpose_a ? 1 : lda), lda, b, ldb,
               beta, c + begin * ldc, ldc);
    } else {
      part.n = end - begin;
      run_gemm(tiles, part, alpha, a, lda, b + begin * (s.transpose_b ? ldb : 1), ldb,
               beta, c + begin, ldc);
    }
  });
}
template void team_gemm<float>(const GemmShape&, float, const float*, int64_t,
                               const float*, int64_t, float, float*, int64_t);
template void team_gemm<double>(const GemmShape&, double, const double*, int64_t,
                                const double*, int64_t, double, double*, int64_t);

}  // namespace tandem::cpu
