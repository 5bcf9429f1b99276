// cuFFT, loaded by name when the first transform runs. Where it is missing transforms
// stay on the CPU. Any thread.
#pragma once

#include <mutex>

#include <cufft.h>

namespace tandem::cuda {

struct CufftApi {
  decltype(&::cufftCreate) create = nullptr;
  decltype(&::cufftDestroy) destroy = nullptr;
  decltype(&::cufftSetAutoAllocation) set_auto_allocation = nullptr;
  decltype(&::cufftMakePlanMany64) make_plan_many = nullptr;
  decltype(&::cufftSetWorkArea) set_work_area = nullptr;
  decltype(&::cufftSetStream) set_stream = nullptr;
  decltype(&::cufftExecC2C) exec_c2c = nullptr;
  decltype(&::cufftExecZ2Z) exec_z2z = nullptr;
  decltype(&::cufftExecR2C) exec_r2c = nullptr;
  decltype(&::cufftExecD2Z) exec_d2z = nullptr;
  decltype(&::cufftExecC2R) exec_c2r = nullptr;
  decltype(&::cufftExecZ2D) exec_z2d = nullptr;
};

/// Null where the library, or a function of it, is missing.
const CufftApi* cufft();
/// Throws InternalError unless the call succeeded.
void check_fft(cufftResult status, const char* what);

/// A plan without memory of its own: it is given some at every use, which one thread does
/// at a time.
class FftPlan {
 public:
  struct Sizes {
    int rank = 1;
    long long n[3] = {};
    long long batch = 1;
  };
  FftPlan(cufftType type, const Sizes& sizes);
  FftPlan(const FftPlan&) = delete;
  FftPlan& operator=(const FftPlan&) = delete;
  ~FftPlan();

  size_t work_bytes() const { return work_bytes_; }
  /// Enqueues the transform; `direction` matters between complex numbers only.
  void run(void* stream, const void* in, void* out, void* work, int direction) const;

 private:
  cufftType type_;
  cufftHandle handle_ = 0;
  size_t work_bytes_ = 0;
  mutable std::mutex mutex_;
};

}  // namespace tandem::cuda
