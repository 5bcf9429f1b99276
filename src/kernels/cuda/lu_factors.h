// LU factors with partial pivoting of a batch of square matrices, in place and in the
// libraries' layout: by cuBLAS all at once (small matrices; can be captured), or by
// cuSOLVER one after the other. Part of a prepared kernel; any thread.
#pragma once

#include "kernels/cuda/dense_blas.h"
#include "kernels/cuda/linalg.h"

namespace tandem::cuda {

/// Which library has input 0's matrices: exactly one of both is true, or none.
bool lu_batched(const Signature& s);
bool lu_single(const Signature& s);

template <class T>
struct LuFactors {
  int64_t batch = 0, n = 0;
  bool batched = true;
  size_t matrices = 0, pivots = 0, info = 0;  // regions
  size_t list = 0, work = 0;
  Function point, pivot_check;

  /// Regions for input 0's matrices and what goes with them.
  static LuFactors plan(const Signature& s, Regions& regions, bool batched);
  bool empty() const { return batch == 0 || n == 0; }
  /// Factors what stands in the region `matrices`.
  void factor(const LaunchArgs& a) const;
  /// Reports a pivot that is zero.
  void check(const LaunchArgs& a, const ErrorSite& site) const;
};

extern template struct LuFactors<float>;
extern template struct LuFactors<double>;
extern template struct LuFactors<cuComplex>;
extern template struct LuFactors<cuDoubleComplex>;

}  // namespace tandem::cuda
