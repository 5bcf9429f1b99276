// The memory that the frames of an Executable hold, and how it changes hands between the
// plans of one function (run/arena_pool.h): a frame that is given to a call attaches
// memory, and keeps it until another plan of the function needs some while no call uses
// the frame. One piece per device serves a frame and those of its sub-graphs.
#include <algorithm>

#include <fmt/format.h>

#include "device/runtime.h"
#include "device/wait_until_passed.h"
#include "plan/peak.h"
#include "run/arena_pool.h"
#include "run/dropped_plans.h"
#include "run/executable_frame.h"
#include "tensor/live_memory.h"

namespace tandem {

namespace {

// Frames that hold less keep it: handing it over would cost more than it saves.
constexpr size_t kOwnBytes = size_t{16} << 10;
// Of the memory of a sub-graph within the piece of the whole; devices want no more.
constexpr size_t kAlignment = 256;

size_t aligned(size_t bytes) {
  return (bytes + kAlignment - 1) / kAlignment * kAlignment;
}

bool is_compute(const Stream* stream) {
  const auto devices = Runtime::get().devices();
  return std::any_of(devices.begin(), devices.end(), [stream](Device* d) {
    return !d->is_host() && &d->compute() == stream;
  });
}

}  // namespace

// What the plan and its sub-plans need, and whether it is worth sharing.
void Executable::find_needs() {
  const auto add = [this](const auto& self, const Executable& e) -> void {
    for (size_t s = 0; s < e.spaces_.size(); ++s) {
      if (!e.plan_.spaces[s].bytes) continue;
      auto need = std::find_if(needs_.begin(), needs_.end(), [&](const ArenaNeed& n) {
        return n.device == e.spaces_[s];
      });
      if (need == needs_.end()) {
        need = needs_.insert(needs_.end(), {e.spaces_[s], 0});
      }
      need->bytes = aligned(need->bytes) + static_cast<size_t>(e.plan_.spaces[s].bytes);
    }
    for (const auto& child : e.children_) self(self, *child);
  };
  add(add, *this);
  size_t bytes = 0;
  for (const ArenaNeed& n : needs_) bytes += n.bytes;
  for (const PlanSpace& s : plan_.spaces) bytes += static_cast<size_t>(s.result_bytes);
  shares_ = pool_ && bytes > kOwnBytes;
}

// The allocator knows what one allocation lacks; the plan knows what the call needs, and
// which of its values are large.
Ref<Buffer> Executable::allocate_arena(const ArenaNeed& need) const {
  const auto own = std::find(spaces_.begin(), spaces_.end(), need.device);
  const auto s = static_cast<size_t>(own - spaces_.begin());
  const PlanSpace none;
  const PlanSpace& space = own == spaces_.end() ? none : plan_.spaces[s];
  const int64_t limit = need.device->allocator().info().limit;
  const auto needs = [&] {
    const auto values = static_cast<int64_t>(need.bytes);
    return fmt::format(
        "{}: a call needs {} bytes on {} ({} for intermediate values, {} for results, {} "
        "for constants, {} for variables); the limit is {}",
        graph_.name(),
        values + space.result_bytes + space.constant_bytes + space.variable_bytes,
        need.device->full_name(), values, space.result_bytes, space.constant_bytes,
        space.variable_bytes, limit);
  };
  const auto largest = [&] {
    const std::string lines = own == spaces_.end()
                                  ? std::string()
                                  : peak_text(*planned_, static_cast<int32_t>(s), 8);
    if (lines.empty()) return lines;
    return fmt::format("\nLargest values of {}, where most of them are needed at once:{}",
                       graph_.name(), lines);
  };
  if (plan_.over_limit > 0 && plan_.over_device == space.device) {
    throw ResourceExhaustedError(fmt::format(
        "{}, which is exceeded by {} bytes. Use smaller batches, another device, or a "
        "higher limit.{}",
        needs(), plan_.over_limit, largest()));
  }
  // Copies from other devices may be the first to write it: it is in no stream's order.
  const auto allocate = [&] {
    return allocate_for(note("intermediate values of"), *need.device, need.bytes,
                        nullptr);
  };
  try {
    return allocate();
  } catch (const ResourceExhaustedError&) {
    ArenaPool::reclaim(pool_.get());
  }
  try {
    return allocate();
  } catch (const ResourceExhaustedError& e) {
    throw ResourceExhaustedError(fmt::format("{}. {}{}", needs(), e.what(), largest()));
  }
}

void Executable::attach(Frame& f) {
  if (f.arenas.size() != needs_.size()) {
    const std::lock_guard frames(frames_mutex_);  // somebody may count their bytes
    f.arenas.resize(needs_.size());
  }
  try {
    attach_now(f);
  } catch (const ResourceExhaustedError&) {
    if (!dropped_plans::sweep()) throw;  // now without the lock of the pool
    attach_now(f);
  }
}

void Executable::attach_now(Frame& f) {
  const dropped_plans::Keep keep;
  std::unique_lock<std::mutex> lock;
  if (shares_) {
    lock = std::unique_lock(pool_->mutex_);
    take_from_others();
  }
  for (size_t i = 0; i < needs_.size(); ++i) {
    if (f.arenas[i]) continue;
    const ArenaNeed& need = needs_[i];
    std::unique_ptr<PlanArena> arena;
    if (shares_) {
      const void* const last = f.arena_tops.empty() ? nullptr : f.arena_tops[i];
      arena = pool_->take(*need.device, need.bytes, last);
      // The next ones are as large as this, so that smaller ones serve nobody.
      if (!arena) pool_->drop(*need.device);
    }
    if (!arena) arena = std::make_unique<PlanArena>(allocate_arena(need));
    const std::lock_guard frames(frames_mutex_);
    f.arenas[i] = std::move(arena);
  }
  await_earlier_users(f);
  place_arenas(f);
  f.attached = true;
  if (!shares_) return;
  auto& holders = pool_->holders_;
  if (std::find(holders.begin(), holders.end(), this) == holders.end()) {
    holders.push_back(this);
  }
}

// The memory of all frames of other plans that no call uses. The caller holds the lock of
// the pool.
void Executable::take_from_others() {
  std::erase_if(pool_->holders_,
                [this](Executable* e) { return e != this && e->give_up_memory(); });
}

bool Executable::give_up_memory() {
  bool all = true;
  std::vector<Frame*> unused;
  if (Frame* f = spare_.exchange(nullptr, std::memory_order_acquire)) {
    unused.push_back(f);
  }
  {
    const std::lock_guard lock(frames_mutex_);
    unused.insert(unused.end(), idle_.begin(), idle_.end());
    idle_.clear();
    all = unused.size() == frames_.size();
  }
  for (Frame* f : unused) {
    if (f->attached) detach(*f);
    release(*f);
  }
  return all;
}

// Results that callers have let go are not kept either.
void Executable::detach(Frame& f) {
  std::vector<TimePoint> ends;
  collect_ends(f, ends);
  const std::lock_guard lock(frames_mutex_);
  for (std::unique_ptr<PlanArena>& arena : f.arenas) {
    std::erase_if(arena->ends, [](const TimePoint& t) { return t.passed(); });
    arena->ends.insert(arena->ends.end(), ends.begin(), ends.end());
    pool_->free_.push_back(std::move(arena));
  }
  f.attached = false;
  f.result_tensors.assign(f.result_tensors.size(), Tensor());
}

void Executable::collect_ends(const Frame& f, std::vector<TimePoint>& ends) {
  for (const TimePoint& end : f.lane_end) {
    if (end && !end.passed()) ends.push_back(end);
  }
  for (const auto& child : f.children) collect_ends(*child, ends);
}

// Work that is still under way is waited for by the lanes that use the memory, or by the
// host where it uses it.
void Executable::await_earlier_users(Frame& f) {
  f.earlier.clear();
  for (const std::unique_ptr<PlanArena>& arena : f.arenas) {
    const bool host = arena->buffer->device().is_host();
    for (const TimePoint& end : arena->ends) {
      if (end.passed()) continue;
      if (!has_async_ || !children_.empty() || (host && !is_compute(end.stream))) {
        wait_until_passed(end);
      } else {
        f.earlier.push_back(end);
      }
    }
  }
}

void Executable::place_arenas(Frame& f) {
  std::vector<void*> tops;
  for (const auto& arena : f.arenas) tops.push_back(arena->address);
  if (tops == f.arena_tops) return;
  // Recorded work has the old addresses.
  if (has_async_ && !f.arena_tops.empty()) wait_quietly(f);
  f.arena_tops = std::move(tops);
  std::vector<size_t> used(needs_.size(), 0);
  place_arenas(f, f, needs_, used);
}

void Executable::place_arenas(Frame& f, const Frame& top,
                              const std::vector<ArenaNeed>& needs,
                              std::vector<size_t>& used) {
  forget_captured(f);
  for (size_t s = 0; s < spaces_.size(); ++s) {
    if (!plan_.spaces[s].bytes) continue;
    for (size_t i = 0; i < needs.size(); ++i) {
      if (needs[i].device != spaces_[s]) continue;
      used[i] = aligned(used[i]);
      f.arena_addresses[s] = static_cast<std::byte*>(top.arena_tops[i]) + used[i];
      used[i] += static_cast<size_t>(plan_.spaces[s].bytes);
    }
  }
  for (size_t i = 0; i < arena_patches_.size(); ++i) {
    const Patch& p = arena_patches_[i];
    f.table[p.slot] =
        static_cast<std::byte*>(f.arena_addresses[idx(arena_spaces_[i])]) + p.offset;
  }
  for (size_t k = 0; k < steps_.size(); ++k) {
    if (steps_[k].workspace != Step::kNoSlot) {
      f.args[k].workspace = f.table[steps_[k].workspace];
    }
  }
  for (size_t c = 0; c < children_.size(); ++c) {
    children_[c]->place_arenas(*f.children[c], top, needs, used);
  }
}

void Executable::leave_pool() {
  if (!pool_) return;
  {
    const std::lock_guard lock(pool_->mutex_);
    std::erase(pool_->holders_, this);
  }
  pool_ = nullptr;
}

int64_t Executable::frame_bytes(const std::string& device) const {
  const std::lock_guard lock(frames_mutex_);
  int64_t sum = 0;
  for (const auto& f : frames_) {
    for (const auto& arena : f->arenas) {
      if (arena && arena->buffer->device().full_name() == device) {
        sum += static_cast<int64_t>(arena->buffer->bytes());
      }
    }
  }
  return sum;
}

}  // namespace tandem
