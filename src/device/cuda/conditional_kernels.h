// The kernels that tell a conditional node of a CUDA graph how to go on. They are PTX,
// which the driver translates and links with its own function that sets a condition: no
// library and no compiler is needed. Loaded once per GPU; any thread.
#pragma once

#include "device/cuda/driver.h"

namespace tandem::cuda {

class CudaDevice;

struct ConditionalKernels {
  /// (handle, address of a bool, address of the number of turns, the most turns or -1,
  /// address of the error report, 1 before the first turn): sets the condition to 1 when
  /// there is to be another turn, to 0 otherwise, and once an error is reported.
  CUfunction repeat = nullptr;
  /// (handle, address of a value, its bytes, number of branches): sets the condition to
  /// the number of a branch.
  CUfunction choose = nullptr;
};

/// The device's context is current. Loads them at the first call, which may be inside a
/// recording: a relaxed one allows that.
const ConditionalKernels& conditional_kernels(const CudaDevice& device);

}  // namespace tandem::cuda
