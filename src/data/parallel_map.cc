#include "data/parallel_map.h"

#include <deque>
#include <exception>

#include "data/worker_thread.h"
#include "tandem/error.h"

namespace tandem::data {

namespace {

// Slots are in the order of inputs. A worker takes an input, its slot and the random
// numbers of its call under one lock, so that neither order nor numbers depend on which
// worker is faster.
// The threads may outlive the reader.
class ParallelMapWork {
 public:
  ParallelMapWork(const Context& context, const Stage& input, FunctionPtr function,
                  int64_t most, bool deterministic)
      : cancellation_(context.cancellation->child()),
        draws_(context.draws),
        input_(input.open(context.with(cancellation_))),
        function_(std::move(function)),
        most_(most),
        deterministic_(deterministic),
        wake_(cancellation_, [this] { wake_all(); }) {}

  /// When it was cancelled, by this or before.
  std::chrono::steady_clock::time_point cancel() {
    cancellation_->cancel();
    return cancellation_->since();
  }

  bool next(Element& out) {
    std::unique_lock lock(mutex_);
    std::deque<SlotPtr>::iterator found;
    wait_until(changed_, lock, *cancellation_, [&] {
      found = ready();
      return found != slots_.end() || (ended_ && slots_.empty());
    });
    if (found == slots_.end()) return false;
    const SlotPtr slot = *found;
    slots_.erase(found);
    lock.unlock();
    room_.notify_one();
    if (slot->error) std::rethrow_exception(slot->error);
    out = std::move(slot->element);
    return true;
  }

  void run() {
    const InterruptScope ends = cancellation_->ends_work();
    try {
      Element given;
      while (SlotPtr slot = take(given)) {
        if (!slot->error) compute(*slot, given);
        const std::lock_guard lock(mutex_);
        slot->done = true;
        slot.reset();  // from here the reader is the only owner, of an error too
        changed_.notify_all();
      }
    } catch (const CancelledError&) {
      // The pass is being taken down.
    }
  }

  // No call begins any more. Calls that were begun and whose results nobody has read: who
  // draws next in this pass, a repetition for one, draws what they did.
  void give_back() {
    const std::lock_guard lock(mutex_);
    for (const SlotPtr& slot : slots_) {
      if (slot->draws.empty()) continue;
      function_->give_back(slot->draws, last_, *draws_);
      return;
    }
  }

 private:
  struct Slot {
    Element element;
    Draws draws;
    std::exception_ptr error;
    bool done = false;
  };
  using SlotPtr = std::shared_ptr<Slot>;

  std::deque<SlotPtr>::iterator ready() {
    if (deterministic_) {
      return !slots_.empty() && slots_.front()->done ? slots_.begin() : slots_.end();
    }
    auto slot = slots_.begin();
    while (slot != slots_.end() && !(*slot)->done) ++slot;
    return slot;
  }

  void compute(Slot& slot, const Element& given) {
    try {
      slot.element = (*function_)(given, slot.draws);
    } catch (...) {
      slot.error = std::current_exception();
    }
  }

  // The next input with a slot for its result; null at the end.
  SlotPtr take(Element& given) {
    const std::lock_guard input_lock(input_mutex_);
    {
      std::unique_lock lock(mutex_);
      wait_until(room_, lock, *cancellation_,
                 [&] { return ended_ || static_cast<int64_t>(slots_.size()) < most_; });
      if (ended_) return nullptr;
    }
    auto slot = std::make_shared<Slot>();
    bool more = true;
    try {
      more = input_->next(given);
      cancellation_->check();  // nobody reads on, and draws are given back
      if (more) slot->draws = function_->begin(given, *draws_);
    } catch (...) {
      cancellation_->check();
      slot->error = std::current_exception();
    }
    const std::lock_guard lock(mutex_);
    if (more) {
      if (!slot->draws.empty()) last_ = slot->draws;
      slots_.push_back(slot);
      return slot;
    }
    ended_ = true;
    wake_all_locked();
    return nullptr;
  }

  void wake_all() {
    const std::lock_guard lock(mutex_);
    wake_all_locked();
  }
  void wake_all_locked() {
    changed_.notify_all();
    room_.notify_all();
  }

  const std::shared_ptr<Cancellation> cancellation_;
  const std::shared_ptr<PassDraws> draws_;
  std::mutex input_mutex_;               // taken before mutex_
  const std::unique_ptr<Cursor> input_;  // used under input_mutex_
  const FunctionPtr function_;
  const int64_t most_;  // slots
  const bool deterministic_;

  std::mutex mutex_;
  std::condition_variable changed_;  // a result is there, or the end
  std::condition_variable room_;     // a slot has become free
  std::deque<SlotPtr> slots_;        // guarded by mutex_
  Draws last_;                       // guarded by mutex_: the newest call's
  bool ended_ = false;               // guarded by mutex_: the input has
  Cancellation::Registration wake_;
};

class ParallelMap final : public Cursor {
 public:
  ParallelMap(const Context& context, const Stage& input, FunctionPtr function,
              int64_t workers, bool deterministic)
      : Cursor(context, "ParallelMap"),
        work_(std::make_shared<ParallelMapWork>(context, input, std::move(function),
                                                workers, deterministic)),
        workers_(workers) {}
  ~ParallelMap() override {
    Worker::end(threads_, work_->cancel());
    work_->give_back();
  }

 private:
  bool advance(Element& out) override {
    while (std::ssize(threads_) < workers_) {
      threads_.emplace_back("data-map", [work = work_] { work->run(); });
    }
    return work_->next(out);
  }

  const std::shared_ptr<ParallelMapWork> work_;
  const int64_t workers_;
  std::vector<Worker> threads_;
};

}  // namespace

std::unique_ptr<Cursor> open_parallel_map(const Context& context, const Stage& input,
                                          FunctionPtr function, int64_t workers,
                                          bool deterministic) {
  return std::make_unique<ParallelMap>(context, input, std::move(function), workers,
                                       deterministic);
}

}  // namespace tandem::data
