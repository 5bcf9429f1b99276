// Stands for libcublas.so.13 where there is no GPU: the functions that Tandem calls, with
// the arguments of NVIDIA's header, done by BLAS and LAPACK on host memory.
#include "fake_lapack.h"

namespace {

using fake::host;
constexpr auto kGood = CUBLAS_STATUS_SUCCESS;
constexpr auto kBad = CUBLAS_STATUS_INVALID_VALUE;

void trsm(CBLAS_SIDE side, CBLAS_UPLO fill, CBLAS_TRANSPOSE op, CBLAS_DIAG diag, int m,
          int n, float alpha, const float* a, int lda, float* b, int ldb) {
  cblas_strsm(CblasColMajor, side, fill, op, diag, m, n, alpha, a, lda, b, ldb);
}
void trsm(CBLAS_SIDE side, CBLAS_UPLO fill, CBLAS_TRANSPOSE op, CBLAS_DIAG diag, int m,
          int n, double alpha, const double* a, int lda, double* b, int ldb) {
  cblas_dtrsm(CblasColMajor, side, fill, op, diag, m, n, alpha, a, lda, b, ldb);
}
void trsm(CBLAS_SIDE side, CBLAS_UPLO fill, CBLAS_TRANSPOSE op, CBLAS_DIAG diag, int m,
          int n, std::complex<float> alpha, const std::complex<float>* a, int lda,
          std::complex<float>* b, int ldb) {
  cblas_ctrsm(CblasColMajor, side, fill, op, diag, m, n, &alpha, a, lda, b, ldb);
}
void trsm(CBLAS_SIDE side, CBLAS_UPLO fill, CBLAS_TRANSPOSE op, CBLAS_DIAG diag, int m,
          int n, std::complex<double> alpha, const std::complex<double>* a, int lda,
          std::complex<double>* b, int ldb) {
  cblas_ztrsm(CblasColMajor, side, fill, op, diag, m, n, &alpha, a, lda, b, ldb);
}

/// Element (i, j) of op(a), by columns.
template <class T>
T element(const T* a, int ld, cublasOperation_t op, int i, int j) {
  const T x = op == CUBLAS_OP_N ? a[i + j * ld] : a[j + i * ld];
  if constexpr (std::is_floating_point_v<T>) {
    return x;
  } else {
    return op == CUBLAS_OP_C ? std::conj(x) : x;
  }
}

bool aligned(const void* workspace) {
  return reinterpret_cast<uintptr_t>(workspace) % 256 == 0;
}

}  // namespace

