// LAPACK for the four dtypes under one name each (column-major, workspaces from the
// caller), and what kernels over batches of matrices share. dtypes: float32, float64,
// complex64, complex128.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <type_traits>

#include "base/fn_ref.h"
#include "kernels/cpu/openblas.h"
#include "op/kernel.h"

namespace tandem::cpu {

template <class T>
struct RealOf {
  using type = T;
};
template <class T>
struct RealOf<std::complex<T>> {
  using type = T;
};
template <class T>
using Real = typename RealOf<T>::type;
template <class T>
inline constexpr bool kIsComplex = !std::is_same_v<T, Real<T>>;

template <class T>
T conjugated(T x) {
  if constexpr (kIsComplex<T>)
    return std::conj(x);
  else
    return x;
}

namespace lapack {

using Int = lapack_int;
inline Int narrow(int64_t n) { return static_cast<Int>(n); }

#define TANDEM_LAPACK_COMMON(T, p, unitary)                                           \
  inline Int potrf(char uplo, Int n, T* a, Int lda) {                                 \
    return LAPACKE_##p##potrf_work(LAPACK_COL_MAJOR, uplo, n, a, lda);                \
  }                                                                                   \
  inline Int getrf(Int n, T* a, Int lda, Int* pivots) {                               \
    return LAPACKE_##p##getrf_work(LAPACK_COL_MAJOR, n, n, a, lda, pivots);           \
  }                                                                                   \
  inline Int getrs(char trans, Int n, Int columns, const T* a, const Int* pivots,     \
                   T* b) {                                                            \
    return LAPACKE_##p##getrs_work(LAPACK_COL_MAJOR, trans, n, columns, a,            \
                                   std::max(n, 1), pivots, b, std::max(n, 1));        \
  }                                                                                   \
  inline Int getri(Int n, T* a, const Int* pivots, T* work, Int size) {               \
    return LAPACKE_##p##getri_work(LAPACK_COL_MAJOR, n, a, n, pivots, work, size);    \
  }                                                                                   \
  inline Int gelqf(Int m, Int n, T* a, T* tau, T* work, Int size) {                   \
    return LAPACKE_##p##gelqf_work(LAPACK_COL_MAJOR, m, n, a, m, tau, work, size);    \
  }                                                                                   \
  inline Int unglq(Int m, Int n, Int k, T* a, const T* tau, T* work, Int size) {      \
    return LAPACKE_##p##unitary##glq_work(LAPACK_COL_MAJOR, m, n, k, a, m, tau, work, \
                                          size);                                      \
  }

#define TANDEM_LAPACK_REAL(T, p)                                                        \
  TANDEM_LAPACK_COMMON(T, p, or)                                                        \
  inline Int gesdd(char job, Int m, Int n, T* a, T* s, T* u, Int ldu, T* vt, Int ldvt,  \
                   T* work, Int size, T*, Int* iwork) {                                 \
    return LAPACKE_##p##gesdd_work(LAPACK_COL_MAJOR, job, m, n, a, m, s, u, ldu, vt,    \
                                   ldvt, work, size, iwork);                            \
  }                                                                                     \
  inline Int heevd(char job, Int n, T* a, T* w, T* work, Int size, T*, Int, Int* iwork, \
                   Int isize) {                                                         \
    return LAPACKE_##p##syevd_work(LAPACK_COL_MAJOR, job, 'U', n, a, n, w, work, size,  \
                                   iwork, isize);                                       \
  }                                                                                     \
  inline Int geev(char job, Int n, T* a, T* wr, T* wi, T* v, T* work, Int size, T*) {   \
    return LAPACKE_##p##geev_work(LAPACK_COL_MAJOR, 'N', job, n, a, n, wr, wi, nullptr, \
                                  1, v, n, work, size);                                 \
  }                                                                                     \
  inline void trsm(CBLAS_UPLO uplo, CBLAS_TRANSPOSE t, Int n, Int columns, const T* a,  \
                   T* b) {                                                              \
    cblas_##p##trsm(CblasRowMajor, CblasLeft, uplo, t, CblasNonUnit, n, columns, T(1),  \
                    a, n, b, columns);                                                  \
  }                                                                                     \
  inline void trmm(CBLAS_UPLO uplo, CBLAS_TRANSPOSE t, Int n, Int columns, const T* a,  \
                   T* b) {                                                              \
    cblas_##p##trmm(CblasRowMajor, CblasLeft, uplo, t, CblasNonUnit, n, columns, T(1),  \
                    a, n, b, columns);                                                  \
  }

