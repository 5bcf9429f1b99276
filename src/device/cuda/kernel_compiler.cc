#include "device/cuda/kernel_compiler.h"

#include <atomic>

#include "device/cuda/driver.h"

namespace tandem::cuda {

namespace {
std::atomic<const KernelCompiler*> given_compiler{nullptr};
}

void set_kernel_compiler(const KernelCompiler* compiler) { given_compiler = compiler; }

void stop_compiling() {
  // A forked child has none of the threads, and perhaps a lock that one of them held.
  if (forked()) return;
  if (const KernelCompiler* compiler = given_compiler) compiler->stop();
}

std::string describe_kernels(const std::vector<int>& archs) {
  const KernelCompiler* compiler = given_compiler;
  return compiler ? compiler->describe(archs) : std::string();
}

}  // namespace tandem::cuda
