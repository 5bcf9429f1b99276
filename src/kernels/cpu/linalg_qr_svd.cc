// QR and singular value decompositions. LAPACK sees the transpose aᵀ of a row-major
// matrix a, so that QR is done as LQ, and the left and right singular vectors change
// places. dtypes: float32, float64, complex64, complex128.
#include <cmath>
#include <limits>

#include "kernels/cpu/lapack.h"
#include "tandem/error.h"
#include "tandem/ops/linalg.h"

namespace tandem::cpu {

namespace {

using lapack::Int;
using lapack::narrow;

double volume(const MatrixBatch& b) {
  const auto m = static_cast<double>(b.rows), n = static_cast<double>(b.columns);
  return m * n * std::min(m, n);
}

template <class T>
void write_identity(T* out, int64_t n) {
  std::fill_n(out, n * n, T{});
  for (int64_t i = 0; i < n; ++i) out[i * n + i] = T(1);
}

struct QrPlan : MatrixBatch {
  int64_t least = 0, q_columns = 0;  // min(rows, columns); columns of q and rows of r
  size_t matrix = 0, q = 0, tau = 0, work = 0;
  Int work_size = 1;
};

template <class T>
struct QrKernel {
  static QrPlan prepare(const Signature& s) {
    QrPlan p;
    static_cast<MatrixBatch&>(p) = matrix_batch(s, 0);
    p.least = std::min(p.rows, p.columns);
    p.q_columns = s.attrs.as<linalg::QrAttrs>().full_matrices ? p.rows : p.least;
    if (p.least == 0) return p;
    p.matrix = p.reserve<T>(p.rows * p.columns);
    p.q = p.reserve<T>(kIsComplex<T> ? p.rows * p.q_columns : 0);
    p.tau = p.reserve<T>(p.least);
    T factor{}, form{}, none{};
    lapack::gelqf(narrow(p.columns), narrow(p.rows), &none, &none, &factor, -1);
    lapack::unglq(narrow(p.q_columns), narrow(p.rows), narrow(p.least), &none, &none,
                  &form, -1);
    p.work_size = std::max(lapack::queried(factor), lapack::queried(form));
    p.work = p.reserve<T>(p.work_size);
    return p;
  }
  // aᵀ = L·Q' in column-major memory, so a = Q'ᵀ·Lᵀ: read row-major again, the factors
  // are q and r.
  static void launch(const QrPlan& p, const LaunchArgs& args) {
    const int64_t m = p.rows, n = p.columns, w = p.q_columns;
    for_each_matrix(p, 4 * volume(p), args.workspace, [&](int64_t i, std::byte* scratch) {
      T* q = args.out<T>(0) + i * m * w;
      T* r = args.out<T>(1) + i * w * n;
      if (p.least == 0) {
        if (w > 0) write_identity(q, w);
        return;
      }
      T* a = reinterpret_cast<T*>(scratch + p.matrix);
      // Complex matrices are read past their end (lapack.h).
      T* formed = kIsComplex<T> ? reinterpret_cast<T*>(scratch + p.q) : q;
      T* tau = reinterpret_cast<T*>(scratch + p.tau);
      T* work = reinterpret_cast<T*>(scratch + p.work);
      std::copy_n(args.in<T>(0) + i * m * n, m * n, a);
      lapack::gelqf(narrow(n), narrow(m), a, tau, work, p.work_size);
      const int64_t good = good_reflections(p, a, tau);
      for (int64_t row = good; row < p.least; ++row) {
        T* const own = a + row * n;
        std::fill(own + (row == good ? row + 1 : row), own + n, not_a_number());
      }
      for (int64_t row = 0; row < w; ++row) {
        const int64_t from = std::min(row, n);
        std::fill_n(r + row * n, from, T{});
        std::copy(a + row * n + from, a + (row + 1) * n, r + row * n + from);
      }
      for (int64_t row = 0; row < m; ++row) {
        std::copy_n(a + row * n, std::min(w, n), formed + row * w);
      }
      lapack::unglq(narrow(w), narrow(m), narrow(p.least), formed, tau, work,
                    p.work_size);
      if (formed != q) std::copy_n(formed, m * w, q);
      if (good == p.least) return;
      for (int64_t row = 0; row < m; ++row) {
        std::fill(q + row * w + good, q + (row + 1) * w, not_a_number());
      }
    });
  }

 private:
  static T not_a_number() {
    const Real<T> nan = std::numeric_limits<Real<T>>::quiet_NaN();
    if constexpr (kIsComplex<T>) return T(nan, nan);
    return T(nan);
  }