extern "C" {

cublasStatus_t cublasCreate_v2(cublasHandle_t* handle) {
  *handle = reinterpret_cast<cublasHandle_t>(1);
  return kGood;
}
cublasStatus_t cublasSetStream_v2(cublasHandle_t, cudaStream_t) { return kGood; }
cublasStatus_t cublasSetWorkspace_v2(cublasHandle_t, void* workspace, size_t bytes) {
  if (!aligned(workspace)) return kBad;
  fake::spoil(workspace, bytes);
  return kGood;
}
const char* cublasGetStatusString(cublasStatus_t) { return "a pretended error"; }

#define FAKE_BLAS(L, T)                                                                  \
  cublasStatus_t cublas##L##trsm_v2(cublasHandle_t, cublasSideMode_t side,               \
                                    cublasFillMode_t fill, cublasOperation_t op,         \
                                    cublasDiagType_t diag, int m, int n, const T* alpha, \
                                    const T* a, int lda, T* b, int ldb) {                \
    if (lda < (side == CUBLAS_SIDE_LEFT ? m : n) || ldb < m) return kBad;                \
    trsm(side == CUBLAS_SIDE_LEFT ? CblasLeft : CblasRight,                              \
         fill == CUBLAS_FILL_MODE_UPPER ? CblasUpper : CblasLower, fake::turn(op),       \
         diag == CUBLAS_DIAG_UNIT ? CblasUnit : CblasNonUnit, m, n, *host(alpha),        \
         host(a), lda, host(b), ldb);                                                    \
    return kGood;                                                                        \
  }                                                                                      \
  cublasStatus_t cublas##L##trsmBatched(                                                 \
      cublasHandle_t handle, cublasSideMode_t side, cublasFillMode_t fill,               \
      cublasOperation_t op, cublasDiagType_t diag, int m, int n, const T* alpha,         \
      const T* const a[], int lda, T* const b[], int ldb, int batch) {                   \
    for (int i = 0; i < batch; ++i) {                                                    \
      const cublasStatus_t status = cublas##L##trsm_v2(handle, side, fill, op, diag, m,  \
                                                       n, alpha, a[i], lda, b[i], ldb);  \
      if (status != kGood) return status;                                                \
    }                                                                                    \
    return kGood;                                                                        \
  }                                                                                      \
  cublasStatus_t cublas##L##gemmStridedBatched(                                          \
      cublasHandle_t, cublasOperation_t op_a, cublasOperation_t op_b, int m, int n,      \
      int k, const T* alpha, const T* a, int lda, long long step_a, const T* b, int ldb, \
      long long step_b, const T* beta, T* c, int ldc, long long step_c, int batch) {     \
    using H = fake::Host<T>::type;                                                       \
    if (ldc < m) return kBad;                                                            \
    for (int x = 0; x < batch; ++x) {                                                    \
      for (int i = 0; i < m; ++i) {                                                      \
        for (int j = 0; j < n; ++j) {                                                    \
          H sum = 0;                                                                     \
          for (int r = 0; r < k; ++r) {                                                  \
            sum += element(host(a + x * step_a), lda, op_a, i, r) *                      \
                   element(host(b + x * step_b), ldb, op_b, r, j);                       \
          }                                                                              \
          H& out = host(c + x * step_c)[i + j * ldc];                                    \
          out = *host(alpha) * sum + (*host(beta) == H(0) ? H(0) : *host(beta) * out);   \
        }                                                                                \
      }                                                                                  \
    }                                                                                    \
    return kGood;                                                                        \
  }                                                                                      \
  cublasStatus_t cublas##L##getrfBatched(cublasHandle_t, int n, T* const a[], int lda,   \
                                         int* pivots, int* info, int batch) {            \
    if (lda < n) return kBad;                                                            \
    for (int b = 0; b < batch; ++b) {                                                    \
      info[b] = fake::getrf(n, n, host(a[b]), lda, pivots + b * n);                      \
    }                                                                                    \
    return kGood;                                                                        \
  }                                                                                      \
  cublasStatus_t cublas##L##getrsBatched(                                                \
      cublasHandle_t, cublasOperation_t op, int n, int columns, const T* const a[],      \
      int lda, const int* pivots, T* const b[], int ldb, int* info, int batch) {         \
    *info = 0;                                                                           \
    if (lda < n || ldb < n) return kBad;                                                 \
    for (int x = 0; x < batch; ++x) {                                                    \
      fake::getrs(fake::letter(op), n, columns, host(a[x]), lda, pivots + x * n,         \
                  host(b[x]), ldb);                                                      \
    }                                                                                    \
    return kGood;                                                                        \
  }                                                                                      \
  cublasStatus_t cublas##L##getriBatched(cublasHandle_t, int n, const T* const a[],      \
                                         int lda, const int* pivots, T* const c[],       \
                                         int ldc, int* info, int batch) {                \
    if (lda < n || ldc < n) return kBad;                                                 \
    for (int x = 0; x < batch; ++x) {                                                    \
      if (a[x] == c[x]) return kBad;                                                     \
      for (int j = 0; j < n; ++j) {                                                      \
        for (int i = 0; i < n; ++i) c[x][i + j * ldc] = a[x][i + j * lda];               \
      }                                                                                  \
      info[x] = fake::getri(n, host(c[x]), ldc, pivots + x * n);                         \
    }                                                                                    \
    return kGood;                                                                        \
  }

FAKE_BLAS(S, float)
FAKE_BLAS(D, double)
FAKE_BLAS(C, cuComplex)
FAKE_BLAS(Z, cuDoubleComplex)

}  // extern "C"
