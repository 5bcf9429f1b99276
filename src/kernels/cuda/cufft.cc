#include "kernels/cuda/cufft.h"

#include <memory>
#include <string>

#include "device/cuda/cuda_release.h"
#include "device/cuda/library.h"
#include "tandem/error.h"

namespace tandem::cuda {

const CufftApi* cufft() {
  static const CufftApi* const loaded = []() -> const CufftApi* {
    void* library = open_library(Library::kCufft);
    if (!library) return nullptr;
    auto api = std::make_unique<CufftApi>();
    const bool complete =
        find_symbol(library, "cufftCreate", api->create) &&
        find_symbol(library, "cufftDestroy", api->destroy) &&
        find_symbol(library, "cufftSetAutoAllocation", api->set_auto_allocation) &&
        find_symbol(library, "cufftMakePlanMany64", api->make_plan_many) &&
        find_symbol(library, "cufftSetWorkArea", api->set_work_area) &&
        find_symbol(library, "cufftSetStream", api->set_stream) &&
        find_symbol(library, "cufftExecC2C", api->exec_c2c) &&
        find_symbol(library, "cufftExecZ2Z", api->exec_z2z) &&
        find_symbol(library, "cufftExecR2C", api->exec_r2c) &&
        find_symbol(library, "cufftExecD2Z", api->exec_d2z) &&
        find_symbol(library, "cufftExecC2R", api->exec_c2r) &&
        find_symbol(library, "cufftExecZ2D", api->exec_z2d);
    return complete ? api.release() : nullptr;
  }();
  return loaded;
}

void check_fft(cufftResult status, const char* what) {
  if (status == CUFFT_SUCCESS) return;
  throw InternalError(std::string(what) + ": cuFFT's result " +
                      std::to_string(static_cast<int>(status)));
}

FftPlan::FftPlan(cufftType type, const Sizes& sizes) : type_(type) {
  const CufftApi& api = *cufft();
  check_fft(api.create(&handle_), "making a plan for a Fourier transform");
  try {
    check_fft(api.set_auto_allocation(handle_, 0), "a plan without memory");
    long long n[3] = {sizes.n[0], sizes.n[1], sizes.n[2]};
    check_fft(api.make_plan_many(handle_, sizes.rank, n, nullptr, 1, 0, nullptr, 1, 0,
                                 type, sizes.batch, &work_bytes_),
              "planning a Fourier transform");
  } catch (...) {
    api.destroy(handle_);
    throw;
  }
}

FftPlan::~FftPlan() { cufft()->destroy(handle_); }

void FftPlan::run(void* stream, const void* in, void* out, void* work,
                  int direction) const {
  const CufftApi& api = *cufft();
  // cuFFT takes inputs as writable: only complex-to-real transforms write them.
  void* from = const_cast<void*>(in);
  const std::lock_guard lock(mutex_);
  check_fft(api.set_stream(handle_, static_cast<cudaStream_t>(stream)), "a stream");
  if (work_bytes_) check_fft(api.set_work_area(handle_, work), "memory for a transform");
  using C = cufftComplex*;
  using Z = cufftDoubleComplex*;
  using R = cufftReal*;
  using D = cufftDoubleReal*;
  cufftResult status = CUFFT_INVALID_TYPE;
  switch (type_) {
    case CUFFT_C2C:
      status =
          api.exec_c2c(handle_, static_cast<C>(from), static_cast<C>(out), direction);
      break;
    case CUFFT_Z2Z:
      status =
          api.exec_z2z(handle_, static_cast<Z>(from), static_cast<Z>(out), direction);
      break;
    case CUFFT_R2C:
      status = api.exec_r2c(handle_, static_cast<R>(from), static_cast<C>(out));
      break;
    case CUFFT_D2Z:
      status = api.exec_d2z(handle_, static_cast<D>(from), static_cast<Z>(out));
      break;
    case CUFFT_C2R:
      status = api.exec_c2r(handle_, static_cast<C>(from), static_cast<R>(out));
      break;
    case CUFFT_Z2D:
      status = api.exec_z2d(handle_, static_cast<Z>(from), static_cast<D>(out));
      break;
  }
  check_fft(status, "a Fourier transform");
}

}  // namespace tandem::cuda
