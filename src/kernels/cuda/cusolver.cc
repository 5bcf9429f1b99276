#include "kernels/cuda/cusolver.h"

#include <memory>
#include <string>

#include "device/cuda/cuda_release.h"
#include "device/cuda/library.h"
#include "kernels/cuda/per_device.h"
#include "tandem/error.h"

namespace tandem::cuda {
namespace {

// The table's types are those of the header.
#define SAME(T, member, function)                                    \
  static_assert(std::is_same_v<decltype(SolverFunctions<T>::member), \
                               decltype(&::cusolverDn##function)>,   \
                #function)
SAME(float, potrf_size, Spotrf_bufferSize);
SAME(float, potrf, Spotrf);
SAME(cuComplex, potrf_batched, CpotrfBatched);
SAME(float, getrf_size, Sgetrf_bufferSize);
SAME(double, getrf, Dgetrf);
SAME(cuComplex, getrs, Cgetrs);
SAME(float, geqrf_size, Sgeqrf_bufferSize);
SAME(double, geqrf, Dgeqrf);
SAME(float, ungqr_size, Sorgqr_bufferSize);
SAME(cuComplex, ungqr_size, Cungqr_bufferSize);
SAME(double, ungqr, Dorgqr);
SAME(cuDoubleComplex, ungqr, Zungqr);
SAME(float, heevd_size, Ssyevd_bufferSize);
SAME(cuComplex, heevd_size, Cheevd_bufferSize);
SAME(double, heevd, Dsyevd);
SAME(cuDoubleComplex, heevd, Zheevd);
SAME(float, heevj_batched_size, SsyevjBatched_bufferSize);
SAME(cuComplex, heevj_batched_size, CheevjBatched_bufferSize);
SAME(double, heevj_batched, DsyevjBatched);
SAME(cuDoubleComplex, heevj_batched, ZheevjBatched);
SAME(float, gesvdj_size, Sgesvdj_bufferSize);
SAME(cuDoubleComplex, gesvdj, Zgesvdj);
SAME(cuComplex, gesvdj_batched_size, CgesvdjBatched_bufferSize);
SAME(double, gesvdj_batched, DgesvdjBatched);
#undef SAME

struct SolverLoader {
  void* library;
  bool complete = true;

  template <class F>
  void operator()(const std::string& name, F& function) {
    complete = find_symbol(library, "cusolverDn" + name, function) && complete;
  }
  template <class T>
  void all(const std::string& letter, SolverFunctions<T>& f) {
    const bool real = std::is_same_v<T, typename RealPart<T>::type>;
    const std::string size = "_bufferSize", unitary = letter + (real ? "or" : "un"),
                      adjoint = letter + (real ? "sy" : "he");
    (*this)(letter + "potrf" + size, f.potrf_size);
    (*this)(letter + "potrf", f.potrf);
    (*this)(letter + "potrfBatched", f.potrf_batched);
    (*this)(letter + "getrf" + size, f.getrf_size);
    (*this)(letter + "getrf", f.getrf);
    (*this)(letter + "getrs", f.getrs);
    (*this)(letter + "geqrf" + size, f.geqrf_size);
    (*this)(letter + "geqrf", f.geqrf);
    (*this)(unitary + "gqr" + size, f.ungqr_size);
    (*this)(unitary + "gqr", f.ungqr);
    (*this)(adjoint + "evd" + size, f.heevd_size);
    (*this)(adjoint + "evd", f.heevd);
    (*this)(adjoint + "evjBatched" + size, f.heevj_batched_size);
    (*this)(adjoint + "evjBatched", f.heevj_batched);
    (*this)(letter + "gesvdj" + size, f.gesvdj_size);
    (*this)(letter + "gesvdj", f.gesvdj);
    (*this)(letter + "gesvdjBatched" + size, f.gesvdj_batched_size);
    (*this)(letter + "gesvdjBatched", f.gesvdj_batched);
  }
};

struct OwnedSolver {
  std::mutex mutex;
  cusolverDnHandle_t handle = nullptr;
  syevjInfo_t syevj = nullptr;
  gesvdjInfo_t gesvdj = nullptr;
};
OwnedSolver& owned_solver(CudaDevice& device) {
  return per_device<OwnedSolver>(device, [](OwnedSolver& made) {
    check_solver(solver()->create(&made.handle), "starting cuSOLVER");
    check_solver(solver()->create_syevj(&made.syevj), "starting cuSOLVER");
    check_solver(solver()->create_gesvdj(&made.gesvdj), "starting cuSOLVER");
  });
}

const char* status_words(cusolverStatus_t status) {
  switch (status) {
    case CUSOLVER_STATUS_NOT_INITIALIZED:
      return "it is not initialized";
    case CUSOLVER_STATUS_ALLOC_FAILED:
      return "it found no memory";
    case CUSOLVER_STATUS_INVALID_VALUE:
      return "an argument is out of range";
    case CUSOLVER_STATUS_ARCH_MISMATCH:
      return "the GPU is too old for it";
    case CUSOLVER_STATUS_EXECUTION_FAILED:
      return "a kernel failed";
    case CUSOLVER_STATUS_NOT_SUPPORTED:
      return "it does not support these sizes";
    default:
      return "an internal error";
  }
}

}  // namespace

const Solver* solver() {
  static const Solver* const loaded = []() -> const Solver* {
    // What it is linked with, from the same places.
    for (const Library linked :
         {Library::kCublasLt, Library::kCublas, Library::kJitLink, Library::kCusparse}) {
      open_library(linked);
    }
    void* library = open_library(Library::kCusolver);
    if (!library) return nullptr;
    auto table = std::make_unique<Solver>();
    SolverLoader load{library};
    load("Create", table->create);
    load("SetStream", table->set_stream);
    load("CreateSyevjInfo", table->create_syevj);
    load("CreateGesvdjInfo", table->create_gesvdj);
    load.all("S", table->s);
    load.all("D", table->d);
    load.all("C", table->c);
    load.all("Z", table->z);
    return load.complete ? table.release() : nullptr;
  }();
  return loaded;
}

SolverScope::SolverScope(CudaDevice& device) {
  OwnedSolver& owned = owned_solver(device);
  lock_ = std::unique_lock(owned.mutex);
  device.activate();
  handle_ = owned.handle;
  syevj_ = owned.syevj;
  gesvdj_ = owned.gesvdj;
}

SolverScope::SolverScope(const StreamContext& stream)
    : SolverScope(static_cast<CudaDevice&>(*stream.device)) {
  check_solver(solver()->set_stream(handle_, static_cast<cudaStream_t>(stream.native)),
               "giving cuSOLVER a stream");
}

void check_solver(cusolverStatus_t status, const char* what) {
  if (status == CUSOLVER_STATUS_SUCCESS) return;
  throw InternalError(std::string(what) + " with cuSOLVER: " + status_words(status) +
                      " (status " + std::to_string(static_cast<int>(status)) + ")");
}

}  // namespace tandem::cuda
