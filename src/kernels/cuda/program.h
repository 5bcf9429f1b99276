// Programs of kernels: text made from the files under device/ and generated parts, its
// compiled form on each GPU, and how kernels of it are launched. Functions are found in
// prepare(), which does not wait for the compiler (program_build.h); launch() waits for
// its own kernel the first time, and only passes pointers afterwards. Any thread.
#pragma once

#include <cstring>
#include <memory>
#include <string>
#include <string_view>

#include "device/cuda/cuda_device.h"
#include "device/cuda/launch.h"
#include "op/guarded_writes.h"
#include "op/kernel.h"

namespace tandem::cuda {

/// The text of a file under src/kernels/cuda/device (embedded at build time), and of the
/// CPU's special functions; throws InternalError when there is none.
std::string_view device_text(std::string_view file);

class LoadedFunction;

/// A kernel that may still be being compiled: its address is waited for where it is used.
class FunctionRef {
 public:
  FunctionRef() = default;
  explicit FunctionRef(std::shared_ptr<LoadedFunction> made) : made_(std::move(made)) {}
  /// There is one. Does not wait.
  explicit operator bool() const { return made_ != nullptr; }
  /// Waits until it is loaded; throws what kept it from being so.
  operator CUfunction() const;

 private:
  std::shared_ptr<LoadedFunction> made_;
};

/// A kernel on one GPU.
struct Function {
  FunctionRef function;
  int multiprocessors = 1;
};
/// The kernel `entry` of a program, which other threads begin to compile and load at the
/// first call for it. `shared_bytes`: of dynamic shared memory, where that is more than
/// every kernel may have.
Function find_function(Device* device, const std::string& name, const std::string& source,
                       const char* entry, size_t shared_bytes = 0);

/// The GPU a signature is for.
inline CudaDevice& gpu_of(const Signature& s) {
  return static_cast<CudaDevice&>(*s.device);
}

using Grid = LaunchShape;
/// n / by, rounded up.
inline int64_t up(int64_t n, int64_t by) { return (n + by - 1) / by; }
/// Blocks for `n` items of a grid-stride loop.
Grid grid_for(const Function& f, int64_t n, unsigned threads = 256);

void launch_raw(const Function& f, const StreamContext& stream, const Grid& grid,
                void** arguments);
template <class... A>
void launch(const Function& f, const StreamContext& stream, const Grid& grid,
            A... arguments) {
  void* list[] = {&arguments...};
  launch_raw(f, stream, grid, list);
}

/// The same byte everywhere, in stream order.
void fill_bytes(const StreamContext& stream, void* at, uint8_t byte, size_t bytes);
/// Zeros, in stream order.
inline void fill_zeros(const StreamContext& stream, void* at, size_t bytes) {
  fill_bytes(stream, at, 0, bytes);
}
/// A copy inside the GPU, in stream order.
void copy_bytes(const StreamContext& stream, void* to, const void* from, size_t bytes);

/// The name of a dtype's storage type in device text: "f16", "float", "i32", "c64".
const char* type_text(DType dtype);
/// The unsigned integer (or 16-byte) type of an element size.
const char* bits_text(size_t bytes);

inline CUdeviceptr flags_of(const StreamContext& stream) {
  return static_cast<CudaDevice*>(stream.device)->flags();
}
inline CUdeviceptr flags_of(const LaunchArgs& a) { return flags_of(*a.stream); }
/// The flags that a kernel which writes a variable must look at; 0: it need not.
inline CUdeviceptr guard_of(const StreamContext& stream) {
  return guarded_writes() ? flags_of(stream) : 0;
}
inline CUdeviceptr guard_of(const LaunchArgs& a) { return guard_of(*a.stream); }

}  // namespace tandem::cuda
