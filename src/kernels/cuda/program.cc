#include "kernels/cuda/program.h"

#include <algorithm>
#include <map>
#include <mutex>

#include "base/hash.h"
#include "kernels/cuda/compiler.h"
#include "tandem/error.h"

namespace tandem::cuda {
namespace {

/// The text with a first statement in every kernel: it may be started before those it
/// comes after are over (device/cuda/launch.h), waits for them, and lets the next one be
/// made ready.
std::string with_first_statement(const std::string& source) {
  static constexpr std::string_view kKernel = "extern \"C\" __global__";
  std::string text;
  size_t done = 0;
  for (size_t at; (at = source.find(kKernel, done)) != std::string::npos;) {
    const size_t body = source.find('{', at);
    if (body == std::string::npos) break;
    text.append(source, done, body + 1 - done);
    text += " take_turn();";
    done = body + 1;
  }
  return text.append(source, done);
}

/// Modules loaded on one GPU, by the text they were made from.
class Modules {
 public:
  CUmodule find(CudaDevice& device, const std::string& name, const std::string& source) {
    const Key key{hash_bytes(source, 1), hash_bytes(source, 2)};
    std::shared_ptr<Entry> entry;
    {
      std::lock_guard lock(mutex_);
      auto& kept = entries_[key];
      if (!kept) kept = std::make_shared<Entry>();
      entry = kept;
    }
    // One thread compiles a program; others that want the same one wait, others do not.
    std::lock_guard lock(entry->mutex);
    if (!entry->module) {
      const Binary binary = compile(name, with_first_statement(source), device.arch());
      device.activate();
      check(driver().cuModuleLoadData(&entry->module, binary.code.data()),
            "loading a kernel");
    }
    return entry->module;
  }

 private:
  using Key = std::pair<uint64_t, uint64_t>;
  struct Entry {
    std::mutex mutex;
    CUmodule module = nullptr;
  };
  std::mutex mutex_;
  std::map<Key, std::shared_ptr<Entry>> entries_;
};

Modules& modules_of(const CudaDevice& device) {
  static std::mutex mutex;
  static auto* const all = new std::map<const CudaDevice*, std::unique_ptr<Modules>>;
  std::lock_guard lock(mutex);
  auto& modules = (*all)[&device];
  if (!modules) modules = std::make_unique<Modules>();
  return *modules;
}

}  // namespace

Function find_function(Device* device, const std::string& name, const std::string& source,
                       const char* entry) {
  auto& gpu = static_cast<CudaDevice&>(*device);
  CUmodule module = modules_of(gpu).find(gpu, name, source);
  gpu.activate();
  Function f;
  check(driver().cuModuleGetFunction(&f.function, module, entry), entry);
  // Now rather than at the first launch, which may be inside a capture.
  check(driver().cuFuncLoad(f.function), entry);
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

void fill_bytes(const StreamContext& stream, void* at, uint8_t byte, size_t bytes) {
  if (bytes == 0) return;
  check(driver().cuMemsetD8Async(reinterpret_cast<CUdeviceptr>(at), byte, bytes,
                                 static_cast<CUstream>(stream.native)),
        "filling memory");
}

void copy_bytes(const StreamContext& stream, void* to, const void* from, size_t bytes) {
  if (bytes == 0) return;
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
