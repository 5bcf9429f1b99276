// Zone: a reserved range of GPU addresses cut into blocks: used, free (memory behind
// them), pending (freed, but work in flight still touches them), or holes (no memory).
// Best fit with coalescing. Memory comes and goes in whole pages: grow() maps pages
// behind a hole, strip() takes pages out of free blocks, so that free memory in pieces
// can be put together again at other addresses. Not thread-safe: the allocator locks.
#pragma once

#include <list>
#include <map>
#include <set>
#include <span>
#include <vector>

#include "device/cuda/physical_memory.h"
#include "device/stream.h"

namespace tandem::cuda {

class Zone {
 public:
  using Page = PhysicalMemory::Page;
  /// `granule` divides the page size; sizes of blocks are multiples of it.
  Zone(PhysicalMemory& memory, size_t bytes, size_t granule);

  size_t round(size_t bytes) const {
    return (bytes + granule_ - 1) / granule_ * granule_;
  }
  bool holds(const void* address) const {
    const auto* at = static_cast<const std::byte*>(address);
    return at >= base_ && at < base_ + bytes_;
  }

  /// A block for work of `stream` (null: for nobody's order); null when none fits.
  std::byte* take(size_t bytes, Stream* stream);
  /// Gives a used block back; `uses` are still open, one per stream at most.
  void give(std::byte* address, std::vector<TimePoint> uses);
  /// Puts the pages behind the smallest hole that they fit in, as a free block.
  void grow(std::span<const Page> pages);
  /// Takes up to `wanted` whole pages out of free blocks; returns them.
  std::vector<Page> strip(size_t wanted);
  /// Pages that strip() could take now.
  size_t strippable() const;
  /// Frees pending blocks whose uses have passed.
  void sweep();
  /// The uses of the block that has been pending longest; empty when there is none.
  std::vector<TimePoint> oldest_pending() const;
  size_t largest_free() const { return free_.empty() ? 0 : free_.rbegin()->first; }

 private:
  enum class State : uint8_t { kHole, kFree, kPending, kUsed };
  struct Block {
    size_t bytes = 0;
    State state = State::kHole;
    std::vector<TimePoint> uses = {};
    std::list<size_t>::iterator order = {};
  };
  using Blocks = std::map<size_t, Block>;
  using Sizes = std::set<std::pair<size_t, size_t>>;  // bytes, offset

  static Stream* only_stream(const Block& block) {
    return block.uses.size() == 1 ? block.uses.front().stream : nullptr;
  }
  void use(Blocks::iterator block, size_t bytes);
  void make(Blocks::iterator block, State state);  // kFree or kHole, with neighbours
  void make_pending(Blocks::iterator block, std::vector<TimePoint> uses);
  void forget(Blocks::iterator block);  // takes it out of the lists of its state
  Blocks::iterator split(Blocks::iterator block, size_t bytes);  // returns the rest

  PhysicalMemory& memory_;
  const size_t page_;
  const size_t granule_;
  size_t bytes_;
  std::byte* base_;
  Blocks blocks_;  // by offset; adjacent, covering the range
  Sizes free_, holes_;
  std::map<Stream*, Sizes> pending_of_;
  std::list<size_t> pending_;     // oldest first
  std::map<size_t, Page> pages_;  // mapped, by offset
};

}  // namespace tandem::cuda
