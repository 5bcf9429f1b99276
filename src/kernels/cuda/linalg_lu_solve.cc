// MatrixSolve and MatrixInverse by LU factors.
#include "kernels/cuda/lu_factors.h"
#include "tandem/ops/linalg.h"

namespace tandem::cuda {

namespace {

// To the library the matrix is aᵀ, so a·x = b is a system with the transpose of its
// factors. For the adjoint the elements are conjugated: then aᴴ is what it sees. The
// right-hand side is turned to stand by columns, and the solution back.
template <class T, bool kBatched>
struct Solve {
  struct Plan {
    LuFactors<T> factors;
    int64_t columns = 0;
    bool adjoint = false;
    LayOut take, turn, turn_back;
    Function lay_out;
    size_t rhs = 0, list = 0;
    std::shared_ptr<ErrorSite> site;
    size_t workspace_bytes = 0;
  };
  static Plan prepare(const Signature& s) {
    const Matrices m = matrices_of(s.in(0).shape), rhs = matrices_of(s.in(1).shape);
    Plan p;
    Regions regions;
    p.factors = LuFactors<T>::plan(s, regions, kBatched);
    p.columns = rhs.cols;
    if (p.factors.empty() || rhs.cols == 0) return p;
    p.adjoint = s.attrs.as<linalg::AdjointAttrs>().adjoint;
    p.take = LayOut::straight(m);
    p.take.conjugate = p.adjoint;
    p.turn =
        LayOut::from_columns({rhs.batch, rhs.cols, rhs.rows}, rhs.cols, rhs.elements());
    p.turn_back = LayOut::from_columns(rhs, rhs.rows, rhs.elements());
    p.lay_out = linalg_function(s, "lay_out");
    p.rhs = regions.add<T>(rhs.total());
    p.list = regions.add<T*>(rhs.batch);
    p.site = pivot_site("MatrixSolve: Input matrix is not invertible.");
    p.workspace_bytes = regions.workspace_bytes();
    return p;
  }
  static void launch(const Plan& p, const LaunchArgs& a) {
    const LuFactors<T>& f = p.factors;
    if (f.empty() || p.columns == 0) return;
    T* const matrices = region<T>(a, f.matrices);
    T* const rhs = region<T>(a, p.rhs);
    auto* const pivots = region<int>(a, f.pivots);
    lay_out(p.lay_out, *a.stream, p.take, a.inputs[0], matrices);
    lay_out(p.lay_out, *a.stream, p.turn, a.inputs[1], rhs);
    f.factor(a);
    f.check(a, *p.site);
    const cublasOperation_t op = p.adjoint ? CUBLAS_OP_N : CUBLAS_OP_T;
    const int n = static_cast<int>(f.n), columns = static_cast<int>(p.columns);
    if constexpr (kBatched) {
      T** const list = region<T*>(a, p.list);
      point_at(f.point, *a.stream, list, rhs, f.batch,
               BatchSteps::plain(f.batch, f.n * p.columns));
      const BlasScope blas(*a.stream, region<std::byte>(a, f.work));
      int wrong = 0;
      check_dense_blas(dense_blas()->of<T>().getrs_batched(
                           blas.handle(), op, n, columns, region<T*>(a, f.list), n,
                           pivots, list, n, &wrong, static_cast<int>(f.batch)),
                       "solving systems");
    } else {
      const SolverScope scope(*a.stream);
      for (int64_t i = 0; i < f.batch; ++i) {
        check_solver(
            solver()->of<T>().getrs(scope.handle(), op, n, columns,
                                    matrices + i * f.n * f.n, n, pivots + i * f.n,
                                    rhs + i * f.n * p.columns, n, region<int>(a, f.info)),
            "solving a system");
      }
    }
    lay_out(p.lay_out, *a.stream, p.turn_back, rhs, a.outputs[0]);
  }
};

// The inverse of the transpose is the transpose of the inverse: nothing is turned but the
// adjoint.
template <class T, bool kBatched>
struct Inverse {
  struct Plan {
    LuFactors<T> factors;
    LayOut take;
    Function lay_out, identity;
    size_t list = 0;
    std::shared_ptr<ErrorSite> site;
    size_t workspace_bytes = 0;
  };
  static Plan prepare(const Signature& s) {
    const Matrices m = matrices_of(s.in(0).shape);
    Plan p;
    Regions regions;
    p.factors = LuFactors<T>::plan(s, regions, kBatched);
    if (p.factors.empty()) return p;
    const bool adjoint = s.attrs.as<linalg::AdjointAttrs>().adjoint;
    p.take =
        adjoint ? LayOut::from_columns(m, m.rows, m.elements()) : LayOut::straight(m);
    p.take.conjugate = adjoint;
    p.lay_out = linalg_function(s, "lay_out");
    p.identity = linalg_function(s, "write_identity");
    p.list = regions.add<T*>(m.batch);
    p.site = pivot_site("MatrixInverse: Input is not invertible.");
    p.workspace_bytes = regions.workspace_bytes();
    return p;
  }
  static void launch(const Plan& p, const LaunchArgs& a) {
    const LuFactors<T>& f = p.factors;
    if (f.empty()) return;
    T* const matrices = region<T>(a, f.matrices);
    T* const out = a.out<T>();
    auto* const pivots = region<int>(a, f.pivots);
    lay_out(p.lay_out, *a.stream, p.take, a.inputs[0], matrices);
    f.factor(a);
    f.check(a, *p.site);
    const int n = static_cast<int>(f.n);
    if constexpr (kBatched) {
      T** const list = region<T*>(a, p.list);
      point_at(f.point, *a.stream, list, out, f.batch,
               BatchSteps::plain(f.batch, f.n * f.n));
      const BlasScope blas(*a.stream, region<std::byte>(a, f.work));
      check_dense_blas(dense_blas()->of<T>().getri_batched(
                           blas.handle(), n, region<T*>(a, f.list), n, pivots, list, n,
                           region<int>(a, f.info), static_cast<int>(f.batch)),
                       "inverting matrices");
    } else {
      const int64_t total = f.batch * f.n * f.n;
      cuda::launch(p.identity, *a.stream, grid_for(p.identity, total), out, f.batch, f.n);
      const SolverScope scope(*a.stream);
      for (int64_t i = 0; i < f.batch; ++i) {
        check_solver(
            solver()->of<T>().getrs(scope.handle(), CUBLAS_OP_N, n, n,
                                    matrices + i * f.n * f.n, n, pivots + i * f.n,
                                    out + i * f.n * f.n, n, region<int>(a, f.info)),
            "inverting a matrix");
      }
    }
  }
};

template <class T>
using BatchedSolve = Solve<T, true>;
template <class T>
using SingleSolve = Solve<T, false>;
template <class T>
using BatchedInverse = Inverse<T, true>;
template <class T>
using SingleInverse = Inverse<T, false>;

bool solve_batched(const Signature& s) {
  return lu_batched(s) && countable(matrices_of(s.in(1).shape));
}
bool solve_single(const Signature& s) {
  return lu_single(s) && countable(matrices_of(s.in(1).shape));
}

}  // namespace

void register_lu_solve(Kernels& kernels) {
  add_linalg_kernels<BatchedSolve>(kernels, "MatrixSolve", "cuda.solve.cublas",
                                   solve_batched, true);
  add_linalg_kernels<SingleSolve>(kernels, "MatrixSolve", "cuda.solve.cusolver",
                                  solve_single, false);
  add_linalg_kernels<BatchedInverse>(kernels, "MatrixInverse", "cuda.inverse.cublas",
                                     lu_batched, true);
  add_linalg_kernels<SingleInverse>(kernels, "MatrixInverse", "cuda.inverse.cusolver",
                                    lu_single, false);
}

}  // namespace tandem::cuda
