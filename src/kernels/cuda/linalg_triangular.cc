// MatrixTriangularSolve. To the library a row-major matrix is its transpose: op(a)·x = b
// becomes xᵀ·op(a)ᵀ = bᵀ, a system from the right with the other triangle, whose matrix
// is aᵀ as it lies there, or, for the adjoint, the adjoint of that.
#include "kernels/cuda/triangular.h"
#include "tandem/ops/linalg.h"

namespace tandem::cuda {

namespace {

/// The library's batched form is made for small matrices.
constexpr int64_t kLargestInTriangularBatch = 256;

}  // namespace

template <class T>
void TriangularSystems<T>::plan(const Signature& s, Regions& regions) {
  if (empty()) return;
  open_blas(gpu_of(s));
  point = linalg_function(s, "point_at");
  a_list = regions.add<T*>(batch);
  x_list = regions.add<T*>(batch);
  work = regions.add<std::byte>(static_cast<int64_t>(kBlasWorkspace));
}

template <class T>
void TriangularSystems<T>::solve(const LaunchArgs& a, const T* matrices,
                                 const BatchSteps& steps, T* x) const {
  if (empty()) return;
  const BlasFunctions<T>& blas = dense_blas()->of<T>();
  const cublasFillMode_t fill = lower ? CUBLAS_FILL_MODE_UPPER : CUBLAS_FILL_MODE_LOWER;
  const cublasOperation_t op = adjoint ? CUBLAS_OP_C : CUBLAS_OP_N;
  const int side = static_cast<int>(n), wide = static_cast<int>(columns);
  const T one = scale_of<T>(1);
  if (batch > 1 && n <= kLargestInTriangularBatch) {
    T** const from = region<T*>(a, a_list);
    T** const to = region<T*>(a, x_list);
    point_at(point, *a.stream, from, matrices, batch, steps);
    point_at(point, *a.stream, to, x, batch, BatchSteps::plain(batch, n * columns));
    const BlasScope scope(*a.stream, region<std::byte>(a, work));
    check_dense_blas(blas.trsm_batched(scope.handle(), CUBLAS_SIDE_RIGHT, fill, op,
                                       CUBLAS_DIAG_NON_UNIT, wide, side, &one, from, side,
                                       to, wide, static_cast<int>(batch)),
                     "solving triangular systems");
    return;
  }
  const BlasScope scope(*a.stream, region<std::byte>(a, work));
  for (int64_t b = 0; b < batch; ++b) {
    check_dense_blas(
        blas.trsm(scope.handle(), CUBLAS_SIDE_RIGHT, fill, op, CUBLAS_DIAG_NON_UNIT, wide,
                  side, &one, matrices + steps.offset(b), side, x + b * n * columns,
                  wide),
        "solving a triangular system");
  }
}

template struct TriangularSystems<float>;
template struct TriangularSystems<double>;
template struct TriangularSystems<cuComplex>;
template struct TriangularSystems<cuDoubleComplex>;

namespace {

template <class T>
struct TriangularSolve {
  struct Plan {
    TriangularSystems<T> systems;
    BatchSteps steps, rhs_steps;
    Function gather;
    size_t workspace_bytes = 0;
  };
  static Plan prepare(const Signature& s) {
    const auto& attrs = s.attrs.as<linalg::TriangularSolveAttrs>();
    const Matrices out = matrices_of(s.out().shape);
    Plan p;
    Regions regions;
    p.systems.batch = out.batch;
    p.systems.n = out.rows;
    p.systems.columns = out.cols;
    p.systems.lower = attrs.lower;
    p.systems.adjoint = attrs.adjoint;
    p.systems.plan(s, regions);
    p.workspace_bytes = regions.workspace_bytes();
    if (p.systems.empty()) return p;
    p.steps = BatchSteps::broadcast(s.in(0).shape, s.out().shape);
    p.rhs_steps = BatchSteps::broadcast(s.in(1).shape, s.out().shape);
    p.gather = linalg_function(s, "gather_matrices");
    return p;
  }
  static void launch(const Plan& p, const LaunchArgs& a) {
    if (p.systems.empty()) return;
    const int64_t size = p.systems.n * p.systems.columns;
    cuda::launch(p.gather, *a.stream, grid_for(p.gather, p.systems.batch * size),
                 a.inputs[1], a.outputs[0], p.systems.batch, size, p.rhs_steps);
    p.systems.solve(a, a.in<T>(0), p.steps, a.out<T>());
  }
};

bool triangular_supported(const Signature& s) {
  return countable(matrices_of(s.in(0).shape)) && countable(matrices_of(s.in(1).shape)) &&
         dense_blas();
}

}  // namespace

void register_triangular(Kernels& kernels) {
  add_linalg_kernels<TriangularSolve>(kernels, "MatrixTriangularSolve",
                                      "cuda.triangular_solve", triangular_supported,
                                      true);
}

}  // namespace tandem::cuda