  // How many columns from the first on have a direction: what LAPACK makes of an infinite
  // one, and of those behind it, is NaN in places alone.
  static int64_t good_reflections(const QrPlan& p, const T* a, const T* tau) {
    const auto finite = [](T v) { return std::isfinite(std::abs(v)); };
    for (int64_t k = 0; k < p.least; ++k) {
      if (!finite(tau[k])) return k;
      for (int64_t row = k + 1; row < p.rows; ++row) {
        if (!finite(a[row * p.columns + k])) return k;
      }
    }
    return p.least;
  }
};

struct SvdPlan : MatrixBatch {
  int64_t least = 0, u_columns = 0, v_columns = 0;
  char job = 'S';
  size_t matrix = 0, left = 0, right = 0, work = 0, rwork = 0, iwork = 0;
  Int work_size = 1;
};

template <class T>
struct SvdKernel {
  static SvdPlan prepare(const Signature& s) {
    const auto& attrs = s.attrs.as<linalg::SvdAttrs>();
    SvdPlan p;
    static_cast<MatrixBatch&>(p) = matrix_batch(s, 0);
    p.least = std::min(p.rows, p.columns);
    p.job = !attrs.compute_uv ? 'N' : attrs.full_matrices ? 'A' : 'S';
    p.u_columns = attrs.full_matrices ? p.rows : p.least;
    p.v_columns = attrs.full_matrices ? p.columns : p.least;
    if (p.least == 0) return p;
    p.matrix = p.reserve<T>(p.rows * p.columns);
    p.left = p.reserve<T>(p.job == 'N' ? 1 : p.columns * p.v_columns);
    p.right = p.reserve<T>(kIsComplex<T> && p.job != 'N' ? p.rows * p.u_columns : 0);
    const int64_t k = p.least, large = std::max(p.rows, p.columns);
    p.rwork = p.reserve<Real<T>>(
        kIsComplex<T>
            ? std::max(7 * k, std::max(5 * k * k + 5 * k, 2 * large * k + 2 * k * k + k))
            : 1);
    p.iwork = p.reserve<Int>(8 * k);
    T answer{}, none{};
    Real<T> real{};
    Int integer{};
    lapack::gesdd(p.job, narrow(p.columns), narrow(p.rows), &none, &real, &none,
                  narrow(p.columns), &none, narrow(std::max<int64_t>(1, p.u_columns)),
                  &answer, -1, &real, &integer);
    p.work_size = lapack::queried(answer);
    p.work = p.reserve<T>(p.work_size);
    return p;
  }

  static void fill_nan(const SvdPlan& p, Real<T>* s, T* u, T* v) {
    const Real<T> nan = std::numeric_limits<Real<T>>::quiet_NaN();
    std::fill_n(s, p.least, nan);
    if (p.job == 'N') return;
    std::fill_n(u, p.rows * p.u_columns, T(nan));
    std::fill_n(v, p.columns * p.v_columns, T(nan));
  }

  // aᵀ = U'·S·V'ᴴ, so a = conj(V')·S·U'ᵀ: the memory of V'ᴴ is u, and v is the conjugate
  // of U'.
  static void launch(const SvdPlan& p, const LaunchArgs& args) {
    const int64_t m = p.rows, n = p.columns;
    for_each_matrix(
        p, 10 * volume(p), args.workspace, [&](int64_t i, std::byte* scratch) {
          auto* s = args.out<Real<T>>(0) + i * p.least;
          T* u = args.out<T>(1);
          T* v = args.out<T>(2);
          if (p.job != 'N') {
            u += i * m * p.u_columns;
            v += i * n * p.v_columns;
          }
          if (p.least == 0) {
            if (p.job == 'A') {
              write_identity(u, p.u_columns);
              write_identity(v, p.v_columns);
            }
            return;
          }
          const T* from = args.in<T>(0) + i * m * n;
          // LAPACK may loop or fail on numbers that are not finite; TensorFlow's answer
          // is NaN.
          bool finite = true;
          for (int64_t k = 0; k < m * n; ++k) finite &= std::isfinite(std::abs(from[k]));
          if (!finite) return fill_nan(p, s, u, v);
          T* a = reinterpret_cast<T*>(scratch + p.matrix);
          T* left = reinterpret_cast<T*>(scratch + p.left);
          std::copy_n(from, m * n, a);
          // Complex matrices are read past their end (lapack.h).
          const bool aside = kIsComplex<T> && p.job != 'N';
          T* right = aside ? reinterpret_cast<T*>(scratch + p.right) : u;
          const Int info =
              lapack::gesdd(p.job, narrow(n), narrow(m), a, s, left, narrow(n), right,
                            narrow(std::max<int64_t>(1, p.u_columns)),
                            reinterpret_cast<T*>(scratch + p.work), p.work_size,
                            reinterpret_cast<Real<T>*>(scratch + p.rwork),
                            reinterpret_cast<Int*>(scratch + p.iwork));
          if (info != 0) {
            throw InvalidArgumentError(
                "Svd: the decomposition of matrix " + std::to_string(i) +
                " did not converge. The input might not be valid.");
          }
          if (aside) std::copy_n(right, m * p.u_columns, u);
          if (p.job != 'N') transpose_matrix(left, p.v_columns, n, v, true);
        });
  }
};

}  // namespace

void register_qr_svd_kernels(KernelRegistry& registry) {
  add_matrix_kernels<QrKernel>(registry, "Qr", "cpu.qr");
  add_matrix_kernels<SvdKernel>(registry, "Svd", "cpu.svd");
}

}  // namespace tandem::cpu
