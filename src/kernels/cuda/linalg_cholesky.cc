// Cholesky and CholeskyGrad. Small matrices have a kernel of our own, which can be
// captured. To the library the row-major lower triangle of a is the upper one of conj(a),
// whose factor u gives l = uᵀ: again the same memory.
#include "kernels/cuda/triangular.h"

namespace tandem::cuda {

std::string small_cholesky_text(DType dtype) {
  return linalg_text(dtype) + std::string(device_text("small_cholesky.cuh"));
}

namespace {

/// The library's batched form is made for small matrices.
constexpr int64_t kLargestInCholeskyBatch = 512;

int64_t row_elements(int64_t n) { return n | 1; }

/// A matrix fits into the shared memory that every block has.
bool is_small_cholesky(const Signature& s) {
  constexpr int64_t kSharedBytes = 48 << 10;
  const int64_t n = s.in(0).shape.dim(-1);
  return n <= 256 &&
         n * row_elements(n) * static_cast<int64_t>(dtype_size(s.in(0).dtype)) <=
             kSharedBytes;
}

struct SmallCholeskyPlan {
  Matrices m;
  Function function;
  Grid grid;
};
SmallCholeskyPlan prepare_small_cholesky(const Signature& s) {
  SmallCholeskyPlan p;
  p.m = matrices_of(s.in(0).shape);
  if (p.m.total() == 0) return p;
  const int64_t n = p.m.rows;
  p.function = find_function(s.device, "cholesky", small_cholesky_text(s.in(0).dtype),
                             "small_cholesky");
  p.grid.threads = n <= 16 ? 64 : n <= 32 ? 128 : 256;
  p.grid.shared = static_cast<unsigned>(n * row_elements(n)) *
                  static_cast<unsigned>(dtype_size(s.in(0).dtype));
  constexpr int64_t kWaves = 32;
  p.grid.x = static_cast<unsigned>(
      std::min(p.m.batch, kWaves * int64_t{p.function.multiprocessors}));
  return p;
}
void launch_small_cholesky(const SmallCholeskyPlan& p, const LaunchArgs& a) {
  if (p.m.total() == 0) return;
  launch(p.function, *a.stream, p.grid, a.inputs[0], a.outputs[0], p.m.batch,
         static_cast<int32_t>(p.m.rows));
}

// A matrix that is not positive definite gets a factor without numbers, as on the CPU.
template <class T>
struct Cholesky {
  struct Plan {
    Matrices m;
    bool batched = false;
    LayOut take, finish;
    Function lay_out, point;
    size_t info = 0, list = 0, work = 0;
    int work_size = 0;
    size_t workspace_bytes = 0;
  };
  static Plan prepare(const Signature& s) {
    Plan p;
    p.m = matrices_of(s.in(0).shape);
    if (p.m.total() == 0) return p;
    p.batched = p.m.batch > 1 && p.m.rows <= kLargestInCholeskyBatch;
    p.take = LayOut::straight(p.m);
    p.take.keep = LayOut::kLower;
    p.finish = p.take;
    p.finish.marked = LayOut::kNaN;
    p.lay_out = linalg_function(s, "lay_out");
    Regions regions;
    p.info = regions.add<int32_t>(p.m.batch);
    if (p.batched) {
      p.point = linalg_function(s, "point_at");
      p.list = regions.add<T*>(p.m.batch);
      const SolverScope opened(gpu_of(s));
    } else {
      const SolverScope scope(gpu_of(s));
      const int n = static_cast<int>(p.m.rows);
      check_solver(solver()->of<T>().potrf_size(scope.handle(), CUBLAS_FILL_MODE_UPPER, n,
                                                nullptr, n, &p.work_size),
                   "preparing a Cholesky decomposition");
      p.work = regions.add<T>(p.work_size);
    }
    p.workspace_bytes = regions.workspace_bytes();
    return p;
  }
  static void launch(const Plan& p, const LaunchArgs& a) {
    if (p.m.total() == 0) return;
    T* const out = a.out<T>();
    auto* const info = region<int>(a, p.info);
    const int n = static_cast<int>(p.m.rows);
    lay_out(p.lay_out, *a.stream, p.take, a.inputs[0], out);
    if (p.batched) {
      T** const list = region<T*>(a, p.list);
      point_at(p.point, *a.stream, list, out, p.m.batch,
               BatchSteps::plain(p.m.batch, p.m.elements()));
      const SolverScope scope(*a.stream);
      check_solver(
          solver()->of<T>().potrf_batched(scope.handle(), CUBLAS_FILL_MODE_UPPER, n, list,
                                          n, info, static_cast<int>(p.m.batch)),
          "decomposing matrices");
    } else {
      const SolverScope scope(*a.stream);
      for (int64_t b = 0; b < p.m.batch; ++b) {
        check_solver(solver()->of<T>().potrf(scope.handle(), CUBLAS_FILL_MODE_UPPER, n,
                                             out + b * p.m.elements(), n,
                                             region<T>(a, p.work), p.work_size, info + b),
                     "decomposing a matrix");
      }
    }
    lay_out(p.lay_out, *a.stream, p.finish, out, out, info);
  }
};

// L⁻ᴴ · lower(Lᴴ·G with halved diagonal) · L⁻¹, made self-adjoint. To the library, which
// sees transposes, the first product is Gᵀ·conj(L).
template <class T>
struct CholeskyGrad {
  struct Plan {
    Matrices m;
    TriangularSystems<T> systems;
    LayOut clean, turn;
    Function lay_out, halve, self_adjoint;
    size_t factor = 0, product = 0, turned = 0;
    size_t workspace_bytes = 0;
  };
  static Plan prepare(const Signature& s) {
    Plan p;
    p.m = matrices_of(s.in(0).shape);
    if (p.m.total() == 0) return p;
    Regions regions;
    p.systems.batch = p.m.batch;
    p.systems.n = p.systems.columns = p.m.rows;
    p.systems.adjoint = true;
    p.systems.plan(s, regions);
    p.clean = LayOut::straight(p.m);
    p.clean.keep = LayOut::kLower;
    p.turn = LayOut::from_columns(p.m, p.m.rows, p.m.elements());
    p.turn.conjugate = 1;
    p.lay_out = linalg_function(s, "lay_out");
    p.halve = linalg_function(s, "halve_lower");
    p.self_adjoint = linalg_function(s, "self_adjoint");
    p.factor = regions.add<T>(p.m.total());
    p.product = regions.add<T>(p.m.total());
    p.turned = regions.add<T>(p.m.total());
    p.workspace_bytes = regions.workspace_bytes();
    return p;
  }
  static void launch(const Plan& p, const LaunchArgs& a) {
    const int64_t total = p.m.total(), size = p.m.elements();
    if (total == 0) return;
    T* const l = region<T>(a, p.factor);
    T* const m = region<T>(a, p.product);
    T* const t = region<T>(a, p.turned);
    const int n = static_cast<int>(p.m.rows);
    const BatchSteps steps = BatchSteps::plain(p.m.batch, size);
    lay_out(p.lay_out, *a.stream, p.clean, a.inputs[0], l);
    {
      const BlasScope blas(*a.stream, region<std::byte>(a, p.systems.work));
      const T one = scale_of<T>(1), zero = scale_of<T>(0);
      check_dense_blas(
          dense_blas()->of<T>().gemm_batched(
              blas.handle(), CUBLAS_OP_N, CUBLAS_OP_C, n, n, n, &one, a.in<T>(1), n, size,
              l, n, size, &zero, m, n, size, static_cast<int>(p.m.batch)),
          "multiplying matrices");
    }
    cuda::launch(p.halve, *a.stream, grid_for(p.halve, total), m, p.m.batch, p.m.rows);
    p.systems.solve(a, l, steps, m);
    lay_out(p.lay_out, *a.stream, p.turn, m, t);
    p.systems.solve(a, l, steps, t);
    cuda::launch(p.self_adjoint, *a.stream, grid_for(p.self_adjoint, total), t,
                 a.outputs[0], p.m.batch, p.m.rows);
  }
};

bool cholesky_supported(const Signature& s) {
  return !is_small_cholesky(s) && countable(matrices_of(s.in(0).shape)) && solver();
}
bool gradient_supported(const Signature& s) {
  return countable(matrices_of(s.in(0).shape)) && dense_blas();
}

}  // namespace

void register_cholesky(Kernels& kernels) {
  kernels.add(make_kernel<prepare_small_cholesky, launch_small_cholesky>(
      "Cholesky", "cuda.cholesky.small", kLibraryTypes, is_small_cholesky));
  add_linalg_kernels<Cholesky>(kernels, "Cholesky", "cuda.cholesky.cusolver",
                               cholesky_supported, false);
  add_linalg_kernels<CholeskyGrad>(kernels, "CholeskyGrad", "cuda.cholesky_grad",
                                   gradient_supported, true);
}

}  // namespace tandem::cuda
