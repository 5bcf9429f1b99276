#include "device/cuda/kernel_compiler.h"

#include <atomic>

#include "device/cuda/driver.h"

namespace tandem::cuda {

namespace {
std::atomic<const KernelCompiler*> given{nullptr};
}

void set_kernel_compiler(const KernelCompiler* compiler) { given = compiler; }

void stop_compiling() {
  // A forked child has none of the threads, and perhaps a lock that one of them held.
  if (forked()) return;
  if (const KernelCompiler* compiler = given) compiler->stop();
}

std::string describe_kernels(const std::vector<int>& archs) {
  const KernelCompiler* compiler = given;
  return compiler ? compiler->describe(archs) : std::string();
}

}  // namespace tandem::cuda
