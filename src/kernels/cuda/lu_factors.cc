#include "kernels/cuda/lu_factors.h"

namespace tandem::cuda {

namespace {

/// cuBLAS gives a matrix to a block or two: it wins while matrices are small, the longer
/// the more of them there are.
bool is_small_lu(const Matrices& m) {
  constexpr int64_t kAlways = 128, kInBatches = 512, kManyMatrices = 8;
  return m.rows <= kAlways || (m.rows <= kInBatches && m.batch >= kManyMatrices);
}

}  // namespace

bool lu_batched(const Signature& s) {
  const Matrices m = matrices_of(s.in(0).shape);
  return countable(m) && (is_small_lu(m) || !solver()) && dense_blas();
}
bool lu_single(const Signature& s) {
  const Matrices m = matrices_of(s.in(0).shape);
  return countable(m) && !(is_small_lu(m) && dense_blas()) && solver();
}

template <class T>
LuFactors<T> LuFactors<T>::plan(const Signature& s, Regions& regions, bool batched) {
  const Matrices m = matrices_of(s.in(0).shape);
  LuFactors f;
  f.batch = m.batch;
  f.n = m.rows;
  f.batched = batched;
  if (f.empty()) return f;
  f.matrices = regions.add<T>(m.total());
  f.pivots = regions.add<int32_t>(m.batch * m.rows);
  f.info = regions.add<int32_t>(m.batch);
  f.pivot_check = linalg_function(s, "check_pivots");
  if (batched) {
    open_blas(gpu_of(s));
    f.list = regions.add<T*>(m.batch);
    f.work = regions.add<std::byte>(static_cast<int64_t>(kBlasWorkspace));
    f.point = linalg_function(s, "point_at");
  } else {
    const SolverScope scope(gpu_of(s));
    const int n = static_cast<int>(m.rows);
    int size = 0;
    check_solver(solver()->of<T>().getrf_size(scope.handle(), n, n, nullptr, n, &size),
                 "preparing an LU decomposition");
    f.work = regions.add<T>(size);
  }
  return f;
}

template <class T>
void LuFactors<T>::factor(const LaunchArgs& a) const {
  if (empty()) return;
  const int side = static_cast<int>(n), count = static_cast<int>(batch);
  T* const from = region<T>(a, matrices);
  auto* const exchanged = region<int>(a, pivots);
  auto* const said = region<int>(a, info);
  if (batched) {
    T** const pointers = region<T*>(a, list);
    point_at(point, *a.stream, pointers, from, batch, BatchSteps::plain(batch, n * n));
    const BlasScope blas(*a.stream, region<std::byte>(a, work));
    check_dense_blas(dense_blas()->of<T>().getrf_batched(blas.handle(), side, pointers,
                                                         side, exchanged, said, count),
                     "decomposing matrices");
    return;
  }
  const SolverScope scope(*a.stream);
  for (int64_t i = 0; i < batch; ++i) {
    check_solver(
        solver()->of<T>().getrf(scope.handle(), side, side, from + i * n * n, side,
                                region<T>(a, work), exchanged + i * n, said + i),
        "decomposing a matrix");
  }
}

template <class T>
void LuFactors<T>::check(const LaunchArgs& a, const ErrorSite& site) const {
  if (empty()) return;
  launch(pivot_check, *a.stream, grid_for(pivot_check, batch), region<T>(a, matrices),
         batch, n, flags_of(a), site.id());
}

template struct LuFactors<float>;
template struct LuFactors<double>;
template struct LuFactors<cuComplex>;
template struct LuFactors<cuDoubleComplex>;

}  // namespace tandem::cuda
