// Launching a kernel. A kernel may be made ready while the ones before it on its stream
// still run (programmatic dependent launch, compute capability 9.0 and newer): every
// kernel of ours begins by waiting for them (kernels/cuda/compiler.cc), so this changes
// nothing but the time between two kernels. Any thread.
#pragma once

#include "device/cuda/driver.h"

namespace tandem::cuda {

class CudaDevice;

struct LaunchShape {
  unsigned x = 1, y = 1, z = 1;
  unsigned threads = 256, threads_y = 1;
  unsigned shared = 0;
  /// May be made ready early. Not where blocks must find room of their own: those that
  /// are made ready while others run share processors with each other, and stay there.
  bool early = true;
};

void launch_kernel(const CudaDevice& device, CUstream stream, CUfunction function,
                   const LaunchShape& shape, void** arguments);

/// While it lives, recordings of this thread may use such launches, or may not. Outside
/// of recordings they are used unless a profile is made: a kernel's time would begin
/// while it waits.
class ProgrammaticLaunches {
 public:
  explicit ProgrammaticLaunches(bool allowed);
  ProgrammaticLaunches(const ProgrammaticLaunches&) = delete;
  ProgrammaticLaunches& operator=(const ProgrammaticLaunches&) = delete;
  ~ProgrammaticLaunches();

 private:
  int outer_;
};

}  // namespace tandem::cuda
