// Readers: frees what was replaced once nobody can be using it, without a lock on the way
// of those who read. A reader makes a Reading before it looks for the object; who
// replaces an object makes it unreachable first and retires it then. Any thread.
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
    explicit Reading(Readers& readers) : readers_(readers) {
      readers_.count_.fetch_add(1, std::memory_order_seq_cst);
    }
    Reading(const Reading&) = delete;
    Reading& operator=(const Reading&) = delete;
    ~Reading() {
      if (readers_.count_.fetch_sub(1, std::memory_order_seq_cst) == 1 &&
          readers_.any_.load(std::memory_order_relaxed)) {
        readers_.sweep();
      }
    }

   private:
    Readers& readers_;
  };

  /// New readers can no longer find the object.
  void retire(Owner object) {
    const std::lock_guard lock(mutex_);
    retired_.push_back(std::move(object));
    any_.store(true, std::memory_order_relaxed);
  }

 private:
  // Called by the last reader: nobody uses what was retired, unless another has come,
  // who finds only what is kept.
  [[gnu::cold]] void sweep() {
    std::vector<Owner> gone;  // destroyed without the lock
    const std::lock_guard lock(mutex_);
    if (count_.load(std::memory_order_seq_cst) != 0) return;
    gone.swap(retired_);
    any_.store(false, std::memory_order_relaxed);
  }

  std::atomic<int64_t> count_{0};
  std::atomic<bool> any_{false};
  std::mutex mutex_;
  std::vector<Owner> retired_;  // guarded by mutex_
};

}  // namespace tandem
