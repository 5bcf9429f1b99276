// Svd by Jacobi's method in cuSOLVER: batches of small matrices at once, else one after
// the other. To the library a is aᵀ = U'·S·V'ᴴ, so that a = conj(V')·S·U'ᵀ: u and v are
// the conjugates of V' and U', which it writes by columns.
#include "kernels/cuda/linalg.h"
#include "tandem/ops/linalg.h"

namespace tandem::cuda {

namespace {

/// As far as the library's batched form goes.
constexpr int64_t kLargestInSvdBatch = 32;

template <class T>
struct Svd {
  using R = typename RealPart<T>::type;
  struct Plan {
    Matrices m;
    bool batched = false, vectors = true, full = false;
    LayOut take, u, v;
    Function lay_out, mark, check, spoil, identity;
    size_t matrices = 0, left = 0, right = 0;  // left: U', of the columns of a
    int64_t left_cols = 0, right_cols = 0;     // of what the library writes
    size_t info = 0, marks = 0, work = 0;
    int work_size = 0;
    std::shared_ptr<ErrorSite> site;
    size_t workspace_bytes = 0;

    cusolverEigMode_t mode() const {
      return vectors ? CUSOLVER_EIG_MODE_VECTOR : CUSOLVER_EIG_MODE_NOVECTOR;
    }
    int econ() const { return full ? 0 : 1; }
  };
  static Plan prepare(const Signature& s) {
    const auto& attrs = s.attrs.as<linalg::SvdAttrs>();
    Plan p;
    p.m = matrices_of(s.in(0).shape);
    p.vectors = attrs.compute_uv;
    p.full = attrs.full_matrices && attrs.compute_uv;
    if (p.m.batch == 0) return p;
    p.identity = linalg_function(s, "write_identity");
    if (p.m.least() == 0) return p;
    plan_layout(p, s);
    plan_library(p, s);
    return p;
  }
  static void launch(const Plan& p, const LaunchArgs& a) {
    const Matrices& m = p.m;
    if (m.batch == 0) return;
    if (m.least() == 0) return write_empty(p, a);
    T* const matrices = region<T>(a, p.matrices);
    auto* const marks = region<int32_t>(a, p.marks);
    // The library never sees what is not a number: it might not come to an end. The
    // answer has no numbers either.
    fill_zeros(*a.stream, marks, static_cast<size_t>(m.batch) * sizeof(int32_t));
    cuda::launch(p.mark, *a.stream, grid_for(p.mark, m.total()), a.inputs[0], marks,
                 m.batch, m.rows, m.cols, static_cast<int32_t>(LayOut::kAll));
    lay_out(p.lay_out, *a.stream, p.take, a.inputs[0], matrices, marks);
    decompose(p, a, matrices);
    check_marks(p.check, a, region<int32_t>(a, p.info), m.batch, *p.site);
    const int64_t values = m.batch * m.least();
    cuda::launch(p.spoil, *a.stream, grid_for(p.spoil, values), a.outputs[0], marks,
                 m.batch, m.least());
    if (!p.vectors) return;
    lay_out(p.lay_out, *a.stream, p.u, region<T>(a, p.right), a.outputs[1], marks);
    lay_out(p.lay_out, *a.stream, p.v, region<T>(a, p.left), a.outputs[2], marks);
  }

