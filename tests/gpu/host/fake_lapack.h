// What the pretended cuBLAS and cuSOLVER share: LAPACK for host memory under one name per
// routine, and scratch memory that is overwritten, so that a caller who lets regions
// overlap gets wrong results.
#pragma once

#include <complex>
#include <cstring>
#include <vector>

#define LAPACK_COMPLEX_CUSTOM
#define lapack_complex_float std::complex<float>
#define lapack_complex_double std::complex<double>
#include <cblas.h>
#include <cublas_v2.h>
#include <lapacke.h>

namespace fake {

template <class T>
struct Host {
  using type = T;
  using real = T;
};
template <>
struct Host<cuComplex> {
  using type = std::complex<float>;
  using real = float;
};
template <>
struct Host<cuDoubleComplex> {
  using type = std::complex<double>;
  using real = double;
};
template <class T>
auto* host(T* x) {
  return reinterpret_cast<typename Host<T>::type*>(x);
}
template <class T>
const auto* host(const T* x) {
  return reinterpret_cast<const typename Host<T>::type*>(x);
}

inline char letter(cublasFillMode_t fill) {
  return fill == CUBLAS_FILL_MODE_UPPER ? 'U' : 'L';
}
inline char letter(cublasOperation_t op) {
  return op == CUBLAS_OP_N ? 'N' : op == CUBLAS_OP_T ? 'T' : 'C';
}
inline CBLAS_TRANSPOSE turn(cublasOperation_t op) {
  return op == CUBLAS_OP_N   ? CblasNoTrans
         : op == CUBLAS_OP_T ? CblasTrans
                             : CblasConjTrans;
}

/// Overwrites scratch memory.
inline void spoil(void* work, size_t bytes) { std::memset(work, 0xab, bytes); }

constexpr int kColumns = LAPACK_COL_MAJOR;
constexpr auto kBlasColumns = CblasColMajor;

#define FAKE_COMMON(T, p, un, he)                                                       \
  inline int potrf(char fill, int n, T* a, int lda) {                                   \
    return LAPACKE_##p##potrf(kColumns, fill, n, a, lda);                               \
  }                                                                                     \
  inline int getrf(int m, int n, T* a, int lda, int* pivots) {                          \
    return LAPACKE_##p##getrf_work(kColumns, m, n, a, lda, pivots);                     \
  }                                                                                     \
  inline int getrs(char op, int n, int columns, const T* a, int lda, const int* pivots, \
                   T* b, int ldb) {                                                     \
    return LAPACKE_##p##getrs_work(kColumns, op, n, columns, a, lda, pivots, b, ldb);   \
  }                                                                                     \
  inline int getri(int n, T* a, int lda, const int* pivots) {                           \
    return LAPACKE_##p##getri(kColumns, n, a, lda, pivots);                             \
  }                                                                                     \
  inline int geqrf(int m, int n, T* a, int lda, T* tau) {                               \
    return LAPACKE_##p##geqrf(kColumns, m, n, a, lda, tau);                             \
  }                                                                                     \
  inline int ungqr(int m, int n, int k, T* a, int lda, const T* tau) {                  \
    return LAPACKE_##p##un##gqr(kColumns, m, n, k, a, lda, tau);                        \
  }                                                                                     \
  template <class R>                                                                    \
  int heevd(char job, char fill, int n, T* a, int lda, R* w) {                          \
    return LAPACKE_##p##he##evd(kColumns, job, fill, n, a, lda, w);                     \
  }                                                                                     \
  template <class R>                                                                    \
  int gesdd(char job, int m, int n, T* a, int lda, R* s, T* u, int ldu, T* vt,          \
            int ldvt) {                                                                 \
    return LAPACKE_##p##gesdd(kColumns, job, m, n, a, lda, s, u, ldu, vt, ldvt);        \
  }

FAKE_COMMON(float, s, or, sy)
FAKE_COMMON(double, d, or, sy)
FAKE_COMMON(std::complex<float>, c, un, he)
FAKE_COMMON(std::complex<double>, z, un, he)
#undef FAKE_COMMON

}  // namespace fake
