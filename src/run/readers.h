// Readers: frees what was replaced once nobody can be using it, without a lock on the way
// of those who read. A reader makes a Reading before it looks for the object; who
// replaces an object makes it unreachable first and retires it then. Any thread.
//
// Readers are counted on one of two sides. An object may go when each side has been empty
// at some time after it was retired: whoever could have found it was on one of them. New
// readers are sent to a side that was empty, so that the other one empties, however many
// come one after the other without a pause.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <utility>
#include <vector>

namespace tandem {

/// `Owner`: what keeps an object alive (std::unique_ptr, std::shared_ptr).
template <class Owner>
class Readers {
 public:
  class Reading {
   public:
    explicit Reading(Readers& readers)
        : readers_(readers), side_(readers.side_.load(std::memory_order_relaxed)) {
      readers_.count_[side_].fetch_add(1, std::memory_order_seq_cst);
    }
    Reading(const Reading&) = delete;
    Reading& operator=(const Reading&) = delete;
    ~Reading() {
      if (readers_.count_[side_].fetch_sub(1, std::memory_order_seq_cst) == 1 &&
          readers_.any_.load(std::memory_order_seq_cst)) {
        readers_.sweep();
      }
    }

   private:
    Readers& readers_;
    const unsigned side_;
  };

  /// New readers can no longer find the object.
  void retire(Owner object) {
    {
      const std::lock_guard lock(mutex_);
      retired_.push_back({std::move(object), 0});
      any_.store(true, std::memory_order_seq_cst);
    }
    sweep();
  }

 private:
  struct Retired {
    Owner object;
    unsigned empty = 0;  // sides that have been empty since, as bits
  };

  // Called when a side may be empty: either it is seen here, or by its last reader.
  [[gnu::cold]] void sweep() {
    std::vector<Owner> gone;  // destroyed without the lock
    const std::lock_guard lock(mutex_);
    for (unsigned side = 0; side < 2; ++side) {
      if (count_[side].load(std::memory_order_seq_cst) != 0) continue;
      for (Retired& r : retired_) r.empty |= 1u << side;
      side_.store(side, std::memory_order_relaxed);
    }
    std::erase_if(retired_, [&gone](Retired& r) {
      if (r.empty != 3) return false;
      gone.push_back(std::move(r.object));
      return true;
    });
    any_.store(!retired_.empty(), std::memory_order_seq_cst);
  }

  std::atomic<unsigned> side_{0};
  std::atomic<int64_t> count_[2] = {0, 0};
  std::atomic<bool> any_{false};
  std::mutex mutex_;
  std::vector<Retired> retired_;  // guarded by mutex_
};

}  // namespace tandem
