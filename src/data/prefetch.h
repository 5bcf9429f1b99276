// A pass that a thread of its own runs ahead of, through a bounded queue.
#pragma once

#include <memory>

#include "data/stage.h"

namespace tandem::data {

/// `turns`, if given, limits how many such threads compute at a time.
class Turns;
std::unique_ptr<Cursor> open_ahead(const Context& context, const Stage& input,
                                   int64_t buffer_size, std::shared_ptr<Turns> turns);

/// A counting semaphore that gives up when the pass is cancelled.
class Turns {
 public:
  explicit Turns(int64_t count) : free_(count) {}
  void take(const Cancellation& cancellation);
  void give_back();
  void wake();

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  int64_t free_;  // guarded by mutex_
};

}  // namespace tandem::data
