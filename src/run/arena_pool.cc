#include "run/arena_pool.h"

#include <algorithm>

#include "run/executable.h"

namespace tandem {

namespace {

struct Registry {
  std::mutex mutex;
  std::vector<ArenaPool*> pools;  // guarded by mutex
};
Registry& registry() {
  static auto* all = new Registry;
  return *all;
}

}  // namespace

ArenaPool::ArenaPool() {
  Registry& all = registry();
  const std::lock_guard lock(all.mutex);
  all.pools.push_back(this);
}

ArenaPool::~ArenaPool() {
  Registry& all = registry();
  const std::lock_guard lock(all.mutex);
  std::erase(all.pools, this);
}

// A pool that somebody else looks at is about to use its memory.
void ArenaPool::reclaim(const ArenaPool* but) {
  Registry& all = registry();
  const std::lock_guard lock(all.mutex);
  for (ArenaPool* pool : all.pools) {
    if (pool == but) continue;
    const std::unique_lock own(pool->mutex_, std::try_to_lock);
    if (!own) continue;
    std::erase_if(pool->holders_, [](Executable* e) { return e->give_up_memory(); });
    pool->free_.clear();
  }
}

// The allocator gives it to nobody before.
PlanArena::~PlanArena() {
  for (const TimePoint& end : ends) buffer->add_use(end);
}

std::unique_ptr<PlanArena> ArenaPool::take(const Device& device, size_t bytes,
                                           const void* last) {
  auto best = free_.end();
  for (auto i = free_.begin(); i != free_.end(); ++i) {
    const PlanArena& a = **i;
    if (&a.buffer->device() != &device || a.buffer->bytes() < bytes) continue;
    if (a.address == last) {
      best = i;
      break;
    }
    if (best == free_.end() || a.buffer->bytes() > (*best)->buffer->bytes()) best = i;
  }
  if (best == free_.end()) return nullptr;
  std::unique_ptr<PlanArena> taken = std::move(*best);
  free_.erase(best);
  return taken;
}

void ArenaPool::drop(const Device& device) {
  std::erase_if(free_, [&](const std::unique_ptr<PlanArena>& a) {
    return &a->buffer->device() == &device;
  });
}

}  // namespace tandem
