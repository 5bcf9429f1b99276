// Eigenvalues and eigenvectors of self-adjoint and of general matrices.
// dtypes: float32, float64, complex64, complex128.
#include <cmath>
#include <vector>

#include "kernels/cpu/lapack.h"
#include "tandem/error.h"
#include "tandem/ops/linalg.h"

namespace tandem::cpu {

namespace {

using lapack::Int;
using lapack::narrow;

template <class T>
void check_finite(const T* a, int64_t n, const char* message) {
  bool finite = true;
  for (int64_t k = 0; k < n * n; ++k) finite &= std::isfinite(std::abs(a[k]));
  if (!finite) throw InvalidArgumentError(message);
}

struct EigenPlan : MatrixBatch {
  char job = 'V';
  size_t matrix = 0, values = 0, imaginary = 0, vectors = 0, work = 0, rwork = 0,
         iwork = 0;
  Int work_size = 1, rwork_size = 1, iwork_size = 1;
  double cost() const {
    const auto n = static_cast<double>(rows);
    return (job == 'V' ? 25 : 10) * n * n * n;
  }
};

EigenPlan plan_eigen(const Signature& s) {
  EigenPlan p;
  static_cast<MatrixBatch&>(p) = matrix_batch(s, 0);
  p.job = s.attrs.as<linalg::EigAttrs>().compute_v ? 'V' : 'N';
  return p;
}

template <class T>
struct SelfAdjoint {
  static constexpr const char* kFailed =
      "SelfAdjointEigV2: Self-adjoint eigen decomposition was not successful. The input "
      "might not "
      "be valid.";

  static EigenPlan prepare(const Signature& s) {
    EigenPlan p = plan_eigen(s);
    if (p.rows == 0) return p;
    p.matrix = p.reserve<T>(p.rows * p.rows);
    p.values = p.reserve<Real<T>>(p.rows);
    T answer{}, none{};
    Real<T> real{}, real_answer{};
    Int integer_answer{};
    lapack::heevd(p.job, narrow(p.rows), &none, &real, &answer, -1, &real_answer, -1,
                  &integer_answer, -1);
    p.work_size = lapack::queried(answer);
    p.rwork_size = lapack::queried(real_answer);
    p.iwork_size = std::max<Int>(1, integer_answer);
    p.work = p.reserve<T>(p.work_size);
    p.rwork = p.reserve<Real<T>>(p.rwork_size);
    p.iwork = p.reserve<Int>(p.iwork_size);
    return p;
  }
  // The row-major lower triangle is the column-major upper one of conj(a), whose
  // eigenvectors are the conjugates of a's.
  static void launch(const EigenPlan& p, const LaunchArgs& args) {
    const int64_t n = p.rows;
    if (n == 0) return;
    for_each_matrix(p, p.cost(), args.workspace, [&](int64_t i, std::byte* scratch) {
      const T* from = args.in<T>(0) + i * n * n;
      T* a = reinterpret_cast<T*>(scratch + p.matrix);
      auto* w = reinterpret_cast<Real<T>*>(scratch + p.values);
      for (int64_t r = 0; r < n; ++r) {  // the other triangle is not looked at
        std::copy_n(from + r * n, r + 1, a + r * n);
        std::fill(a + r * n + r + 1, a + (r + 1) * n, T{});
      }
      check_finite(a, n, kFailed);
      const Int info = lapack::heevd(
          p.job, narrow(n), a, w, reinterpret_cast<T*>(scratch + p.work), p.work_size,
          reinterpret_cast<Real<T>*>(scratch + p.rwork), p.rwork_size,
          reinterpret_cast<Int*>(scratch + p.iwork), p.iwork_size);
      if (info != 0) throw InvalidArgumentError(kFailed);
      T* e = args.out<T>(0) + i * n;
      for (int64_t k = 0; k < n; ++k) e[k] = T(w[k]);
      if (p.job == 'V') transpose_matrix(a, n, n, args.out<T>(1) + i * n * n, true);
    });
  }
};

template <class T>
struct General {
  using Complex = std::complex<Real<T>>;
  static constexpr const char* kFailed =
      "Eig: Eigen decomposition was not successful. The input might not be valid.";

  static EigenPlan prepare(const Signature& s) {
    EigenPlan p = plan_eigen(s);
    const int64_t n = p.rows;
    if (n == 0) return p;
    p.matrix = p.reserve<T>(n * n);
    p.values = p.reserve<T>(n);
    p.imaginary = p.reserve<T>(n);
    p.vectors = p.reserve<T>(p.job == 'V' ? n * n : 1);
    p.rwork = p.reserve<Real<T>>(2 * n);
    T answer{}, none{};
    Real<T> real{};
    lapack::geev(p.job, narrow(n), &none, &none, &none, &none, &answer, -1, &real);
    p.work_size = lapack::queried(answer);
    p.work = p.reserve<T>(p.work_size);
    return p;
  }
  // For real matrices LAPACK stores a pair of conjugate vectors as real and imaginary
  // part.
  static void write_vectors(int64_t n, const T* v, const T* imaginary, Complex* out) {
    for (int64_t j = 0; j < n; ++j) {
      if constexpr (kIsComplex<T>) {
        for (int64_t r = 0; r < n; ++r) out[r * n + j] = v[j * n + r];
      } else if (imaginary[j] == 0) {
        for (int64_t r = 0; r < n; ++r) out[r * n + j] = v[j * n + r];
      } else {
        for (int64_t r = 0; r < n; ++r) {
          const Complex x(v[j * n + r], v[(j + 1) * n + r]);
          out[r * n + j] = x;
          out[r * n + j + 1] = std::conj(x);
        }
        ++j;
      }
    }
  }
  static void launch(const EigenPlan& p, const LaunchArgs& args) {
    const int64_t n = p.rows;
    if (n == 0) return;
    for_each_matrix(p, p.cost(), args.workspace, [&](int64_t i, std::byte* scratch) {
      const T* from = args.in<T>(0) + i * n * n;
      check_finite(from, n, kFailed);
      T* a = reinterpret_cast<T*>(scratch + p.matrix);
      T* w = reinterpret_cast<T*>(scratch + p.values);
      T* imaginary = reinterpret_cast<T*>(scratch + p.imaginary);
      T* v = reinterpret_cast<T*>(scratch + p.vectors);
      transpose_matrix(from, n, n, a);
      const Int info = lapack::geev(p.job, narrow(n), a, w, imaginary, v,
                                    reinterpret_cast<T*>(scratch + p.work), p.work_size,
                                    reinterpret_cast<Real<T>*>(scratch + p.rwork));
      if (info != 0) throw InvalidArgumentError(kFailed);
      auto* e = args.out<Complex>(0) + i * n;
      for (int64_t k = 0; k < n; ++k) {
        if constexpr (kIsComplex<T>)
          e[k] = w[k];
        else
          e[k] = Complex(w[k], imaginary[k]);
      }
      if (p.job == 'V') write_vectors(n, v, imaginary, args.out<Complex>(1) + i * n * n);
    });
  }
};

}  // namespace

void register_eigen_kernels(KernelRegistry& registry) {
  add_matrix_kernels<SelfAdjoint>(registry, "SelfAdjointEigV2", "cpu.eigh");
  add_matrix_kernels<General>(registry, "Eig", "cpu.eig");
}

}  // namespace tandem::cpu
