// Batches of triangular systems by cuBLAS, in place; fit for a capture. Part of a
// prepared kernel; any thread.
#pragma once

#include "kernels/cuda/dense_blas.h"
#include "kernels/cuda/linalg.h"

namespace tandem::cuda {

/// op(a)·x = b with row-major matrices; op is the adjoint or nothing.
template <class T>
struct TriangularSystems {
  int64_t batch = 0, n = 0, columns = 0;
  bool lower = true, adjoint = false;
  size_t a_list = 0, x_list = 0, work = 0;  // regions
  Function point;

  bool empty() const { return batch == 0 || n == 0 || columns == 0; }
  /// Takes its regions; the sizes above are set.
  void plan(const Signature& s, Regions& regions);
  /// `x` holds b, matrices one after the other, and gets the solution.
  void solve(const LaunchArgs& a, const T* matrices, const BatchSteps& steps, T* x) const;
};

extern template struct TriangularSystems<float>;
extern template struct TriangularSystems<double>;
extern template struct TriangularSystems<cuComplex>;
extern template struct TriangularSystems<cuDoubleComplex>;

}  // namespace tandem::cuda
