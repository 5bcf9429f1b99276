#include "device/cuda/cuda_allocator.h"

#include <algorithm>

#include "base/flags.h"
#include "base/recorder.h"
#include "device/cuda/cuda_stream.h"
#include "device/out_of_memory.h"
#include "tandem/error.h"

namespace tandem::cuda {
namespace {

constexpr size_t kGranule = 512;  // vector loads and cache lines start aligned

/// The open uses, one per stream. Uses that are all on one stream are not asked about:
/// that stream may have the block back at once.
std::vector<TimePoint> open_uses(std::span<const TimePoint> uses) {
  std::vector<TimePoint> open;
  for (const TimePoint& use : uses) {
    if (!use) continue;
    const auto same = std::find_if(open.begin(), open.end(), [&](const TimePoint& other) {
      return other.stream == use.stream;
    });
    if (same == open.end()) {
      open.push_back(use);
    } else {
      same->sequence = std::max(same->sequence, use.sequence);
    }
  }
  if (open.size() > 1) std::erase_if(open, [](const TimePoint& u) { return u.passed(); });
  return open;
}

}  // namespace

CudaAllocator::CudaAllocator(Options options)
    : options_(std::move(options)),
      lane_(recorder::intern(options_.lane)),
      limit_(options_.limit > 0 ? std::min(options_.limit, options_.total)
                                : options_.total) {}

void CudaAllocator::start() {
  memory_ = options_.memory();
  // Addresses cost nothing, and moved pages need fresh ones: several times the memory.
  const auto total = static_cast<size_t>(options_.total);
  small_ = std::make_unique<Zone>(*memory_, 2 * total, kGranule);
  large_ = std::make_unique<Zone>(*memory_, 8 * total, memory_->page_bytes());
  started_.store(true, std::memory_order_release);
}

bool CudaAllocator::holds(const void* address) const {
  return started_.load(std::memory_order_acquire) &&
         (small_->holds(address) || large_->holds(address));
}

Allocation CudaAllocator::allocate(size_t bytes, Stream* stream) {
  const int64_t begin = recorder::enabled() ? recorder::now_ns() : 0;
  std::unique_lock lock(mutex_);
  options_.activate();
  if (!started_) start();
  refused_ = false;
  if (static_cast<int64_t>(bytes) > limit_) out_of_memory(bytes);
  Zone& zone = zone_for(bytes);
  const size_t granted = zone.round(std::max<size_t>(bytes, 1));
  std::byte* address = zone.take(granted, stream);
  if (!address) {
    small_->sweep();
    large_->sweep();
    address = zone.take(granted, stream);
  }
  while (!address) {
    if (grow(zone, granted) || wait_for_pending(lock)) {
      address = zone.take(granted, stream);
    } else {
      out_of_memory(bytes);
    }
  }
  in_use_ += static_cast<int64_t>(granted);
  peak_ = std::max(peak_, in_use_);
  lock.unlock();
  if (begin) {
    recorder::record(recorder::Kind::kAlloc, "allocate", lane_, begin, recorder::now_ns(),
                     static_cast<int64_t>(granted), nullptr,
                     {.number = reinterpret_cast<uintptr_t>(address)});
  }
  return {address, bytes, granted};
}

bool CudaAllocator::grow(Zone& zone, size_t bytes) {
  const size_t page = memory_->page_bytes();
  const size_t needed = (bytes + page - 1) / page;
  size_t wanted = needed;
  if (&zone == small_.get()) wanted = std::max(wanted, kSmallGrowth / page);
  const auto page_size = static_cast<int64_t>(page);
  refused_ = false;
  while (spare_.size() < wanted && held_ + page_size <= limit_) {
    PhysicalMemory::Page fresh;
    if (!memory_->create(&fresh)) {
      refused_ = true;
      break;
    }
    spare_.push_back(fresh);
    held_ += page_size;
  }
  if (spare_.size() < needed) {
    // Free memory in pieces: its pages go where they are together.
    const size_t missing = needed - spare_.size();
    if (small_->strippable() + large_->strippable() < missing) return false;
    for (Zone* from : {large_.get(), small_.get()}) {
      const auto pages = from->strip(needed - spare_.size());
      spare_.insert(spare_.end(), pages.begin(), pages.end());
    }
  }
  const size_t count = std::min(wanted, spare_.size());
  zone.grow({spare_.data() + (spare_.size() - count), count});
  spare_.resize(spare_.size() - count);
  return true;
}

bool CudaAllocator::wait_for_pending(std::unique_lock<std::mutex>& lock) {
  auto uses = large_->oldest_pending();
  if (uses.empty()) uses = small_->oldest_pending();
  // On a stream's thread waiting might be waiting for itself.
  if (uses.empty() || on_stream_thread) return false;
  lock.unlock();
  for (const TimePoint& use : uses) {
    // What kernels have reported is for those who read; an interrupt ends the request.
    if (auto* stream = dynamic_cast<CudaStream*>(use.stream)) {
      stream->wait_or_interrupt(use.sequence);
      continue;
    }
    while (!use.passed()) {
      try {
        use.host_wait();
      } catch (const Error&) {
        // It stays with its stream.
      }
    }
  }
  lock.lock();
  options_.activate();
  small_->sweep();
  large_->sweep();
  return true;
}

void CudaAllocator::free(const Allocation& allocation, std::span<const TimePoint> uses) {
  if (!allocation.address) return;
  auto open = open_uses(uses);
  {
    std::lock_guard lock(mutex_);
    in_use_ -= static_cast<int64_t>(allocation.granted);
    auto* address = static_cast<std::byte*>(allocation.address);
    (small_->holds(address) ? *small_ : *large_).give(address, std::move(open));
  }
  if (recorder::enabled()) {
    const int64_t now = recorder::now_ns();
    recorder::record(recorder::Kind::kFree, "free", lane_, now, now,
                     static_cast<int64_t>(allocation.granted), nullptr,
                     {.number = reinterpret_cast<uintptr_t>(allocation.address)});
  }
}

MemoryInfo CudaAllocator::info() const {
  std::lock_guard lock(mutex_);
  return {in_use_, peak_, limit_};
}

void CudaAllocator::reset_peak() {
  std::lock_guard lock(mutex_);
  peak_ = in_use_;
}

size_t CudaAllocator::release_spare() {
  const size_t page = memory_->page_bytes();
  const size_t bytes = spare_.size() * page;
  for (PhysicalMemory::Page p : spare_) memory_->release(p);
  held_ -= static_cast<int64_t>(bytes);
  spare_.clear();
  return bytes;
}

size_t CudaAllocator::trim() {
  const size_t host = options_.trim_host ? options_.trim_host() : 0;
  std::lock_guard lock(mutex_);
  if (!started_) return host;
  options_.activate();
  for (Zone* zone : {small_.get(), large_.get()}) {
    zone->sweep();
    const auto pages = zone->strip(zone->strippable());
    spare_.insert(spare_.end(), pages.begin(), pages.end());
  }
  return release_spare() + host;
}

void CudaAllocator::out_of_memory(size_t bytes) const {
  std::string more = ", or compute in half precision.";
  if (refused_) {
    more = ", or end other programs that hold the GPU's memory.";
  } else if (options_.limit > 0) {
    more = ", or raise memory_limit in set_logical_device_configuration.";
  } else if (env_int("TANDEM_GPU_MEMORY_MB", 0) > 0) {
    more = ", or raise TANDEM_GPU_MEMORY_MB.";
  }
  // Free pages can be put together, with new ones up to the limit, however they lie.
  const auto page = static_cast<int64_t>(memory_->page_bytes());
  const size_t free_pages = spare_.size() + small_->strippable() + large_->strippable();
  const int64_t fresh = refused_ ? 0 : (limit_ - held_) / page * page;
  throw_out_of_memory(
      {.device = options_.device,
       .allocator = options_.allocator,
       .asked = static_cast<int64_t>(bytes),
       .in_use = in_use_,
       .limit = limit_,
       .largest_free = static_cast<int64_t>(free_pages) * page + fresh,
       .given = refused_ ? held_ : -1,
       .remedy = "Drop tensors that are no longer needed, use smaller batches" + more});
}

}  // namespace tandem::cuda
