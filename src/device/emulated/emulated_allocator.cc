#include "device/emulated/emulated_allocator.h"

#include <algorithm>

#include "base/recorder.h"
#include "device/out_of_memory.h"

namespace tandem {
namespace {

constexpr size_t kGranule = 256;  // as CUDA aligns

size_t round_up(size_t bytes) {
  return (std::max<size_t>(bytes, 1) + kGranule - 1) / kGranule * kGranule;
}

}  // namespace

EmulatedAllocator::EmulatedAllocator(EmulatedArena& arena, Options options)
    : arena_(arena),
      options_(std::move(options)),
      lane_(recorder::intern(options_.lane)) {
  const size_t bytes = arena_.bytes() / kGranule * kGranule;
  blocks_[0] = {.bytes = bytes};
  free_.insert({bytes, 0});
}

Allocation EmulatedAllocator::allocate(size_t bytes, Stream* stream) {
  const int64_t begin = recorder::enabled() ? recorder::now_ns() : 0;
  // A task runs in the middle of its stream: work queued behind it may still use pending
  // blocks.
  if (on_stream_thread) stream = nullptr;

  std::unique_lock lock(mutex_);
  if (bytes > arena_.bytes()) out_of_memory(bytes);
  const size_t granted = round_up(bytes);
  size_t offset = 0;
  sweep(false);
  if (!take(granted, stream, &offset)) {
    sweep(true);
    while (!take(granted, stream, &offset)) {
      if (!wait_for_pending(lock)) out_of_memory(bytes);
    }
  }
  in_use_ += static_cast<int64_t>(granted);
  peak_ = std::max(peak_, in_use_);
  lock.unlock();
  if (begin) {
    recorder::record(recorder::Kind::kAlloc, "allocate", lane_, begin, recorder::now_ns(),
                     static_cast<int64_t>(granted), nullptr,
                     {.number = reinterpret_cast<uintptr_t>(arena_.base() + offset)});
  }
  return {arena_.base() + offset, bytes, granted};
}

void EmulatedAllocator::free(const Allocation& allocation,
                             std::span<const TimePoint> uses) {
  if (!allocation.address) return;
  auto open = open_uses(uses);
  const auto offset =
      static_cast<size_t>(static_cast<std::byte*>(allocation.address) - arena_.base());
  {
    std::lock_guard lock(mutex_);
    in_use_ -= static_cast<int64_t>(allocation.granted);
    const auto block = blocks_.find(offset);
    if (open.empty()) {
      make_free(block);
    } else {
      make_pending(block, std::move(open));
    }
  }
  if (recorder::enabled()) {
    const int64_t now = recorder::now_ns();
    recorder::record(recorder::Kind::kFree, "free", lane_, now, now,
                     static_cast<int64_t>(allocation.granted), nullptr,
                     {.number = reinterpret_cast<uintptr_t>(allocation.address)});
  }
}

std::vector<TimePoint> EmulatedAllocator::open_uses(std::span<const TimePoint> uses) {
  std::vector<TimePoint> open;
  for (const TimePoint& use : uses) {
    if (use.passed()) continue;
    const auto same = std::find_if(open.begin(), open.end(), [&](const TimePoint& other) {
      return other.stream == use.stream;
    });
    if (same == open.end()) {
      open.push_back(use);
    } else {
      same->sequence = std::max(same->sequence, use.sequence);
    }
  }
  return open;
}

Stream* EmulatedAllocator::only_stream(const Block& block) {
  return block.uses.size() == 1 ? block.uses.front().stream : nullptr;
}

bool EmulatedAllocator::take(size_t granted, Stream* stream, size_t* offset) {
  const std::pair<size_t, size_t> wanted{granted, 0};
  const auto free = free_.lower_bound(wanted);
  auto found = free == free_.end() ? blocks_.end() : blocks_.find(free->second);
  if (const auto mine = pending_of_.find(stream); stream && mine != pending_of_.end()) {
    // Of two that fit equally well the stream's own is the warmer one.
    const auto pending = mine->second.lower_bound(wanted);
    if (pending != mine->second.end() &&
        (found == blocks_.end() || pending->first <= found->second.bytes)) {
      found = blocks_.find(pending->second);
    }
  }
  if (found == blocks_.end()) return false;
  *offset = found->first;
  use(found, granted);
  return true;
}

void EmulatedAllocator::use(Blocks::iterator block, size_t granted) {
  const size_t rest = block->second.bytes - granted;
  std::vector<TimePoint> uses;
  if (block->second.state == State::kPending) {
    uses = block->second.uses;
    forget_pending(block);
  } else {
    free_.erase({block->second.bytes, block->first});
  }
  block->second.bytes = granted;
  block->second.state = State::kUsed;
  if (rest == 0) return;
  const auto left = blocks_.emplace_hint(std::next(block), block->first + granted,
                                         Block{.bytes = rest});
  if (uses.empty()) {
    make_free(left);
  } else {
    make_pending(left, std::move(uses));
  }
}

void EmulatedAllocator::make_pending(Blocks::iterator block,
                                     std::vector<TimePoint> uses) {
  block->second.state = State::kPending;
  block->second.uses = std::move(uses);
  block->second.order = pending_.insert(pending_.end(), block->first);
  if (Stream* stream = only_stream(block->second)) {
    pending_of_[stream].insert({block->second.bytes, block->first});
  }
}

void EmulatedAllocator::forget_pending(Blocks::iterator block) {
  if (Stream* stream = only_stream(block->second)) {
    pending_of_[stream].erase({block->second.bytes, block->first});
  }
  pending_.erase(block->second.order);
  block->second.uses.clear();
}

void EmulatedAllocator::make_free(Blocks::iterator block) {
  const auto absorb = [&](Blocks::iterator into, Blocks::iterator from) {
    into->second.bytes += from->second.bytes;
    blocks_.erase(from);
  };
  block->second.state = State::kFree;
  const auto next = std::next(block);
  if (next != blocks_.end() && next->second.state == State::kFree) {
    free_.erase({next->second.bytes, next->first});
    absorb(block, next);
  }
  if (block != blocks_.begin()) {
    const auto previous = std::prev(block);
    if (previous->second.state == State::kFree) {
      free_.erase({previous->second.bytes, previous->first});
      absorb(previous, block);
      block = previous;
    }
  }
  free_.insert({block->second.bytes, block->first});
}

void EmulatedAllocator::sweep(bool all) {
  for (auto it = pending_.begin(); it != pending_.end();) {
    const auto block = blocks_.find(*it++);
    const auto& uses = block->second.uses;
    const bool passed = std::all_of(uses.begin(), uses.end(),
                                    [](const TimePoint& use) { return use.passed(); });
    if (passed) {
      forget_pending(block);
      make_free(block);
    } else if (!all) {
      return;
    }
  }
}

bool EmulatedAllocator::wait_for_pending(std::unique_lock<std::mutex>& lock) {
  if (pending_.empty() || on_stream_thread) return false;
  const std::vector<TimePoint> uses = blocks_.at(pending_.front()).uses;
  lock.unlock();
  for (const TimePoint& use : uses) use.host_wait();
  lock.lock();
  sweep(true);
  return true;
}

void EmulatedAllocator::out_of_memory(size_t bytes) const {
  throw_out_of_memory(
      {.device = options_.device,
       .allocator = options_.allocator,
       .asked = static_cast<int64_t>(std::min<size_t>(bytes, INT64_MAX)),
       .in_use = in_use_,
       .limit = static_cast<int64_t>(arena_.bytes()),
       .largest_free = free_.empty() ? 0 : static_cast<int64_t>(free_.rbegin()->first),
       .remedy =
           options_.limited
               ? "Drop tensors that are no longer needed, use smaller batches, or raise "
                 "memory_limit in set_logical_device_configuration."
               : "Drop tensors that are no longer needed, use smaller batches, or give "
                 "the emulated GPU more memory with TANDEM_EMULATED_MEMORY_MB."});
}

MemoryInfo EmulatedAllocator::info() const {
  std::lock_guard lock(mutex_);
  return {in_use_, peak_, static_cast<int64_t>(arena_.bytes())};
}

void EmulatedAllocator::reset_peak() {
  std::lock_guard lock(mutex_);
  peak_ = in_use_;
}

size_t EmulatedAllocator::trim() {
  std::lock_guard lock(mutex_);
  sweep(true);
  const int64_t before = arena_.resident();
  for (const auto& [bytes, offset] : free_) arena_.discard(offset, bytes);
  return static_cast<size_t>(std::max<int64_t>(0, before - arena_.resident()));
}

}  // namespace tandem
