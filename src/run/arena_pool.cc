#include "run/arena_pool.h"

#include <algorithm>

#include "device/wait_until_passed.h"

namespace tandem {

PlanArena::~PlanArena() {
  for (const TimePoint& end : ends) wait_until_passed(end);
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
