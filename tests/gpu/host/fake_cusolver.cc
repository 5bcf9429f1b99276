// Stands for libcusolver.so.12 where there is no GPU: the functions that Tandem calls,
// with the arguments of NVIDIA's header, done by LAPACK on host memory. Arguments that
// the real library would refuse are refused.
#include <algorithm>

#include <cusolverDn.h>

#include "fake_lapack.h"

namespace {

using fake::host;
constexpr auto kGood = CUSOLVER_STATUS_SUCCESS;
constexpr auto kBad = CUSOLVER_STATUS_INVALID_VALUE;

/// More than nothing, different for each routine.
int work_of(int n) { return 3 * n + 5; }

template <class T>
void transpose_conjugate(const T* from, int rows, int cols, int ld, T* to, int ldt) {
  for (int i = 0; i < rows; ++i) {
    for (int j = 0; j < cols; ++j) {
      const T x = from[i + j * ld];
      if constexpr (std::is_floating_point_v<T>) {
        to[j + i * ldt] = x;
      } else {
        to[j + i * ldt] = std::conj(x);
      }
    }
  }
}

/// v itself, not its adjoint, as gesvdj gives it.
template <class T, class R>
int gesvdj(bool vectors, bool economy, int m, int n, T* a, int lda, R* s, T* u, int ldu,
           T* v, int ldv) {
  const int least = std::min(m, n), rows = economy ? least : n;
  std::vector<T> adjoint(static_cast<size_t>(rows) * static_cast<size_t>(n));
  const char job = !vectors ? 'N' : economy ? 'S' : 'A';
  const int info = fake::gesdd(job, m, n, a, lda, s, u, ldu, adjoint.data(), rows);
  if (vectors) transpose_conjugate(adjoint.data(), rows, n, rows, v, ldv);
  return info;
}

}  // namespace

