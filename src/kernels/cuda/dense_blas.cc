#include "kernels/cuda/dense_blas.h"

#include <memory>
#include <string>

#include "device/cuda/cuda_release.h"
#include "device/cuda/library.h"
#include "kernels/cuda/per_device.h"
#include "tandem/error.h"

namespace tandem::cuda {
namespace {

// The table's types are those of the header.
static_assert(
    std::is_same_v<decltype(BlasFunctions<float>::trsm), decltype(&::cublasStrsm)>);
static_assert(std::is_same_v<decltype(BlasFunctions<cuComplex>::trsm_batched),
                             decltype(&::cublasCtrsmBatched)>);
static_assert(std::is_same_v<decltype(BlasFunctions<double>::gemm_batched),
                             decltype(&::cublasDgemmStridedBatched)>);
static_assert(std::is_same_v<decltype(BlasFunctions<cuDoubleComplex>::getrf_batched),
                             decltype(&::cublasZgetrfBatched)>);
static_assert(std::is_same_v<decltype(BlasFunctions<cuComplex>::getrs_batched),
                             decltype(&::cublasCgetrsBatched)>);
static_assert(std::is_same_v<decltype(BlasFunctions<float>::getri_batched),
                             decltype(&::cublasSgetriBatched)>);

struct BlasLoader {
  void* library;
  bool complete = true;

  template <class F>
  void operator()(const std::string& name, F& function) {
    complete = find_symbol(library, name, function) && complete;
  }
  template <class T>
  void all(const std::string& letter, BlasFunctions<T>& f) {
    (*this)("cublas" + letter + "trsm_v2", f.trsm);
    (*this)("cublas" + letter + "trsmBatched", f.trsm_batched);
    (*this)("cublas" + letter + "gemmStridedBatched", f.gemm_batched);
    (*this)("cublas" + letter + "getrfBatched", f.getrf_batched);
    (*this)("cublas" + letter + "getrsBatched", f.getrs_batched);
    (*this)("cublas" + letter + "getriBatched", f.getri_batched);
  }
};

struct OwnedBlas {
  std::mutex mutex;
  cublasHandle_t handle = nullptr;
};
OwnedBlas& owned_blas(CudaDevice& device) {
  return per_device<OwnedBlas>(device, [](OwnedBlas& made) {
    check_dense_blas(dense_blas()->create(&made.handle), "starting cuBLAS");
  });
}

}  // namespace

const DenseBlas* dense_blas() {
  static const DenseBlas* const loaded = []() -> const DenseBlas* {
    open_library(Library::kCublasLt);  // which it is linked with
    void* library = open_library(Library::kCublas);
    if (!library) return nullptr;
    auto table = std::make_unique<DenseBlas>();
    BlasLoader load{library};
    load("cublasCreate_v2", table->create);
    load("cublasSetStream_v2", table->set_stream);
    load("cublasSetWorkspace_v2", table->set_workspace);
    load("cublasGetStatusString", table->status_text);
    load.all("S", table->s);
    load.all("D", table->d);
    load.all("C", table->c);
    load.all("Z", table->z);
    return load.complete ? table.release() : nullptr;
  }();
  return loaded;
}

void open_blas(CudaDevice& device) { owned_blas(device); }

BlasScope::BlasScope(const StreamContext& stream, void* workspace) {
  auto& device = static_cast<CudaDevice&>(*stream.device);
  OwnedBlas& owned = owned_blas(device);
  lock_ = std::unique_lock(owned.mutex);
  handle_ = owned.handle;
  // The workspace last: setting the stream takes it away.
  check_dense_blas(
      dense_blas()->set_stream(handle_, static_cast<cudaStream_t>(stream.native)),
      "giving cuBLAS a stream");
  check_dense_blas(dense_blas()->set_workspace(handle_, workspace, kBlasWorkspace),
                   "giving cuBLAS a workspace");
}

void check_dense_blas(cublasStatus_t status, const char* what) {
  if (status == CUBLAS_STATUS_SUCCESS) return;
  throw InternalError(std::string(what) + ": " + dense_blas()->status_text(status));
}

}  // namespace tandem::cuda