#define TANDEM_LAPACK_COMPLEX(T, p)                                                      \
  TANDEM_LAPACK_COMMON(T, p, un)                                                         \
  inline Int gesdd(char job, Int m, Int n, T* a, Real<T>* s, T* u, Int ldu, T* vt,       \
                   Int ldvt, T* work, Int size, Real<T>* rwork, Int* iwork) {            \
    return LAPACKE_##p##gesdd_work(LAPACK_COL_MAJOR, job, m, n, a, m, s, u, ldu, vt,     \
                                   ldvt, work, size, rwork, iwork);                      \
  }                                                                                      \
  inline Int heevd(char job, Int n, T* a, Real<T>* w, T* work, Int size, Real<T>* rwork, \
                   Int rsize, Int* iwork, Int isize) {                                   \
    return LAPACKE_##p##heevd_work(LAPACK_COL_MAJOR, job, 'U', n, a, n, w, work, size,   \
                                   rwork, rsize, iwork, isize);                          \
  }                                                                                      \
  inline Int geev(char job, Int n, T* a, T* w, T*, T* v, T* work, Int size,              \
                  Real<T>* rwork) {                                                      \
    return LAPACKE_##p##geev_work(LAPACK_COL_MAJOR, 'N', job, n, a, n, w, nullptr, 1, v, \
                                  n, work, size, rwork);                                 \
  }                                                                                      \
  inline void trsm(CBLAS_UPLO uplo, CBLAS_TRANSPOSE t, Int n, Int columns, const T* a,   \
                   T* b) {                                                               \
    const T one = 1;                                                                     \
    cblas_##p##trsm(CblasRowMajor, CblasLeft, uplo, t, CblasNonUnit, n, columns, &one,   \
                    a, n, b, columns);                                                   \
  }                                                                                      \
  inline void trmm(CBLAS_UPLO uplo, CBLAS_TRANSPOSE t, Int n, Int columns, const T* a,   \
                   T* b) {                                                               \
    const T one = 1;                                                                     \
    cblas_##p##trmm(CblasRowMajor, CblasLeft, uplo, t, CblasNonUnit, n, columns, &one,   \
                    a, n, b, columns);                                                   \
  }

TANDEM_LAPACK_REAL(float, s)
TANDEM_LAPACK_REAL(double, d)
TANDEM_LAPACK_COMPLEX(std::complex<float>, c)
TANDEM_LAPACK_COMPLEX(std::complex<double>, z)

#undef TANDEM_LAPACK_COMMON
#undef TANDEM_LAPACK_REAL
#undef TANDEM_LAPACK_COMPLEX

/// The size that a workspace query (call with size -1) wrote, as a float perhaps: from
/// 2^24 on it may have been rounded down, and the next float is enough.
template <class T>
Int queried(T answer) {
  using R = Real<T>;
  const R size = std::real(answer);
  constexpr R kExact = R(int64_t{1} << std::numeric_limits<R>::digits);
  const R enough =
      size < kExact ? size : std::nextafter(size, std::numeric_limits<R>::max());
  constexpr auto kMost = static_cast<double>(std::numeric_limits<Int>::max());
  return std::max<Int>(1, static_cast<Int>(std::min(static_cast<double>(enough), kMost)));
}

}  // namespace lapack

/// A batch of matrices, the scratch memory of one thread and how many threads there may
/// be.
struct MatrixBatch {
  int64_t batch = 1;
  int64_t rows = 0, columns = 0;
  int parts = 1;
  size_t part_bytes = 0;
  size_t workspace_bytes = 0;
  size_t read_past = 0;  // of the last part

  /// Reserves `count` elements in each part's scratch memory; returns where they start.
  template <class T>
  size_t reserve(int64_t count) {
    const size_t at = part_bytes;
    part_bytes += (static_cast<size_t>(count) * sizeof(T) + 63) / 64 * 64;
    if (kIsComplex<T>) {
      // OpenBLAS's product of a complex matrix and a vector reads up to four columns
      // past the matrix.
      read_past = 4 * static_cast<size_t>(std::max(rows, columns)) * sizeof(T);
    }
    workspace_bytes = part_bytes * static_cast<size_t>(parts) + read_past;
    return at;
  }
};

inline double cube(int64_t n) {
  const auto x = static_cast<double>(n);
  return x * x * x;
}

/// The batch of input i; throws when the matrices are larger than LAPACK can count.
MatrixBatch matrix_batch(const Signature& s, int i);
/// body(matrix, scratch) for every matrix, in parallel; `cost` is flops of one.
void for_each_matrix(const MatrixBatch& b, double cost, void* workspace,
                     FnRef<void(int64_t, std::byte*)> body);

/// to[j][i] = from[i][j], conjugated when asked; in cache blocks.
template <class T>
void transpose_matrix(const T* from, int64_t rows, int64_t columns, T* to,
                      bool conjugate = false) {
  constexpr int64_t kBlock = 16;
  for (int64_t i0 = 0; i0 < rows; i0 += kBlock) {
    for (int64_t j0 = 0; j0 < columns; j0 += kBlock) {
      const int64_t i1 = std::min(rows, i0 + kBlock), j1 = std::min(columns, j0 + kBlock);
      for (int64_t i = i0; i < i1; ++i) {
        for (int64_t j = j0; j < j1; ++j) {
          const T x = from[i * columns + j];
          to[j * rows + i] = conjugate ? conjugated(x) : x;
        }
      }
    }
  }
}

/// Registers K<T>::prepare and K<T>::launch for all four dtypes.
template <template <class> class K>
void add_matrix_kernels(KernelRegistry& registry, const std::string& op,
                        const std::string& id) {
  registry.add(make_kernel<&K<float>::prepare, &K<float>::launch>(op, id + ".f32",
                                                                  mask(DType::kFloat32)));
  registry.add(make_kernel<&K<double>::prepare, &K<double>::launch>(
      op, id + ".f64", mask(DType::kFloat64)));
  registry.add(
      make_kernel<&K<std::complex<float>>::prepare, &K<std::complex<float>>::launch>(
          op, id + ".c64", mask(DType::kComplex64)));
  registry.add(
      make_kernel<&K<std::complex<double>>::prepare, &K<std::complex<double>>::launch>(
          op, id + ".c128", mask(DType::kComplex128)));
}

void register_factor_kernels(KernelRegistry& registry);
void register_solve_kernels(KernelRegistry& registry);
void register_qr_svd_kernels(KernelRegistry& registry);
void register_eigen_kernels(KernelRegistry& registry);
void register_cross_kernel(KernelRegistry& registry);

}  // namespace tandem::cpu
