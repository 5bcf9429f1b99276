// SelfAdjointEigV2 by cuSOLVER: Jacobi's method for batches of small matrices, else
// divide and conquer, one after the other. To the library the row-major lower triangle
// of a is the upper one of conj(a), whose eigenvectors are the conjugates of a's.
#include "kernels/cuda/linalg.h"
#include "tandem/ops/linalg.h"

namespace tandem::cuda {

namespace {

/// As far as the library's batched form is made for.
constexpr int64_t kLargestInEighBatch = 32;
constexpr const char* kFailed =
    "SelfAdjointEigV2: Self-adjoint eigen decomposition was not successful. The input "
    "might not be valid.";

template <class T>
struct SelfAdjoint {
  using R = typename RealPart<T>::type;
  static constexpr bool kComplex = !std::is_same_v<T, R>;
  struct Plan {
    Matrices m;
    bool batched = false;
    cusolverEigMode_t mode = CUSOLVER_EIG_MODE_VECTOR;
    LayOut take, vectors;
    Function lay_out, mark, check, widen;
    size_t matrices = 0, values = 0, info = 0, marks = 0, work = 0;
    int work_size = 0;
    std::shared_ptr<ErrorSite> site;
    size_t workspace_bytes = 0;
  };
  static Plan prepare(const Signature& s) {
    Plan p;
    p.m = matrices_of(s.in(0).shape);
    if (p.m.total() == 0) return p;
    p.batched = p.m.rows <= kLargestInEighBatch;
    p.mode = s.attrs.as<linalg::EigAttrs>().compute_v ? CUSOLVER_EIG_MODE_VECTOR
                                                      : CUSOLVER_EIG_MODE_NOVECTOR;
    p.take = LayOut::straight(p.m);
    p.take.keep = LayOut::kLower;
    p.take.marked = LayOut::kZeros;
    p.vectors = LayOut::from_columns(p.m, p.m.rows, p.m.elements());
    p.vectors.conjugate = 1;
    p.lay_out = linalg_function(s, "lay_out");
    p.mark = linalg_function(s, "mark_not_finite");
    p.check = linalg_function(s, "check_marks");
    p.widen = linalg_function(s, "widen_values");
    p.site = matrix_site(kFailed);
    Regions regions;
    p.matrices = regions.add<T>(p.m.total());
    p.values = regions.add<R>(p.m.batch * p.m.rows);
    p.info = regions.add<int32_t>(p.m.batch);
    p.marks = regions.add<int32_t>(p.m.batch);
    const int n = static_cast<int>(p.m.rows);
    const SolverScope scope(gpu_of(s));
    const SolverFunctions<T>& functions = solver()->of<T>();
    check_solver(
        p.batched ? functions.heevj_batched_size(
                        scope.handle(), p.mode, CUBLAS_FILL_MODE_UPPER, n, nullptr, n,
                        nullptr, &p.work_size, scope.syevj(), static_cast<int>(p.m.batch))
                  : functions.heevd_size(scope.handle(), p.mode, CUBLAS_FILL_MODE_UPPER,
                                         n, nullptr, n, nullptr, &p.work_size),
        "preparing an eigen decomposition");
    p.work = regions.add<T>(p.work_size);
    p.workspace_bytes = regions.workspace_bytes();
    return p;
  }
  static void launch(const Plan& p, const LaunchArgs& a) {
    const Matrices& m = p.m;
    if (m.total() == 0) return;
    T* const matrices = region<T>(a, p.matrices);
    R* const values = region<R>(a, p.values);
    auto* const info = region<int>(a, p.info);
    auto* const marks = region<int32_t>(a, p.marks);
    const int n = static_cast<int>(m.rows);
    // The library never sees what is not a number: it might not come to an end.
    fill_zeros(*a.stream, marks, static_cast<size_t>(m.batch) * sizeof(int32_t));
    cuda::launch(p.mark, *a.stream, grid_for(p.mark, m.total()), a.inputs[0], marks,
                 m.batch, m.rows, m.cols, static_cast<int32_t>(LayOut::kLower));
    lay_out(p.lay_out, *a.stream, p.take, a.inputs[0], matrices, marks);
    check_marks(p.check, a, marks, m.batch, *p.site);
    decompose(p, a, matrices, values, info, n);
    check_marks(p.check, a, info, m.batch, *p.site);
    const int64_t count = m.batch * m.rows;
    if constexpr (kComplex) {
      cuda::launch(p.widen, *a.stream, grid_for(p.widen, count), values, a.outputs[0],
                   count);
    } else {
      copy_bytes(*a.stream, a.outputs[0], values, static_cast<size_t>(count) * sizeof(R));
    }
    if (p.mode == CUSOLVER_EIG_MODE_VECTOR) {
      lay_out(p.lay_out, *a.stream, p.vectors, matrices, a.outputs[1]);
    }
  }

 private:
  static void decompose(const Plan& p, const LaunchArgs& a, T* matrices, R* values,
                        int* info, int n) {
    const SolverFunctions<T>& functions = solver()->of<T>();
    T* const work = region<T>(a, p.work);
    const SolverScope scope(*a.stream);
    if (p.batched) {
      check_solver(
          functions.heevj_batched(scope.handle(), p.mode, CUBLAS_FILL_MODE_UPPER, n,
                                  matrices, n, values, work, p.work_size, info,
                                  scope.syevj(), static_cast<int>(p.m.batch)),
          "decomposing matrices");
      return;
    }
    for (int64_t b = 0; b < p.m.batch; ++b) {
      check_solver(functions.heevd(scope.handle(), p.mode, CUBLAS_FILL_MODE_UPPER, n,
                                   matrices + b * p.m.elements(), n,
                                   values + b * p.m.rows, work, p.work_size, info + b),
                   "decomposing a matrix");
    }
  }
};

bool eigh_supported(const Signature& s) {
  return countable(matrices_of(s.in(0).shape)) && solver();
}

}  // namespace

void register_eigh(Kernels& kernels) {
  add_linalg_kernels<SelfAdjoint>(kernels, "SelfAdjointEigV2", "cuda.eigh.cusolver",
                                  eigh_supported, false);
}

}  // namespace tandem::cuda
