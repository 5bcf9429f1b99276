// cuSOLVER as a table of functions per dtype. Loaded when first asked
// for; without it the ops that want it stay on the CPU. One handle per GPU, used by one
// thread at a time. Its functions are not known to be fit for a capture: kernels that
// call them say so (op/uncaptured.h). Any thread.
#pragma once

#include <mutex>
#include <type_traits>

#include <cusolverDn.h>

#include "device/cuda/cuda_device.h"

namespace tandem::cuda {

template <class T>
struct RealPart {
  using type = T;
};
template <>
struct RealPart<cuComplex> {
  using type = float;
};
template <>
struct RealPart<cuDoubleComplex> {
  using type = double;
};

/// The functions for one of float, double, cuComplex and cuDoubleComplex. Sizes of
/// workspaces are in elements.
template <class T>
struct SolverFunctions {
  using Status = cusolverStatus_t;
  using Handle = cusolverDnHandle_t;
  using Mode = cusolverEigMode_t;
  using Fill = cublasFillMode_t;
  using R = typename RealPart<T>::type;

  Status (*potrf_size)(Handle, Fill, int n, T* a, int lda, int* size) = nullptr;
  Status (*potrf)(Handle, Fill, int n, T* a, int lda, T* work, int size,
                  int* info) = nullptr;
  Status (*potrf_batched)(Handle, Fill, int n, T* a[], int lda, int* info,
                          int batch) = nullptr;
  Status (*getrf_size)(Handle, int m, int n, T* a, int lda, int* size) = nullptr;
  Status (*getrf)(Handle, int m, int n, T* a, int lda, T* work, int* pivots,
                  int* info) = nullptr;
  Status (*getrs)(Handle, cublasOperation_t, int n, int columns, const T* a, int lda,
                  const int* pivots, T* b, int ldb, int* info) = nullptr;
  Status (*geqrf_size)(Handle, int m, int n, T* a, int lda, int* size) = nullptr;
  Status (*geqrf)(Handle, int m, int n, T* a, int lda, T* tau, T* work, int size,
                  int* info) = nullptr;
  Status (*ungqr_size)(Handle, int m, int n, int k, const T* a, int lda, const T* tau,
                       int* size) = nullptr;
  Status (*ungqr)(Handle, int m, int n, int k, T* a, int lda, const T* tau, T* work,
                  int size, int* info) = nullptr;
  Status (*heevd_size)(Handle, Mode, Fill, int n, const T* a, int lda, const R* w,
                       int* size) = nullptr;
  Status (*heevd)(Handle, Mode, Fill, int n, T* a, int lda, R* w, T* work, int size,
                  int* info) = nullptr;
  Status (*heevj_batched_size)(Handle, Mode, Fill, int n, const T* a, int lda, const R* w,
                               int* size, syevjInfo_t, int batch) = nullptr;
  Status (*heevj_batched)(Handle, Mode, Fill, int n, T* a, int lda, R* w, T* work,
                          int size, int* info, syevjInfo_t, int batch) = nullptr;
  Status (*gesvdj_size)(Handle, Mode, int econ, int m, int n, const T* a, int lda,
                        const R* s, const T* u, int ldu, const T* v, int ldv, int* size,
                        gesvdjInfo_t) = nullptr;
  Status (*gesvdj)(Handle, Mode, int econ, int m, int n, T* a, int lda, R* s, T* u,
                   int ldu, T* v, int ldv, T* work, int size, int* info,
                   gesvdjInfo_t) = nullptr;
  Status (*gesvdj_batched_size)(Handle, Mode, int m, int n, const T* a, int lda,
                                const R* s, const T* u, int ldu, const T* v, int ldv,
                                int* size, gesvdjInfo_t, int batch) = nullptr;
  Status (*gesvdj_batched)(Handle, Mode, int m, int n, T* a, int lda, R* s, T* u, int ldu,
                           T* v, int ldv, T* work, int size, int* info, gesvdjInfo_t,
                           int batch) = nullptr;
};

struct Solver {
  decltype(&::cusolverDnCreate) create = nullptr;
  decltype(&::cusolverDnSetStream) set_stream = nullptr;
  decltype(&::cusolverDnCreateSyevjInfo) create_syevj = nullptr;
  decltype(&::cusolverDnCreateGesvdjInfo) create_gesvdj = nullptr;
  SolverFunctions<float> s;
  SolverFunctions<double> d;
  SolverFunctions<cuComplex> c;
  SolverFunctions<cuDoubleComplex> z;

  template <class T>
  const SolverFunctions<T>& of() const {
    if constexpr (std::is_same_v<T, float>) {
      return s;
    } else if constexpr (std::is_same_v<T, double>) {
      return d;
    } else if constexpr (std::is_same_v<T, cuComplex>) {
      return c;
    } else {
      return z;
    }
  }
};

/// Null when the library, or one of its functions, is missing.
const Solver* solver();

/// While it lives this thread has the GPU's handle, which works on `stream` (null: for
/// questions about sizes).
class SolverScope {
 public:
  explicit SolverScope(CudaDevice& device);
  explicit SolverScope(const StreamContext& stream);
  cusolverDnHandle_t handle() const { return handle_; }
  /// Settings of Jacobi's method: the library's own.
  syevjInfo_t syevj() const { return syevj_; }
  gesvdjInfo_t gesvdj() const { return gesvdj_; }

 private:
  std::unique_lock<std::mutex> lock_;
  cusolverDnHandle_t handle_ = nullptr;
  syevjInfo_t syevj_ = nullptr;
  gesvdjInfo_t gesvdj_ = nullptr;
};

/// Throws InternalError unless it is a success.
void check_solver(cusolverStatus_t status, const char* what);

}  // namespace tandem::cuda
