// CudaDevice: one logical GPU. Nothing is taken from the GPU before the first use: the
// context (the driver's primary one), the streams and the report flags are made by
// activate(). Owned by the runtime; any thread.
#pragma once

#include <memory>
#include <mutex>
#include <vector>

#include "device/backend.h"
#include "device/cuda/cuda_allocator.h"
#include "device/cuda/cuda_stream.h"
#include "device/cuda/error_report.h"
#include "device/cuda/loop_interrupts.h"
#include "device/cuda/pinned_pool.h"
#include "device/device.h"

namespace tandem::cuda {

/// The platform whose kernels run on these devices.
Platform cuda_platform();

class CudaDevice final : public Device {
 public:
  struct Options {
    OpenRequest request;
    CUdevice device = 0;
    int arch = 0;
    int64_t memory_bytes = 0;
    /// Not 0: stands for a GPU of so many multiprocessors, to prepare kernels for.
    int imagined_multiprocessors = 0;
  };
  explicit CudaDevice(Options options);
  ~CudaDevice() override;

  Allocator& allocator() override { return allocator_; }
  Stream& compute() override { return compute_; }
  Stream& copy_in() override { return copy_in_; }
  Stream& copy_out() override { return copy_out_; }
  TimePoint copy(Stream& stream, void* to, const void* from, size_t bytes) override;
  void synchronize() override;
  void shutdown() override;
  void end_loops() override;

  /// Makes the context current on this thread; opens the device the first time. Throws
  /// when the device is lost.
  void activate();
  /// The same without throwing: false when the device is lost or the process exits.
  bool enter() noexcept;
  /// There is no GPU behind it: kernels can be prepared for it, and nothing else.
  bool is_imagined() const { return options_.imagined_multiprocessors != 0; }
  /// Its context and streams have been made.
  bool is_open() const { return is_open_ && !shut_; }
  /// The GPU cannot go on (a kernel touched memory it must not, the GPU fell off the
  /// bus): every later use throws.
  void lost(CUresult result, const std::string& where);
  /// Throws what a kernel has reported, once; what made the device unusable, always.
  void throw_reported();
  /// Loops were ended by setting the report on the GPU: it counts no longer for work that
  /// is given from now on.
  void clear_interrupt();

  CUdevice native() const { return options_.device; }
  int arch() const { return options_.arch; }
  int multiprocessors() const { return multiprocessors_; }
  CUcontext context() const { return context_; }
  /// Device address of the ReportFlags.
  CUdeviceptr flags() const { return flags_; }
  LoopInterrupts& loops() { return loops_; }

 private:
  void open();
  bool holds(const void* address) const { return allocator_.holds(address); }
  // staged_copies.cc
  TimePoint copy_to_gpu(CudaStream& stream, void* to, const void* from, size_t bytes);
  TimePoint copy_to_host(CudaStream& stream, void* to, const void* from, size_t bytes);
  /// Enqueues work with a block, which goes back to the pool where that is refused.
  TimePoint lend(CudaStream& stream, std::byte* block, bool returns, StreamTask task);
  /// One piece from a block to the GPU, and to a block from it.
  TimePoint send(CudaStream& stream, std::byte* block, CUdeviceptr to, size_t bytes);
  TimePoint fetch(CudaStream& stream, std::byte* block, CUdeviceptr from, size_t bytes);
  size_t trim_pinned();

  const Options options_;
  CUcontext context_ = nullptr;
  CUdeviceptr flags_ = 0;
  Report* reported_ = nullptr;  // mapped host memory
  int multiprocessors_ = 1;
  std::once_flag opened_;
  std::atomic<bool> is_open_{false}, shut_{false};
  std::mutex mutex_;  // lost_, reading and clearing reports
  std::exception_ptr lost_;
  std::atomic<bool> is_lost_{false};
  CudaAllocator allocator_;
  CudaStream compute_, copy_in_, copy_out_;
  PinnedPool pinned_;
  LoopInterrupts loops_{*this};
};

/// The GPU that holds an address, or null for host memory.
CudaDevice* device_of(const void* address);
/// GPUs whose context has been made.
std::vector<CudaDevice*> open_devices();

}  // namespace tandem::cuda
