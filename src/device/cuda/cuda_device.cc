#include "device/cuda/cuda_device.h"

#include <algorithm>
#include <vector>

#include "base/ranges.h"
#include "base/recorder.h"
#include "device/conditional_work.h"
#include "device/cuda/activity.h"
#include "device/cuda/copy_team.h"
#include "device/cuda/kernel_compiler.h"
#include "device/end_loops.h"
#include "device/host_source.h"
#include "tandem/error.h"

namespace tandem::cuda {
namespace {

struct Devices {
  std::mutex mutex;
  std::vector<CudaDevice*> list;
};
Devices& devices() {
  static Devices* const all = new Devices;
  return *all;
}

Device::Info cuda_info(Device::Info info) {
  info.platform = cuda_platform();
  info.host_memory = false;
  info.emulated = false;
  return info;
}

void record_copy(const char* name, const Stream& stream, int64_t begin, size_t bytes) {
  if (!begin) return;
  recorder::record(recorder::Kind::kCopy, name, recorder::intern(stream.lane()), begin,
                   recorder::now_ns(), static_cast<int64_t>(bytes));
}

}  // namespace

Platform cuda_platform() {
  static const Platform platform = platform_id("cuda");
  return platform;
}

CudaDevice* device_of(const void* address) {
  Devices& all = devices();
  std::lock_guard lock(all.mutex);
  for (CudaDevice* device : all.list) {
    if (static_cast<CudaAllocator&>(device->allocator()).holds(address)) return device;
  }
  return nullptr;
}

std::vector<CudaDevice*> open_devices() {
  Devices& all = devices();
  std::lock_guard lock(all.mutex);
  std::vector<CudaDevice*> open;
  for (CudaDevice* device : all.list) {
    if (device->is_open()) open.push_back(device);
  }
  return open;
}

CudaDevice::CudaDevice(Options options)
    : Device(cuda_info(options.request.info)),
      options_(std::move(options)),
      allocator_(
          {.device = full_name(),
           .allocator = type() + "_" + std::to_string(index()) + "_cuda",
           .lane = short_name(),
           .total = options_.memory_bytes,
           .limit = options_.request.memory_limit,
           .activate = [this] { activate(); },
           .memory = [this] { return std::make_unique<DriverMemory>(options_.device); },
           .trim_host = [this] { return trim_pinned(); }}),
      compute_({.lane = recorder::intern(short_name() + "/compute"), .device = this}),
      copy_in_({.lane = recorder::intern(short_name() + "/copy_in"),
                .device = this,
                .reports = false}),
      copy_out_({.lane = recorder::intern(short_name() + "/copy_out"), .device = this}) {
  if (is_imagined()) multiprocessors_ = options_.imagined_multiprocessors;
  const DriverAbilities& can = driver_abilities();
  if (can.conditional_loops) ConditionalWork::offer(*this, can.conditional_branches);
  note_reads_host_at_once(*this);
  Devices& all = devices();
  std::lock_guard lock(all.mutex);
  all.list.push_back(this);
}

CudaDevice::~CudaDevice() {
  shutdown();
  Devices& all = devices();
  std::lock_guard lock(all.mutex);
  std::erase(all.list, this);
}

void CudaDevice::open() {
  const DriverApi& api = driver();
  check(api.cuDevicePrimaryCtxRetain(&context_, options_.device), "making a context");
  check(api.cuCtxSetCurrent(context_), "making a context current");
  api.cuDeviceGetAttribute(&multiprocessors_, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT,
                           options_.device);
  void* host = nullptr;
  check(api.cuMemHostAlloc(&host, sizeof(Report), CU_MEMHOSTALLOC_DEVICEMAP),
        "page-locking memory for error reports");
  reported_ = new (host) Report;
  CUdeviceptr mapped = 0;
  check(api.cuMemHostGetDevicePointer(&mapped, host, 0), "mapping error reports");
  check(api.cuMemAlloc(&flags_, sizeof(ReportFlags)), "allocating error reports");
  for (CudaStream* stream : {&compute_, &copy_in_, &copy_out_}) stream->open();
  ReportFlags flags;
  flags.host = mapped;
  check(api.cuMemcpyHtoDAsync(flags_, &flags, sizeof(flags), compute_.native()),
        "preparing error reports");
  check(api.cuStreamSynchronize(compute_.native()), "preparing error reports");
  is_open_ = true;
  ActivityRecording::get().opened(*this);
}

void CudaDevice::activate() {
  if (shut_ || is_imagined()) return;
  if (forked()) {
    throw UnavailableError(
        full_name() +
        " cannot be used in a process that was forked from one with a GPU: its driver "
        "does not live through a fork. Start the process with multiprocessing's "
        "\"spawn\", or compute under tf.device(\"/CPU:0\").");
  }
  std::call_once(opened_, [this] { open(); });
  if (is_lost_) {
    std::lock_guard lock(mutex_);
    std::rethrow_exception(lost_);
  }
  check(driver().cuCtxSetCurrent(context_), "making a context current");
}

bool CudaDevice::enter() noexcept {
  return !shut_ && !is_lost_ && !forked() && context_ &&
         driver().cuCtxSetCurrent(context_) == CUDA_SUCCESS;
}

void CudaDevice::lost(CUresult result, const std::string& where) {
  if (result == CUDA_ERROR_DEINITIALIZED || shut_) return;  // the process exits
  std::lock_guard lock(mutex_);
  if (is_lost_) return;
  lost_ = std::make_exception_ptr(InternalError(
      full_name() + " cannot be used any more: " + describe(result) + " seen on " +
      where + ". Start the program again; TANDEM_SYNC=1 names the op that did it."));
  is_lost_ = true;
}

void CudaDevice::throw_reported() {
  if (shut_ || forked()) return;  // the memory of reports is not the child's
  if (is_lost_) {
    std::lock_guard lock(mutex_);
    std::rethrow_exception(lost_);
  }
  const auto* seen = static_cast<const volatile int32_t*>(&reported_->code);
  if (*seen == 0) return;
  Report report;
  CUresult cleared = CUDA_SUCCESS;
  {
    std::lock_guard lock(mutex_);
    if (*seen == 0) return;
    std::atomic_thread_fence(std::memory_order_acquire);
    report = *reported_;
    *reported_ = Report{};
    cleared = driver().cuMemsetD8Async(flags_, 0, sizeof(Report), compute_.native());
  }
  // With the report still in its memory the GPU would never write a variable again.
  if (cleared) lost(cleared, compute_.lane());
  const ReportWords words = words_for(report);
  throw_error(words.code, words.text);
}

void CudaDevice::clear_interrupt() {
  CUresult cleared = CUDA_SUCCESS;
  {
    std::lock_guard lock(mutex_);
    // What a kernel has reported besides is cleared when it is thrown.
    if (static_cast<const volatile int32_t&>(reported_->code) != 0) return;
    cleared = driver().cuMemsetD8Async(flags_, 0, sizeof(Report), compute_.native());
  }
  if (cleared) lost(cleared, compute_.lane());
}

void CudaDevice::synchronize() {
  if (!context_) return;
  compute_.wait_or_interrupt(compute_.now().sequence);
  for (CudaStream* stream : {&compute_, &copy_in_, &copy_out_}) {
    stream->wait_quietly(stream->now().sequence);
  }
  throw_reported();
  for (CudaStream* stream : {&compute_, &copy_in_, &copy_out_}) {
    if (auto error = stream->take_error()) std::rethrow_exception(error);
  }
}

void CudaDevice::end_loops() {
  if (is_open()) loops_.end_all();
}

void CudaDevice::shutdown() {
  if (shut_ || !context_) return;
  stop_compiling();
  try {
    Device* const self = this;
    end_late_loops({&self, 1});
    for (CudaStream* stream : {&copy_in_, &compute_, &copy_out_}) stream->close();
  } catch (...) {
    // A lost device has nothing to finish.
  }
  CopyTeam::end();
  shut_ = true;
}

TimePoint CudaDevice::copy(Stream& stream, void* to, const void* from, size_t bytes) {
  const int64_t begin = recorder::enabled() ? recorder::now_ns() : 0;
  auto& native = static_cast<CudaStream&>(stream);
  CudaDevice* const target = device_of(to);
  CudaDevice* const source = device_of(from);
  if (bytes == 0) return stream.now();
  TimePoint done;
  const ranges::Range range(ranges::kCopy);
  try {
    if (!target) {
      done = copy_to_host(native, to, from, bytes);
    } else if (!source) {
      done = copy_to_gpu(native, to, from, bytes);
    } else {
      done = native.enqueue([=](const StreamContext& context) {
        auto* const on = static_cast<CUstream>(context.native);
        const bool same = target->context() == source->context();
        check(
            same ? driver().cuMemcpyDtoDAsync(address_of(to), address_of(from), bytes, on)
                 : driver().cuMemcpyPeerAsync(address_of(to), target->context(),
                                              address_of(from), source->context(), bytes,
                                              on),
            "copying on the GPU");
      });
    }
  } catch (...) {
    // Pieces that were taken before the one that is refused still use both sides.
    native.wait_quietly(native.now().sequence);
    // A GPU that is lost refuses everything: that is what there is to say.
    const CUresult state =
        enter() ? driver().cuStreamQuery(native.native()) : CUDA_SUCCESS;
    if (state != CUDA_SUCCESS && state != CUDA_ERROR_NOT_READY) {
      lost(state, stream.lane());
      activate();
    }
    throw;
  }
  record_copy(!target ? "D2H" : source ? "D2D" : "H2D", stream, begin, bytes);
  return done;
}

}  // namespace tandem::cuda
