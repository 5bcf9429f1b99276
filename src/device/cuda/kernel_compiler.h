// What the device asks of the compiler of kernels, which lies in a folder above
// (kernels/cuda). Given when the plugin is loaded; any thread.
#pragma once

#include <string>
#include <vector>

namespace tandem::cuda {

struct KernelCompiler {
  /// Joins its threads; called when the process exits.
  void (*stop)() = nullptr;
  /// How many kernels need no compiling on GPUs of these architectures, for people.
  std::string (*describe)(const std::vector<int>& archs) = nullptr;
};

/// Lives as long as the process.
void set_kernel_compiler(const KernelCompiler* compiler);
void stop_compiling();
std::string describe_kernels(const std::vector<int>& archs);

}  // namespace tandem::cuda
