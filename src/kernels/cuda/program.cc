#include "kernels/cuda/program.h"

#include <algorithm>

#include "device/capture_session.h"
#include "device/cuda/copy_kernel.h"
#include "kernels/cuda/prebuild.h"
#include "kernels/cuda/program_build.h"
#include "tandem/error.h"

namespace tandem::cuda {

FunctionRef::operator CUfunction() const { return made_ ? made_->get() : nullptr; }

Function find_function(Device* device, const std::string& name, const std::string& source,
                       const char* entry, size_t shared_bytes) {
  auto& gpu = static_cast<CudaDevice&>(*device);
  if (gpu.is_imagined()) {
    note_text(gpu.arch(), name, source);
    return {};
  }
  gpu.activate();
  const std::shared_ptr<ProgramBuild> build = find_build(gpu, name, source);
  CollectBuilds::note(build);
  if (CollectBuilds::ask() == CollectBuilds::Ask::kAll || !build->must_compile()) {
    build->ask(build);
  }
  Function f;
  f.function = FunctionRef(build->function(entry, shared_bytes));
  f.multiprocessors = gpu.multiprocessors();
  return f;
}

Grid grid_for(const Function& f, int64_t n, unsigned threads) {
  const int64_t blocks = (n + threads - 1) / threads;
  const int64_t most = int64_t{f.multiprocessors} * (2048 / threads) * 8;
  return {.x = static_cast<unsigned>(std::clamp<int64_t>(blocks, 1, most)),
          .threads = threads};
}

void launch_raw(const Function& f, const StreamContext& stream, const Grid& grid,
                void** arguments) {
  launch_kernel(static_cast<CudaDevice&>(*stream.device),
                static_cast<CUstream>(stream.native), f.function, grid, arguments);
}

namespace {
template <class... A>
void launch_memory_kernel(const MemoryKernel& kernel, const StreamContext& stream,
                          A... arguments) {
  void* list[] = {&arguments...};
  launch_kernel(static_cast<CudaDevice&>(*stream.device),
                static_cast<CUstream>(stream.native), kernel.function,
                {.x = kernel.blocks, .threads = kernel.threads}, list);
}
}  // namespace

// Within a recording both are kernels (device/cuda/plain_nodes.h).
void fill_bytes(const StreamContext& stream, void* at, uint8_t byte, size_t bytes) {
  if (bytes == 0) return;
  if (CaptureSession::current()) {
    const FillKernel fill = fill_kernel(static_cast<CudaDevice&>(*stream.device), bytes);
    launch_memory_kernel(fill, stream, at, uint64_t{bytes}, byte * 0x01010101u,
                         uint64_t{bytes}, uint64_t{1});
    return;
  }
  check(driver().cuMemsetD8Async(reinterpret_cast<CUdeviceptr>(at), byte, bytes,
                                 static_cast<CUstream>(stream.native)),
        "filling memory");
}

void copy_bytes(const StreamContext& stream, void* to, const void* from, size_t bytes) {
  if (bytes == 0) return;
  if (CaptureSession::current()) {
    const CopyKernel copy = copy_kernel(static_cast<CudaDevice&>(*stream.device), bytes);
    launch_memory_kernel(copy, stream, to, from, uint64_t{bytes});
    return;
  }
  check(driver().cuMemcpyDtoDAsync(reinterpret_cast<CUdeviceptr>(to),
                                   reinterpret_cast<CUdeviceptr>(from), bytes,
                                   static_cast<CUstream>(stream.native)),
        "copying on the GPU");
}

const char* type_text(DType dtype) {
  switch (dtype) {
    case DType::kBool:
      return "bool";
    case DType::kInt8:
      return "i8";
    case DType::kInt16:
      return "i16";
    case DType::kInt32:
      return "i32";
    case DType::kInt64:
      return "i64";
    case DType::kUInt8:
      return "u8";
    case DType::kUInt16:
      return "u16";
    case DType::kUInt32:
      return "u32";
    case DType::kUInt64:
      return "u64";
    case DType::kFloat16:
      return "f16";
    case DType::kBFloat16:
      return "bf16";
    case DType::kFloat32:
      return "float";
    case DType::kFloat64:
      return "double";
    case DType::kComplex64:
      return "c64";
    case DType::kComplex128:
      return "c128";
    default:
      throw InternalError("a dtype without memory on the GPU: " +
                          std::string(dtype_name(dtype)));
  }
}

const char* bits_text(size_t bytes) {
  return bytes == 1   ? "u8"
         : bytes == 2 ? "u16"
         : bytes == 4 ? "u32"
         : bytes == 8 ? "u64"
                      : "bytes16";
}

}  // namespace tandem::cuda
