// cuBLAS as a table of functions per dtype: triangular systems and LU
// factors of batches, which cuBLASLt does not have. Loaded when first asked for; without
// it the ops that want it stay on the CPU. One handle per GPU, used by one thread at a
// time. Any thread.
#pragma once

#include <mutex>

#include <cublas_v2.h>

#include "device/cuda/cuda_device.h"

namespace tandem::cuda {

/// The functions for one of float, double, cuComplex and cuDoubleComplex.
template <class T>
struct BlasFunctions {
  using Status = cublasStatus_t;
  using Handle = cublasHandle_t;
  using Op = cublasOperation_t;
  Status (*trsm)(Handle, cublasSideMode_t, cublasFillMode_t, Op, cublasDiagType_t, int m,
                 int n, const T* alpha, const T* a, int lda, T* b, int ldb) = nullptr;
  Status (*trsm_batched)(Handle, cublasSideMode_t, cublasFillMode_t, Op, cublasDiagType_t,
                         int m, int n, const T* alpha, const T* const a[], int lda,
                         T* const b[], int ldb, int batch) = nullptr;
  Status (*gemm_batched)(Handle, Op, Op, int m, int n, int k, const T* alpha, const T* a,
                         int lda, long long stride_a, const T* b, int ldb,
                         long long stride_b, const T* beta, T* c, int ldc,
                         long long stride_c, int batch) = nullptr;
  Status (*getrf_batched)(Handle, int n, T* const a[], int lda, int* pivots, int* info,
                          int batch) = nullptr;
  /// `info` is the host's here: it speaks of the arguments.
  Status (*getrs_batched)(Handle, Op, int n, int columns, const T* const a[], int lda,
                          const int* pivots, T* const b[], int ldb, int* info,
                          int batch) = nullptr;
  Status (*getri_batched)(Handle, int n, const T* const a[], int lda, const int* pivots,
                          T* const c[], int ldc, int* info, int batch) = nullptr;
};

struct DenseBlas {
  decltype(&::cublasCreate) create = nullptr;
  decltype(&::cublasSetStream) set_stream = nullptr;
  decltype(&::cublasSetWorkspace) set_workspace = nullptr;
  decltype(&::cublasGetStatusString) status_text = nullptr;
  BlasFunctions<float> s;
  BlasFunctions<double> d;
  BlasFunctions<cuComplex> c;
  BlasFunctions<cuDoubleComplex> z;

  template <class T>
  const BlasFunctions<T>& of() const {
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
const DenseBlas* dense_blas();

/// Scratch memory that a kernel hands to the library, so that it allocates none.
inline constexpr size_t kBlasWorkspace = size_t{4} << 20;
inline constexpr size_t kBlasAlignment = 256;

/// The GPU's handle, for a prepared kernel: made now if there is none yet, since making
/// one inside a capture is not allowed.
void open_blas(CudaDevice& device);

/// While it lives this thread has the handle, which works on `stream` with a workspace of
/// kBlasWorkspace bytes.
class BlasScope {
 public:
  BlasScope(const StreamContext& stream, void* workspace);
  cublasHandle_t handle() const { return handle_; }

 private:
  std::unique_lock<std::mutex> lock_;
  cublasHandle_t handle_ = nullptr;
};

/// Throws InternalError unless it is a success.
void check_dense_blas(cublasStatus_t status, const char* what);

}  // namespace tandem::cuda
