// ArenaPool: the memory of intermediate values that all plans of one function share, so
// that shapes that change from call to call do not multiply it. A plan that runs has its
// own; one that does not gives it to the next plan that needs memory, which grows it
// where it is too small. Any thread.
#pragma once

#include <memory>
#include <mutex>
#include <vector>

#include "tensor/buffer.h"

namespace tandem {

class Executable;

/// A piece of one device's memory with a fixed address.
struct PlanArena {
  explicit PlanArena(Ref<Buffer> memory)
      : buffer(std::move(memory)), address(leases.address(buffer)) {}
  PlanArena(const PlanArena&) = delete;
  PlanArena& operator=(const PlanArena&) = delete;
  ~PlanArena();

  Ref<Buffer> buffer;
  LeaseSet leases;
  void* address;
  /// Work of earlier users that may not be over.
  std::vector<TimePoint> ends;
};

class ArenaPool {
 public:
  ArenaPool();
  ArenaPool(const ArenaPool&) = delete;
  ArenaPool& operator=(const ArenaPool&) = delete;
  ~ArenaPool();
  /// Gives back what no call uses of all pools but one: a device has run out of memory.
  static void reclaim(const ArenaPool* but);

 private:
  friend class Executable;
  /// An arena that nobody uses, of that size at least: the one at `last` if it fits, so
  /// that recorded work stays valid. Null: there is none.
  std::unique_ptr<PlanArena> take(const Device& device, size_t bytes, const void* last);
  /// Those of a device that nobody uses.
  void drop(const Device& device);

  std::mutex mutex_;                  // guards what follows
  std::vector<Executable*> holders_;  // whose idle frames may have arenas
  std::vector<std::unique_ptr<PlanArena>> free_;
};

}  // namespace tandem
