// Work inside recorded work (Stream::capture) that the device itself repeats or leaves
// out, by values in its own memory: the host neither waits nor looks. A native device
// records such work as nodes of its graph, an emulated one looks at its memory whenever
// the recording is launched. Used by the executor on the thread that records or replays,
// inside the recorded task.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "base/fn_ref.h"
#include "device/stream.h"

namespace tandem {

class ConditionalWork {
 public:
  /// Of this thread; null outside of recorded work of a device that has it.
  static ConditionalWork* current() { return t_current; }

  /// Enqueues on the stream of the context that it is given.
  using Task = FnRef<void(const StreamContext&)>;
  using BranchTask = FnRef<void(size_t branch, const StreamContext&)>;

  /// All addresses are the device's.
  struct Loop {
    const void* go_on = nullptr;  // a bool, which `test` writes
    void* turns = nullptr;        // an int64 for the device's own use
    int64_t max_turns = -1;       // -1: no limit
  };
  /// Enqueues `test`, and for as long as it says so `turn` and `test` again. A loop ends
  /// when something on the device has failed, whatever its test says.
  virtual void repeat(const Loop& loop, Task test, Task turn) = 0;

  struct Selector {
    const void* value = nullptr;
    size_t bytes = 1;  // 1: a bool, true is branch 0; 4, 8: the branch as an integer
  };
  /// One of the branches; the last one for integers that name none.
  virtual void choose(const Selector& selector, size_t branches, BranchTask branch) = 0;

  /// Which devices have it, and whether for branches, too. A device says so when it is
  /// made.
  static void offer(const Device& device, bool branches = true);
  static bool offered_by(const Device& device, bool for_branches = false);

 protected:
  ConditionalWork() : outer_(t_current) { t_current = this; }
  ConditionalWork(const ConditionalWork&) = delete;
  ConditionalWork& operator=(const ConditionalWork&) = delete;
  ~ConditionalWork() { t_current = outer_; }

 private:
  static inline thread_local ConditionalWork* t_current = nullptr;
  ConditionalWork* outer_;
};

/// Which branch a selector's value, read as an integer, stands for.
inline size_t branch_of(int64_t value, size_t branches) {
  const auto last = static_cast<int64_t>(branches) - 1;
  return static_cast<size_t>(value < 0 || value > last ? last : value);
}

/// The same work for a thread that can look at the values: it runs the tasks when their
/// turn has come. `read`: copies so many bytes from a device address to the host. `end`:
/// where somebody says that loops are to end, which they do with a CancelledError; may be
/// null.
class LookingWork final : public ConditionalWork {
 public:
  using Read = FnRef<void(void* to, const void* from, size_t bytes)>;
  LookingWork(const StreamContext& context, Read read,
              const std::atomic<int32_t>* end = nullptr)
      : context_(context), read_(read), end_(end) {}
  void repeat(const Loop& loop, Task test, Task turn) override;
  void choose(const Selector& selector, size_t branches, BranchTask branch) override;

 private:
  const StreamContext& context_;
  Read read_;
  const std::atomic<int32_t>* end_;
};

}  // namespace tandem
