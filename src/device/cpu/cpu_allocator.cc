#include "device/cpu/cpu_allocator.h"

#include <algorithm>
#include <bit>
#include <cstdlib>

#include "base/recorder.h"
#include "device/cpu/guarded_memory.h"
#include "device/cpu/host_memory.h"
#include "device/out_of_memory.h"

namespace tandem {
namespace {

constexpr size_t kAlignment = 64;

/// malloc with 64-byte alignment: cheaper than aligned_alloc, which bypasses malloc's
/// thread caches. The byte before the block holds the distance to what malloc returned (1
/// to 64).
void* small_allocate(size_t bytes) {
  if (guards_memory()) return guarded_allocate(bytes);
  auto* raw = static_cast<unsigned char*>(std::malloc(bytes + kAlignment));
  if (!raw) return nullptr;
  const size_t shift = kAlignment - reinterpret_cast<uintptr_t>(raw) % kAlignment;
  raw[shift - 1] = static_cast<unsigned char>(shift);
  return raw + shift;
}

void small_free(void* address) {
  if (guards_memory()) return guarded_free(address);
  auto* block = static_cast<unsigned char*>(address);
  std::free(block - block[-1]);
}

int64_t small_granted(size_t bytes) {
  return static_cast<int64_t>((std::max<size_t>(bytes, 1) + kAlignment - 1) &
                              ~(kAlignment - 1));
}

}  // namespace

CpuAllocator::CpuAllocator(Options options)
    : options_(std::move(options)),
      lane_(recorder::intern(options_.lane)),
      limit_(options_.memory_limit > 0 ? options_.memory_limit : host_memory_bytes()) {}

CpuAllocator::~CpuAllocator() {
  settle(true);
  trim();
}

int CpuAllocator::class_of(size_t bytes) {
  // Rounds up: `bytes` in (base + base/32 * (step - 1), base + base/32 * step].
  const size_t last = bytes - 1;
  const int power = std::bit_width(last) - 1;
  const int step = static_cast<int>(last >> (power - kStepBits)) - kSteps + 1;
  return (power - kFirstPower) * kSteps + step;
}

size_t CpuAllocator::class_bytes(int index) {
  const int power = kFirstPower + index / kSteps;
  return (size_t{kSteps} + static_cast<size_t>(index % kSteps)) << (power - kStepBits);
}

void* CpuAllocator::system_allocate(size_t bytes) {
  return bytes >= kMapped ? map_pages(bytes) : std::aligned_alloc(kAlignment, bytes);
}

void CpuAllocator::system_free(void* address, size_t bytes) {
  if (bytes >= kMapped) {
    unmap_pages(address, bytes);
  } else {
    std::free(address);
  }
}

bool CpuAllocator::take(int64_t granted) {
  const int64_t now = in_use_.fetch_add(granted, std::memory_order_relaxed) + granted;
  if (now > limit_) {
    in_use_.fetch_sub(granted, std::memory_order_relaxed);
    return false;
  }
  int64_t peak = peak_.load(std::memory_order_relaxed);
  while (now > peak &&
         !peak_.compare_exchange_weak(peak, now, std::memory_order_relaxed)) {
  }
  return true;
}

void CpuAllocator::take_or_throw(size_t bytes, int64_t granted) {
  if (take(granted)) return;
  settle(!on_stream_thread);
  if (!take(granted)) out_of_memory(bytes);
}

void CpuAllocator::out_of_memory(size_t bytes) {
  const bool limited = options_.memory_limit > 0;
  throw_out_of_memory(
      {.device = options_.device,
       .allocator = "cpu",
       .asked = static_cast<int64_t>(std::min<size_t>(bytes, INT64_MAX)),
       .in_use = in_use_.load(std::memory_order_relaxed),
       .limit = limit_,
       .remedy = limited
                     ? "Drop tensors that are no longer needed, use smaller batches, or "
                       "raise memory_limit in set_logical_device_configuration."
                     : "Drop tensors that are no longer needed or use smaller batches; "
                       "the machine has no more memory."});
}

void* CpuAllocator::take_block(int index) {
  SizeClass& list = classes_[static_cast<size_t>(index)];
  list.last_use.store(clock_.fetch_add(1, std::memory_order_relaxed),
                      std::memory_order_relaxed);
  std::lock_guard lock(list.mutex);
  if (list.blocks.empty()) return nullptr;
  void* block = list.blocks.back();
  list.blocks.pop_back();
  cached_.fetch_sub(static_cast<int64_t>(class_bytes(index)), std::memory_order_relaxed);
  return block;
}

Allocation CpuAllocator::allocate(size_t bytes, Stream*) {
  if (has_deferred_.load(std::memory_order_relaxed)) settle(false);
  const int64_t begin = recorder::enabled() ? recorder::now_ns() : 0;
  Allocation result{nullptr, bytes, 0};
  if (bytes < kSmall || (guards_memory() && bytes <= static_cast<size_t>(limit_))) {
    const int64_t granted = small_granted(bytes);
    take_or_throw(bytes, granted);
    result.granted = static_cast<size_t>(granted);
    result.address = small_allocate(guards_memory() ? bytes : result.granted);
    if (!result.address) {
      in_use_.fetch_sub(granted, std::memory_order_relaxed);
      out_of_memory(bytes);
    }
  } else {
    const int index = class_of(bytes);
    if (index >= static_cast<int>(classes_.size())) out_of_memory(bytes);
    result.granted = class_bytes(index);
    const auto granted = static_cast<int64_t>(result.granted);
    take_or_throw(bytes, granted);
    result.address = take_block(index);
    if (!result.address) {
      // What is cached must not push the process over its limit.
      const int64_t over = in_use_.load(std::memory_order_relaxed) + cached() - limit_;
      if (over > 0) evict(static_cast<size_t>(over));
      result.address = system_allocate(result.granted);
    }
    if (!result.address && trim() > 0) result.address = system_allocate(result.granted);
    if (!result.address) {
      in_use_.fetch_sub(granted, std::memory_order_relaxed);
      out_of_memory(bytes);
    }
  }
  if (begin) {
    recorder::record(recorder::Kind::kAlloc, "allocate", lane_, begin, recorder::now_ns(),
                     static_cast<int64_t>(result.granted), nullptr,
                     {.number = reinterpret_cast<uintptr_t>(result.address)});
  }
  return result;
}

void CpuAllocator::free(const Allocation& allocation, std::span<const TimePoint> uses) {
  if (!allocation.address) return;
  const bool pending = std::any_of(uses.begin(), uses.end(),
                                   [](const TimePoint& p) { return !p.passed(); });
  if (pending) {
    std::lock_guard lock(deferred_mutex_);
    deferred_.push_back({allocation, {uses.begin(), uses.end()}});
    has_deferred_.store(true, std::memory_order_relaxed);
    return;
  }
  release(allocation);
}

void CpuAllocator::release(const Allocation& allocation) {
  const auto granted = static_cast<int64_t>(allocation.granted);
  in_use_.fetch_sub(granted, std::memory_order_relaxed);
  if (recorder::enabled()) {
    const int64_t now = recorder::now_ns();
    recorder::record(recorder::Kind::kFree, "free", lane_, now, now, granted, nullptr,
                     {.number = reinterpret_cast<uintptr_t>(allocation.address)});
  }
  if (allocation.bytes < kSmall || guards_memory()) {
    small_free(allocation.address);
    return;
  }
  if (granted > options_.cache_bytes) {
    system_free(allocation.address, allocation.granted);
    return;
  }
  const int64_t over = cached() + granted - options_.cache_bytes;
  if (over > 0) evict(static_cast<size_t>(over));
  SizeClass& list = classes_[static_cast<size_t>(class_of(allocation.granted))];
  std::lock_guard lock(list.mutex);
  list.blocks.push_back(allocation.address);
  cached_.fetch_add(granted, std::memory_order_relaxed);
}

size_t CpuAllocator::evict(size_t bytes) {
  std::vector<std::pair<uint64_t, int>> order;
  for (size_t i = 0; i < classes_.size(); ++i) {
    order.emplace_back(classes_[i].last_use.load(std::memory_order_relaxed),
                       static_cast<int>(i));
  }
  std::sort(order.begin(), order.end());
  size_t freed = 0;
  for (const auto& [last_use, index] : order) {
    const size_t size = class_bytes(index);
    SizeClass& list = classes_[static_cast<size_t>(index)];
    std::lock_guard lock(list.mutex);
    while (!list.blocks.empty() && freed < bytes) {
      system_free(list.blocks.back(), size);
      list.blocks.pop_back();
      cached_.fetch_sub(static_cast<int64_t>(size), std::memory_order_relaxed);
      freed += size;
    }
    if (freed >= bytes) break;
  }
  return freed;
}

void CpuAllocator::settle(bool wait) {
  while (true) {
    Deferred next;
    {
      std::lock_guard lock(deferred_mutex_);
      if (deferred_.empty()) {
        has_deferred_.store(false, std::memory_order_relaxed);
        return;
      }
      Deferred& front = deferred_.front();
      const bool passed = std::all_of(front.uses.begin(), front.uses.end(),
                                      [](const TimePoint& p) { return p.passed(); });
      if (!passed && !wait) return;
      next = std::move(front);
      deferred_.pop_front();
    }
    const auto passed = [&] {
      return std::all_of(next.uses.begin(), next.uses.end(),
                         [](const TimePoint& p) { return p.passed(); });
    };
    try {
      for (const TimePoint& use : next.uses) use.host_wait();
    } catch (...) {
      // What a device reports leaves nothing to wait for; after an interrupt there is.
      if (passed()) {
        release(next.allocation);
      } else {
        std::lock_guard lock(deferred_mutex_);
        deferred_.push_front(std::move(next));
        has_deferred_.store(true, std::memory_order_relaxed);
      }
      throw;
    }
    release(next.allocation);
  }
}

MemoryInfo CpuAllocator::info() const {
  return {in_use_.load(std::memory_order_relaxed), peak_.load(std::memory_order_relaxed),
          options_.memory_limit};
}

void CpuAllocator::reset_peak() {
  peak_.store(in_use_.load(std::memory_order_relaxed), std::memory_order_relaxed);
}

size_t CpuAllocator::trim() { return evict(SIZE_MAX); }

}  // namespace tandem