 private:
  static void plan_layout(Plan& p, const Signature& s) {
    const Matrices& m = p.m;
    p.batched = m.rows <= kLargestInSvdBatch && m.cols <= kLargestInSvdBatch;
    // The batched form writes all vectors, whatever is asked for.
    const bool all = p.full || p.batched;
    p.left_cols = all ? m.cols : m.least();
    p.right_cols = all ? m.rows : m.least();
    const int64_t u_cols = p.full ? m.rows : m.least();
    const int64_t v_cols = p.full ? m.cols : m.least();
    p.take = LayOut::straight(m);
    p.take.marked = LayOut::kZeros;
    p.u = LayOut::from_columns({m.batch, m.rows, u_cols}, m.rows, m.rows * p.right_cols);
    p.v = LayOut::from_columns({m.batch, m.cols, v_cols}, m.cols, m.cols * p.left_cols);
    p.u.conjugate = p.v.conjugate = 1;
    p.u.marked = p.v.marked = LayOut::kNaN;
    p.lay_out = linalg_function(s, "lay_out");
    p.mark = linalg_function(s, "mark_not_finite");
    p.check = linalg_function(s, "check_marks");
    p.spoil = linalg_function(s, "spoil_values");
    p.site = matrix_site(
        "Svd: the decomposition did not converge. The input might not be valid.");
  }
  static void plan_library(Plan& p, const Signature& s) {
    const Matrices& m = p.m;
    Regions regions;
    p.matrices = regions.add<T>(m.total());
    // Also without vectors: the library wants places for them.
    p.left = regions.add<T>(m.batch * m.cols * p.left_cols);
    p.right = regions.add<T>(m.batch * m.rows * p.right_cols);
    p.info = regions.add<int32_t>(m.batch);
    p.marks = regions.add<int32_t>(m.batch);
    const int rows = static_cast<int>(m.cols), cols = static_cast<int>(m.rows);
    const SolverScope scope(gpu_of(s));
    const SolverFunctions<T>& functions = solver()->of<T>();
    check_solver(p.batched
                     ? functions.gesvdj_batched_size(
                           scope.handle(), p.mode(), rows, cols, nullptr, rows, nullptr,
                           nullptr, rows, nullptr, cols, &p.work_size, scope.gesvdj(),
                           static_cast<int>(m.batch))
                     : functions.gesvdj_size(scope.handle(), p.mode(), p.econ(), rows,
                                             cols, nullptr, rows, nullptr, nullptr, rows,
                                             nullptr, cols, &p.work_size, scope.gesvdj()),
                 "preparing a singular value decomposition");
    p.work = regions.add<T>(p.work_size);
    p.workspace_bytes = regions.workspace_bytes();
  }
  static void decompose(const Plan& p, const LaunchArgs& a, T* matrices) {
    const Matrices& m = p.m;
    const int rows = static_cast<int>(m.cols), cols = static_cast<int>(m.rows);
    R* const values = a.out<R>(0);
    T* const left = region<T>(a, p.left);
    T* const right = region<T>(a, p.right);
    T* const work = region<T>(a, p.work);
    auto* const info = region<int>(a, p.info);
    const SolverFunctions<T>& functions = solver()->of<T>();
    const SolverScope scope(*a.stream);
    if (p.batched) {
      check_solver(
          functions.gesvdj_batched(scope.handle(), p.mode(), rows, cols, matrices, rows,
                                   values, left, rows, right, cols, work, p.work_size,
                                   info, scope.gesvdj(), static_cast<int>(m.batch)),
          "decomposing matrices");
      return;
    }
    for (int64_t b = 0; b < m.batch; ++b) {
      check_solver(
          functions.gesvdj(scope.handle(), p.mode(), p.econ(), rows, cols,
                           matrices + b * m.elements(), rows, values + b * m.least(),
                           left + b * m.cols * p.left_cols, rows,
                           right + b * m.rows * p.right_cols, cols, work, p.work_size,
                           info + b, scope.gesvdj()),
          "decomposing a matrix");
    }
  }
  /// No rows or no columns: no values, and full bases are the identity.
  static void write_empty(const Plan& p, const LaunchArgs& a) {
    if (!p.full) return;
    const auto write = [&](void* out, int64_t n) {
      if (n == 0) return;
      cuda::launch(p.identity, *a.stream, grid_for(p.identity, p.m.batch * n * n), out,
                   p.m.batch, n);
    };
    write(a.outputs[1], p.m.rows);
    write(a.outputs[2], p.m.cols);
  }
};

bool svd_supported(const Signature& s) {
  const Matrices m = matrices_of(s.in(0).shape);
  const auto& attrs = s.attrs.as<linalg::SvdAttrs>();
  const bool full = attrs.full_matrices && attrs.compute_uv;
  const int64_t side = std::max(m.rows, m.cols);
  return countable(m) && (!full || countable({m.batch, side, side})) && solver();
}

}  // namespace

void register_svd(Kernels& kernels) {
  add_linalg_kernels<Svd>(kernels, "Svd", "cuda.svd.cusolver", svd_supported, false);
}

}  // namespace tandem::cuda
