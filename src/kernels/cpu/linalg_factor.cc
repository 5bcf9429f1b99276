// Cholesky and LU factors, and the determinants that follow from LU. Matrices are
// row-major here and column-major in LAPACK: a row-major matrix read column by column is
// its transpose. dtypes: float32, float64, complex64, complex128.
#include <atomic>
#include <cmath>
#include <cstring>
#include <limits>

#include "base/log.h"
#include "kernels/cpu/lapack.h"
#include "tandem/error.h"
#include "tandem/ops/linalg.h"

namespace tandem::cpu {

namespace {

template <class T>
struct Cholesky {
  static MatrixBatch prepare(const Signature& s) { return matrix_batch(s, 0); }

  // The row-major lower triangle is the column-major upper one of conj(a), whose factor U
  // gives L = Uᵀ, again the same memory.
  static void launch(const MatrixBatch& b, const LaunchArgs& args) {
    const int64_t n = b.rows;
    std::atomic<int64_t> failed{0};
    for_each_matrix(b, cube(b.rows) / 3, args.workspace, [&](int64_t i, std::byte*) {
      const T* a = args.in<T>(0) + i * n * n;
      T* l = args.out<T>() + i * n * n;
      for (int64_t r = 0; r < n; ++r) {
        std::copy_n(a + r * n, r + 1, l + r * n);
        std::fill(l + r * n + r + 1, l + (r + 1) * n, T{});
      }
      if (n == 0 || lapack::potrf('U', lapack::narrow(n), l, lapack::narrow(n)) == 0)
        return;
      failed.fetch_add(1, std::memory_order_relaxed);
      for (int64_t r = 0; r < n; ++r) {
        std::fill_n(l + r * n, r + 1, T(std::numeric_limits<Real<T>>::quiet_NaN()));
      }
    });
    if (failed == 0) return;
    logging::warn("Cholesky: Cholesky decomposition was not successful for " +
                  std::to_string(failed.load()) + " of " + std::to_string(b.batch) +
                  " matrices. The input might not be valid. Their factors are NaN.");
  }
};

struct FactorPlan : MatrixBatch {
  size_t matrix = 0, pivots = 0;
  DType index = DType::kInt32;
};

template <class T>
FactorPlan plan_factor(const Signature& s) {
  FactorPlan p;
  static_cast<MatrixBatch&>(p) = matrix_batch(s, 0);
  p.matrix = p.reserve<T>(p.rows * p.rows);
  p.pivots = p.reserve<lapack::Int>(p.rows);
  return p;
}

template <class I>
void write_permutation(const lapack::Int* pivots, int64_t n, I* p) {
  for (int64_t i = 0; i < n; ++i) p[i] = static_cast<I>(i);
  for (int64_t i = 0; i < n; ++i) std::swap(p[i], p[pivots[i] - 1]);
}

template <class T>
struct LuKernel {
  static FactorPlan prepare(const Signature& s) {
    FactorPlan p = plan_factor<T>(s);
    p.index = s.attrs.as<linalg::LuAttrs>().output_idx_type;
    return p;
  }
  static void launch(const FactorPlan& p, const LaunchArgs& args) {
    const int64_t n = p.rows;
    if (n == 0) return;
    for_each_matrix(p, cube(p.rows), args.workspace, [&](int64_t i, std::byte* scratch) {
      T* a = reinterpret_cast<T*>(scratch + p.matrix);
      auto* pivots = reinterpret_cast<lapack::Int*>(scratch + p.pivots);
      transpose_matrix(args.in<T>(0) + i * n * n, n, n, a);
      lapack::getrf(lapack::narrow(n), a, lapack::narrow(n), pivots);
      for (int64_t k = 0; k < n; ++k) {
        if (std::abs(a[k * n + k]) > 0) continue;
        throw InvalidArgumentError("Lu: Input is not invertible. (Pivot " +
                                   std::to_string(k) + " of matrix " + std::to_string(i) +
                                   " is 0.)");
      }
      transpose_matrix(a, n, n, args.out<T>(0) + i * n * n);
      if (p.index == DType::kInt64) {
        write_permutation(pivots, n, args.out<int64_t>(1) + i * n);
      } else {
        write_permutation(pivots, n, args.out<int32_t>(1) + i * n);
      }
    });
  }
};

// Diagonal of the LU factors of matrix i in scratch memory, and the sign of the
// permutation. A matrix and its transpose have one determinant, so it is not turned.
template <class T>
int factor_for_determinant(const FactorPlan& p, const T* input, int64_t i,
                           std::byte* scratch, T** factors) {
  const int64_t n = p.rows;
  T* a = reinterpret_cast<T*>(scratch + p.matrix);
  auto* pivots = reinterpret_cast<lapack::Int*>(scratch + p.pivots);
  std::copy_n(input + i * n * n, n * n, a);
  if (n > 0) lapack::getrf(lapack::narrow(n), a, lapack::narrow(n), pivots);
  int sign = 1;
  for (int64_t k = 0; k < n; ++k) {
    if (pivots[k] != k + 1) sign = -sign;
  }
  *factors = a;
  return sign;
}

template <class T>
struct Determinant {
  static FactorPlan prepare(const Signature& s) { return plan_factor<T>(s); }
  static void launch(const FactorPlan& p, const LaunchArgs& args) {
    for_each_matrix(p, cube(p.rows), args.workspace, [&](int64_t i, std::byte* scratch) {
      T* a;
      T det(
          static_cast<Real<T>>(factor_for_determinant(p, args.in<T>(0), i, scratch, &a)));
      for (int64_t k = 0; k < p.rows; ++k) det *= a[k * p.rows + k];
      args.out<T>()[i] = det;
    });
  }
};

template <class T>
struct LogDeterminant {
  static FactorPlan prepare(const Signature& s) { return plan_factor<T>(s); }
  static void launch(const FactorPlan& p, const LaunchArgs& args) {
    for_each_matrix(p, cube(p.rows), args.workspace, [&](int64_t i, std::byte* scratch) {
      T* a;
      T sign(
          static_cast<Real<T>>(factor_for_determinant(p, args.in<T>(0), i, scratch, &a)));
      Real<T> log_abs = 0;
      for (int64_t k = 0; k < p.rows; ++k) {
        const T u = a[k * p.rows + k];
        const Real<T> size = std::abs(u);
        log_abs += std::log(size);
        sign *= size == 0 ? T{} : u / size;
      }
      args.out<T>(0)[i] = sign;
      args.out<T>(1)[i] = T(log_abs);
    });
  }
};

}  // namespace

void register_factor_kernels(KernelRegistry& registry) {
  add_matrix_kernels<Cholesky>(registry, "Cholesky", "cpu.cholesky");
  add_matrix_kernels<LuKernel>(registry, "Lu", "cpu.lu");
  add_matrix_kernels<Determinant>(registry, "MatrixDeterminant", "cpu.determinant");
  add_matrix_kernels<LogDeterminant>(registry, "LogMatrixDeterminant",
                                     "cpu.log_determinant");
}

}  // namespace tandem::cpu
