// Which release of CUDA's user libraries this process takes, 13 or 12, and what their
// files are called in it. A driver of CUDA 13 serves both, an older one those of CUDA 12
// alone. Decided once, by the driver and by what can be loaded. Any thread.
#pragma once

#include <string>

#include "base/fn_ref.h"

namespace tandem::cuda {

enum class Library {
  kCublas,
  kCublasLt,
  kCufft,
  kCupti,
  kCusolver,
  kCusparse,
  kJitLink,
  kNvrtc
};

/// 13 or 12. TANDEM_CUDA_RELEASE names one.
int cuda_release();
/// "libnvrtc.so.13", in the process's release or in `release`.
std::string library_file(Library library);
std::string library_file(Library library, int release);
/// Loads it (device/cuda/library.h); null when no place has it.
void* open_library(Library library);
/// The compiler of kernels and the library of products, without which there is no GPU:
/// "" when both can be loaded, else one line that names the one missing, with a remedy.
std::string missing_library();
/// "install CUDA 13 or the package extra [cuda13], or …": the end of a line that says
/// which library is missing.
std::string library_remedy();

/// The choice itself. `driver`: the interface version, 12040; 0: there is none. `asked`:
/// 0, or the release that the user has named. `usable`: whether the needed libraries of a
/// release can be loaded.
int choose_release(int driver, int asked, FnRef<bool(int release)> usable);

}  // namespace tandem::cuda
