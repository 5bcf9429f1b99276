// Linear systems: general, triangular, and the inverse; and the gradient of Cholesky,
// which is two triangular systems. A row-major matrix is the transpose of the
// column-major one in its memory. dtypes: float32, float64, complex64, complex128.
#include <cmath>

#include "kernels/cpu/lapack.h"
#include "tandem/error.h"
#include "tandem/ops/linalg.h"

namespace tandem::cpu {

namespace {

// Factors a in place; throws when a pivot is zero (or NaN).
template <class T>
void factor(const char* message, int64_t n, T* a, lapack::Int* pivots, int64_t which) {
  lapack::getrf(lapack::narrow(n), a, lapack::narrow(n), pivots);
  for (int64_t k = 0; k < n; ++k) {
    if (std::abs(a[k * n + k]) > 0) continue;
    throw InvalidArgumentError(std::string(message) + " (Pivot " + std::to_string(k) +
                               " of matrix " + std::to_string(which) + " is 0.)");
  }
}

struct SolvePlan : MatrixBatch {
  int64_t unknowns = 0;  // columns of the right-hand side
  bool adjoint = false;
  size_t matrix = 0, pivots = 0, work = 0;
  int work_size = 0;
};

template <class T>
struct Solve {
  static SolvePlan prepare(const Signature& s) {
    SolvePlan p;
    static_cast<MatrixBatch&>(p) = matrix_batch(s, 0);
    p.unknowns = s.in(1).shape.dim(-1);
    p.adjoint = s.attrs.as<linalg::AdjointAttrs>().adjoint;
    p.matrix = p.reserve<T>(p.rows * p.rows);
    p.pivots = p.reserve<lapack::Int>(p.rows);
    p.work = p.reserve<T>(p.rows * p.unknowns);
    return p;
  }
  static void launch(const SolvePlan& p, const LaunchArgs& args) {
    const int64_t n = p.rows, r = p.unknowns;
    if (n == 0 || r == 0) return;
    const double cost = cube(n) + 2.0 * static_cast<double>(n * n * r);
    for_each_matrix(p, cost, args.workspace, [&](int64_t i, std::byte* scratch) {
      T* a = reinterpret_cast<T*>(scratch + p.matrix);
      auto* pivots = reinterpret_cast<lapack::Int*>(scratch + p.pivots);
      T* b = reinterpret_cast<T*>(scratch + p.work);
      // In memory stands aᵀ. For the adjoint it is conjugated and solved as it is.
      const T* from = args.in<T>(0) + i * n * n;
      for (int64_t k = 0; k < n * n; ++k)
        a[k] = p.adjoint ? conjugated(from[k]) : from[k];
      factor("MatrixSolve: Input matrix is not invertible.", n, a, pivots, i);
      transpose_matrix(args.in<T>(1) + i * n * r, n, r, b);
      lapack::getrs(p.adjoint ? 'N' : 'T', lapack::narrow(n), lapack::narrow(r), a,
                    pivots, b);
      transpose_matrix(b, r, n, args.out<T>() + i * n * r);
    });
  }
};

template <class T>
struct Inverse {
  static SolvePlan prepare(const Signature& s) {
    SolvePlan p;
    static_cast<MatrixBatch&>(p) = matrix_batch(s, 0);
    p.adjoint = s.attrs.as<linalg::AdjointAttrs>().adjoint;
    p.pivots = p.reserve<lapack::Int>(p.rows);
    p.matrix = p.reserve<T>(kIsComplex<T> ? p.rows * p.rows : 0);
    T answer{};
    if (p.rows > 0) lapack::getri(lapack::narrow(p.rows), &answer, nullptr, &answer, -1);
    p.work_size = lapack::queried(answer);
    p.work = p.reserve<T>(p.work_size);
    return p;
  }
  // The inverse of the transpose is the transpose of the inverse: nothing is turned but
  // the adjoint.
  static void launch(const SolvePlan& p, const LaunchArgs& args) {
    const int64_t n = p.rows;
    if (n == 0) return;
    for_each_matrix(p, 2 * cube(n), args.workspace, [&](int64_t i, std::byte* scratch) {
      const T* from = args.in<T>(0) + i * n * n;
      T* out = args.out<T>() + i * n * n;
      // Complex matrices are read past their end (lapack.h).
      T* a = kIsComplex<T> ? reinterpret_cast<T*>(scratch + p.matrix) : out;
      auto* pivots = reinterpret_cast<lapack::Int*>(scratch + p.pivots);
      if (p.adjoint) {
        transpose_matrix(from, n, n, a, true);
      } else {
        std::copy_n(from, n * n, a);
      }
      factor("MatrixInverse: Input is not invertible.", n, a, pivots, i);
      lapack::getri(lapack::narrow(n), a, pivots, reinterpret_cast<T*>(scratch + p.work),
                    p.work_size);
      if (a != out) std::copy_n(a, n * n, out);
    });
  }
};

struct TriangularPlan : MatrixBatch {
  int64_t unknowns = 0;
  bool lower = true, adjoint = false;
  std::vector<int64_t> a_at, b_at;  // which matrix and right-hand side belong to a result
};

// Indices of an operand's matrices for each matrix of the broadcast batch.
std::vector<int64_t> broadcast_index(const Shape& from, const Shape& to) {
  const int rank = to.rank() - 2, own = from.rank() - 2;
  int64_t total = 1;
  for (int d = 0; d < rank; ++d) total *= to[d];
  std::vector<int64_t> index(static_cast<size_t>(total));
  for (int64_t i = 0; i < total; ++i) {
    int64_t rest = i, at = 0, step = 1;
    for (int d = rank; d-- > 0;) {
      const int f = d - (rank - own);
      if (f >= 0 && from[f] != 1) at += rest % to[d] * step;
      if (f >= 0) step *= from[f];
      rest /= to[d];
    }
    index[static_cast<size_t>(i)] = at;
  }
  return index;
}

template <class T>
struct TriangularSolve {
  static TriangularPlan prepare(const Signature& s) {
    TriangularPlan p;
    static_cast<MatrixBatch&>(p) = matrix_batch(s, 0);
    const auto& attrs = s.attrs.as<linalg::TriangularSolveAttrs>();
    p.lower = attrs.lower;
    p.adjoint = attrs.adjoint;
    p.unknowns = s.in(1).shape.dim(-1);
    p.a_at = broadcast_index(s.in(0).shape, s.out().shape);
    p.b_at = broadcast_index(s.in(1).shape, s.out().shape);
    p.batch = static_cast<int64_t>(p.a_at.size());
    p.parts = static_cast<int>(std::clamp<int64_t>(p.batch, 1, s.threads));
    return p;
  }
  static void launch(const TriangularPlan& p, const LaunchArgs& args) {
    const int64_t n = p.rows, r = p.unknowns;
    if (n == 0 || r == 0) return;
    const CBLAS_UPLO uplo = p.lower ? CblasLower : CblasUpper;
    const CBLAS_TRANSPOSE turn = p.adjoint ? CblasConjTrans : CblasNoTrans;
    const double cost = static_cast<double>(n * n * r);
    for_each_matrix(p, cost, args.workspace, [&](int64_t i, std::byte*) {
      const auto at = static_cast<size_t>(i);
      T* x = args.out<T>() + i * n * r;
      std::copy_n(args.in<T>(1) + p.b_at[at] * n * r, n * r, x);
      lapack::trsm(uplo, turn, lapack::narrow(n), lapack::narrow(r),
                   args.in<T>(0) + p.a_at[at] * n * n, x);
    });
  }
};

// L⁻ᴴ · lower(Lᴴ·G with halved diagonal) · L⁻¹, made self-adjoint.
template <class T>
struct CholeskyGrad {
  struct Plan : MatrixBatch {
    size_t product = 0, turned = 0;
  };
  static Plan prepare(const Signature& s) {
    Plan p;
    static_cast<MatrixBatch&>(p) = matrix_batch(s, 0);
    p.product = p.template reserve<T>(p.rows * p.rows);
    p.turned = p.template reserve<T>(p.rows * p.rows);
    return p;
  }
  static void launch(const Plan& p, const LaunchArgs& args) {
    const int64_t n = p.rows;
    if (n == 0) return;
    for_each_matrix(p, 4 * cube(n), args.workspace, [&](int64_t i, std::byte* scratch) {
      const T* l = args.in<T>(0) + i * n * n;
      T* m = reinterpret_cast<T*>(scratch + p.product);
      T* t = reinterpret_cast<T*>(scratch + p.turned);
      T* out = args.out<T>() + i * n * n;
      const auto k = lapack::narrow(n);
      std::copy_n(args.in<T>(1) + i * n * n, n * n, m);
      lapack::trmm(CblasLower, CblasConjTrans, k, k, l, m);  // M = Lᴴ·G
      for (int64_t r = 0; r < n; ++r) {
        m[r * n + r] *= T(Real<T>(0.5));
        std::fill(m + r * n + r + 1, m + (r + 1) * n, T{});
      }
      lapack::trsm(CblasLower, CblasConjTrans, k, k, l, m);  // L⁻ᴴ·M
      transpose_matrix(m, n, n, t, true);
      lapack::trsm(CblasLower, CblasConjTrans, k, k, l, t);  // (L⁻ᴴ·M·L⁻¹)ᴴ
      for (int64_t r = 0; r < n; ++r) {
        for (int64_t q = 0; q < n; ++q) {
          out[r * n + q] = T(Real<T>(0.5)) * (t[r * n + q] + conjugated(t[q * n + r]));
        }
      }
    });
  }
};

}  // namespace

void register_solve_kernels(KernelRegistry& registry) {
  add_matrix_kernels<Solve>(registry, "MatrixSolve", "cpu.solve");
  add_matrix_kernels<Inverse>(registry, "MatrixInverse", "cpu.inverse");
  add_matrix_kernels<TriangularSolve>(registry, "MatrixTriangularSolve",
                                      "cpu.triangular_solve");
  add_matrix_kernels<CholeskyGrad>(registry, "CholeskyGrad", "cpu.cholesky_grad");
}

}  // namespace tandem::cpu