extern "C" {

cusolverStatus_t cusolverDnCreate(cusolverDnHandle_t* handle) {
  *handle = reinterpret_cast<cusolverDnHandle_t>(1);
  return kGood;
}
cusolverStatus_t cusolverDnSetStream(cusolverDnHandle_t handle, cudaStream_t) {
  return handle ? kGood : CUSOLVER_STATUS_NOT_INITIALIZED;
}
cusolverStatus_t cusolverDnCreateSyevjInfo(syevjInfo_t* info) {
  *info = reinterpret_cast<syevjInfo_t>(2);
  return kGood;
}
cusolverStatus_t cusolverDnCreateGesvdjInfo(gesvdjInfo_t* info) {
  *info = reinterpret_cast<gesvdjInfo_t>(3);
  return kGood;
}
cusolverStatus_t cusolverGetProperty(libraryPropertyType, int* value) {
  *value = 12;
  return kGood;
}

#define FAKE_SOLVER(L, T, R, un, he)                                                     \
  cusolverStatus_t cusolverDn##L##potrf_bufferSize(cusolverDnHandle_t, cublasFillMode_t, \
                                                   int n, T*, int lda, int* size) {      \
    *size = work_of(n);                                                                  \
    return lda >= n ? kGood : kBad;                                                      \
  }                                                                                      \
  cusolverStatus_t cusolverDn##L##potrf(cusolverDnHandle_t, cublasFillMode_t fill,       \
                                        int n, T* a, int lda, T* work, int size,         \
                                        int* info) {                                     \
    if (lda < n || size < work_of(n)) return kBad;                                       \
    fake::spoil(work, sizeof(T) * static_cast<size_t>(size));                            \
    *info = fake::potrf(fake::letter(fill), n, host(a), lda);                            \
    return kGood;                                                                        \
  }                                                                                      \
  cusolverStatus_t cusolverDn##L##potrfBatched(cusolverDnHandle_t,                       \
                                               cublasFillMode_t fill, int n, T* a[],     \
                                               int lda, int* info, int batch) {          \
    if (lda < n) return kBad;                                                            \
    for (int b = 0; b < batch; ++b) {                                                    \
      info[b] = fake::potrf(fake::letter(fill), n, host(a[b]), lda);                     \
    }                                                                                    \
    return kGood;                                                                        \
  }                                                                                      \
  cusolverStatus_t cusolverDn##L##getrf_bufferSize(cusolverDnHandle_t, int m, int n, T*, \
                                                   int lda, int* size) {                 \
    *size = work_of(n);                                                                  \
    return lda >= m ? kGood : kBad;                                                      \
  }                                                                                      \
  cusolverStatus_t cusolverDn##L##getrf(cusolverDnHandle_t, int m, int n, T* a, int lda, \
                                        T* work, int* pivots, int* info) {               \
    if (lda < m) return kBad;                                                            \
    fake::spoil(work, sizeof(T) * static_cast<size_t>(work_of(n)));                      \
    *info = fake::getrf(m, n, host(a), lda, pivots);                                     \
    return kGood;                                                                        \
  }                                                                                      \
  cusolverStatus_t cusolverDn##L##getrs(cusolverDnHandle_t, cublasOperation_t op, int n, \
                                        int columns, const T* a, int lda,                \
                                        const int* pivots, T* b, int ldb, int* info) {   \
    if (lda < n || ldb < n) return kBad;                                                 \
    *info =                                                                              \
        fake::getrs(fake::letter(op), n, columns, host(a), lda, pivots, host(b), ldb);   \
    return kGood;                                                                        \
  }                                                                                      \
  cusolverStatus_t cusolverDn##L##geqrf_bufferSize(cusolverDnHandle_t, int m, int n, T*, \
                                                   int lda, int* size) {                 \
    *size = work_of(n);                                                                  \
    return lda >= m ? kGood : kBad;                                                      \
  }                                                                                      \
  cusolverStatus_t cusolverDn##L##geqrf(cusolverDnHandle_t, int m, int n, T* a, int lda, \
                                        T* tau, T* work, int size, int* info) {          \
    if (lda < m || size < work_of(n)) return kBad;                                       \
    fake::spoil(work, sizeof(T) * static_cast<size_t>(size));                            \
    *info = fake::geqrf(m, n, host(a), lda, host(tau));                                  \
    return kGood;                                                                        \
  }                                                                                      \
  cusolverStatus_t cusolverDn##L##un##gqr_bufferSize(                                    \
      cusolverDnHandle_t, int m, int n, int k, const T*, int lda, const T*, int* size) { \
    *size = work_of(m);                                                                  \
    return lda >= m && m >= n && n >= k ? kGood : kBad;                                  \
  }                                                                                      \
  cusolverStatus_t cusolverDn##L##un##gqr(cusolverDnHandle_t, int m, int n, int k, T* a, \
                                          int lda, const T* tau, T* work, int size,      \
                                          int* info) {                                   \
    if (lda < m || m < n || n < k || size < work_of(m)) return kBad;                     \
    fake::spoil(work, sizeof(T) * static_cast<size_t>(size));                            \
    *info = fake::ungqr(m, n, k, host(a), lda, host(tau));                               \
    return kGood;                                                                        \
  }                                                                                      \
  cusolverStatus_t cusolverDn##L##he##evd_bufferSize(                                    \
      cusolverDnHandle_t, cusolverEigMode_t, cublasFillMode_t, int n, const T*, int lda, \
      const R*, int* size) {                                                             \
    *size = work_of(n);                                                                  \
    return lda >= n ? kGood : kBad;                                                      \
  }                                                                                      \
  cusolverStatus_t cusolverDn##L##he##evd(cusolverDnHandle_t, cusolverEigMode_t mode,    \
                                          cublasFillMode_t fill, int n, T* a, int lda,   \
                                          R* w, T* work, int size, int* info) {          \
    if (lda < n || size < work_of(n)) return kBad;                                       \
    fake::spoil(work, sizeof(T) * static_cast<size_t>(size));                            \
    *info = fake::heevd(mode == CUSOLVER_EIG_MODE_VECTOR ? 'V' : 'N',                    \
                        fake::letter(fill), n, host(a), lda, w);                         \
    return kGood;                                                                        \
  }                                                                                      \
  cusolverStatus_t cusolverDn##L##he##evjBatched_bufferSize(                             \
      cusolverDnHandle_t, cusolverEigMode_t, cublasFillMode_t, int n, const T*, int lda, \
      const R*, int* size, syevjInfo_t params, int batch) {                              \
    *size = work_of(n) * batch;                                                          \
    return lda >= n && params ? kGood : kBad;                                            \
  }                                                                                      \
  cusolverStatus_t cusolverDn##L##he##evjBatched(                                        \
      cusolverDnHandle_t, cusolverEigMode_t mode, cublasFillMode_t fill, int n, T* a,    \
      int lda, R* w, T* work, int size, int* info, syevjInfo_t params, int batch) {      \
    if (lda < n || size < work_of(n) * batch || !params) return kBad;                    \
    fake::spoil(work, sizeof(T) * static_cast<size_t>(size));                            \
    for (int b = 0; b < batch; ++b) {                                                    \
      info[b] =                                                                          \
          fake::heevd(mode == CUSOLVER_EIG_MODE_VECTOR ? 'V' : 'N', fake::letter(fill),  \
                      n, host(a + b * lda * n), lda, w + b * n);                         \
    }                                                                                    \
    return kGood;                                                                        \
  }                                                                                      \
  cusolverStatus_t cusolverDn##L##gesvdj_bufferSize(                                     \
      cusolverDnHandle_t, cusolverEigMode_t, int, int m, int n, const T*, int lda,       \
      const R*, const T*, int ldu, const T*, int ldv, int* size, gesvdjInfo_t params) {  \
    *size = work_of(m);                                                                  \
    return lda >= m && ldu >= m && ldv >= n && params ? kGood : kBad;                    \
  }                                                                                      \
  cusolverStatus_t cusolverDn##L##gesvdj(cusolverDnHandle_t, cusolverEigMode_t mode,     \
                                         int economy, int m, int n, T* a, int lda, R* s, \
                                         T* u, int ldu, T* v, int ldv, T* work,          \
                                         int size, int* info, gesvdjInfo_t params) {     \
    if (lda < m || ldu < m || ldv < n || size < work_of(m) || !params) return kBad;      \
    fake::spoil(work, sizeof(T) * static_cast<size_t>(size));                            \
    *info = gesvdj(mode == CUSOLVER_EIG_MODE_VECTOR, economy != 0, m, n, host(a), lda,   \
                   s, host(u), ldu, host(v), ldv);                                       \
    return kGood;                                                                        \
  }                                                                                      \
  cusolverStatus_t cusolverDn##L##gesvdjBatched_bufferSize(                              \
      cusolverDnHandle_t, cusolverEigMode_t, int m, int n, const T*, int lda, const R*,  \
      const T*, int ldu, const T*, int ldv, int* size, gesvdjInfo_t params, int batch) { \
    *size = work_of(m) * batch;                                                          \
    return lda >= m && ldu >= m && ldv >= n && m <= 32 && n <= 32 && params ? kGood      \
                                                                            : kBad;      \
  }                                                                                      \
  cusolverStatus_t cusolverDn##L##gesvdjBatched(                                         \
      cusolverDnHandle_t, cusolverEigMode_t mode, int m, int n, T* a, int lda, R* s,     \
      T* u, int ldu, T* v, int ldv, T* work, int size, int* info, gesvdjInfo_t params,   \
      int batch) {                                                                       \
    if (lda < m || ldu < m || ldv < n || size < work_of(m) * batch || !params ||         \
        m > 32 || n > 32) {                                                              \
      return kBad;                                                                       \
    }                                                                                    \
    fake::spoil(work, sizeof(T) * static_cast<size_t>(size));                            \
    for (int b = 0; b < batch; ++b) {                                                    \
      info[b] = gesvdj(mode == CUSOLVER_EIG_MODE_VECTOR, false, m, n,                    \
                       host(a + b * lda * n), lda, s + b * std::min(m, n),               \
                       host(u + b * ldu * m), ldu, host(v + b * ldv * n), ldv);          \
    }                                                                                    \
    return kGood;                                                                        \
  }

FAKE_SOLVER(S, float, float, or, sy)
FAKE_SOLVER(D, double, double, or, sy)
FAKE_SOLVER(C, cuComplex, float, un, he)
FAKE_SOLVER(Z, cuDoubleComplex, double, un, he)

}  // extern "C"
