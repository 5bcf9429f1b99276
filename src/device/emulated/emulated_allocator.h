// EmulatedAllocator: best-fit allocation with coalescing over an arena, in stream order.
// A freed block whose last uses are all on one stream is handed out again to that stream
// at once; to others when the uses have passed. When nothing fits, the allocator waits
// for freed blocks that are still in use before it gives up. Owned by its device; any
// thread.
#pragma once

#include <list>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "device/allocator.h"
#include "device/emulated/emulated_arena.h"

namespace tandem {

class EmulatedAllocator final : public Allocator {
 public:
  struct Options {
    std::string device;     // full name, for messages
    std::string allocator;  // "GPU_0_emulated"
    std::string lane;       // recorder lane
    bool limited = false;   // the arena's size is a configured memory limit
  };
  EmulatedAllocator(EmulatedArena& arena, Options options);

  Allocation allocate(size_t bytes, Stream* stream) override;
  void free(const Allocation& allocation, std::span<const TimePoint> uses) override;
  MemoryInfo info() const override;
  void reset_peak() override;
  size_t trim() override;

 private:
  enum class State { kUsed, kFree, kPending };
  struct Block {
    size_t bytes = 0;
    State state = State::kFree;
    std::vector<TimePoint> uses = {};        // while pending; one per stream
    std::list<size_t>::iterator order = {};  // while pending
  };
  using Blocks = std::map<size_t, Block>;  // by offset; adjacent, covering the arena
  using Sizes = std::set<std::pair<size_t, size_t>>;  // bytes, offset

  static std::vector<TimePoint> open_uses(std::span<const TimePoint> uses);
  /// The stream that alone still uses a pending block, or null.
  static Stream* only_stream(const Block& block);

  bool take(size_t granted, Stream* stream, size_t* offset);
  void use(Blocks::iterator block, size_t granted);
  void make_pending(Blocks::iterator block, std::vector<TimePoint> uses);
  void forget_pending(Blocks::iterator block);
  void make_free(Blocks::iterator block);
  /// Frees pending blocks whose uses have passed: oldest first until one has not, or all.
  void sweep(bool all);
  /// Waits until the oldest pending block is free; false when there is none. Unlocks
  /// meanwhile.
  bool wait_for_pending(std::unique_lock<std::mutex>& lock);
  [[noreturn]] void out_of_memory(size_t bytes) const;

  EmulatedArena& arena_;
  const Options options_;
  const char* const lane_;

  mutable std::mutex mutex_;  // guards what follows
  Blocks blocks_;
  Sizes free_;
  std::map<Stream*, Sizes> pending_of_;  // pending blocks with one stream
  std::list<size_t> pending_;            // offsets of all pending blocks, oldest first
  int64_t in_use_ = 0;
  int64_t peak_ = 0;
};

}  // namespace tandem
