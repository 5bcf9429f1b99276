#include "data/prefetch.h"

#include <deque>
#include <exception>

#include <fmt/format.h>

#include "data/element_function.h"
#include "data/stages.h"
#include "data/worker_thread.h"
#include "tandem/device.h"

namespace tandem::data {

void Turns::take(const Cancellation& cancellation) {
  std::unique_lock lock(mutex_);
  wait_until(changed_, lock, cancellation, [&] { return free_ > 0; });
  --free_;
}
void Turns::give_back() {
  const std::lock_guard lock(mutex_);
  ++free_;
  changed_.notify_one();
}
void Turns::wake() {
  const std::lock_guard lock(mutex_);
  changed_.notify_all();
}

namespace {

constexpr int64_t kAutoBuffer = 4;  // elements, when nobody says

// What the thread and its reader share; the thread may outlive the reader.
class AheadWork {
 public:
  AheadWork(const Context& context, const Stage& input, int64_t size,
            std::shared_ptr<Turns> turns)
      : cancellation_(context.cancellation->child()),
        input_(input.open(context.with(cancellation_))),
        size_(size),
        turns_(std::move(turns)),
        wake_(cancellation_, [this] { wake_all(); }) {}

  /// When it was cancelled, by this or before.
  std::chrono::steady_clock::time_point cancel() {
    cancellation_->cancel();
    return cancellation_->since();
  }

  bool take(Element& out) {
    std::unique_lock lock(mutex_);
    wait_until(filled_, lock, *cancellation_, [&] { return !queue_.empty() || ended_; });
    if (queue_.empty()) return false;
    Item item = std::move(queue_.front());
    queue_.pop_front();
    lock.unlock();
    room_.notify_one();
    if (item.error) std::rethrow_exception(item.error);
    out = std::move(item.element);
    return true;
  }

  void run() {
    const InterruptScope ends = cancellation_->ends_work();
    try {
      while (produce()) {
      }
    } catch (const CancelledError&) {
      // The pass is being taken down.
    }
  }

 private:
  struct Item {
    Element element;
    std::exception_ptr error;
  };

  bool produce() {
    {
      std::unique_lock lock(mutex_);
      wait_until(room_, lock, *cancellation_,
                 [&] { return static_cast<int64_t>(queue_.size()) < size_; });
    }
    Item item;
    const bool more = turns_ ? compute_in_turn(item) : compute(item);
    const std::lock_guard lock(mutex_);
    if (more) {
      queue_.push_back(std::move(item));
    } else {
      ended_ = true;
    }
    filled_.notify_all();
    return more;
  }

  bool compute(Item& item) {
    try {
      return input_->next(item.element);
    } catch (...) {
      cancellation_->check();
      item.error = std::current_exception();
      return true;
    }
  }
  bool compute_in_turn(Item& item) {
    turns_->take(*cancellation_);
    struct GiveBack {
      Turns& turns;
      ~GiveBack() { turns.give_back(); }
    } const give_back{*turns_};
    return compute(item);
  }

  void wake_all() {
    {
      const std::lock_guard lock(mutex_);
      filled_.notify_all();
      room_.notify_all();
    }
    if (turns_) turns_->wake();
  }

  const std::shared_ptr<Cancellation> cancellation_;
  const std::unique_ptr<Cursor> input_;  // used by the thread
  const int64_t size_;
  const std::shared_ptr<Turns> turns_;

  std::mutex mutex_;
  std::condition_variable filled_, room_;
  std::deque<Item> queue_;  // guarded by mutex_
  bool ended_ = false;      // guarded by mutex_
  Cancellation::Registration wake_;
};

class Ahead final : public Cursor {
 public:
  Ahead(const Context& context, const Stage& input, int64_t size,
        std::shared_ptr<Turns> turns)
      : Cursor(context, "Prefetch"),
        work_(std::make_shared<AheadWork>(context, input, size, std::move(turns))) {}
  ~Ahead() override { Worker::end(thread_, work_->cancel()); }

 private:
  bool advance(Element& out) override {
    if (thread_.empty()) {
      thread_.emplace_back("data-prefetch", [work = work_] { work->run(); });
    }
    return work_->take(out);
  }

  const std::shared_ptr<AheadWork> work_;
  std::vector<Worker> thread_;  // one, once there is something to do
};

class PrefetchStage final : public Stage {
 public:
  PrefetchStage(StagePtr input, int64_t size)
      : Stage("Prefetch", input->components()), input_(std::move(input)), size_(size) {}
  int64_t cardinality() const override { return input_->cardinality(); }
  std::unique_ptr<Cursor> make_cursor(const Context& context) const override {
    // How far it had come when it is given up must not show in what is drawn next.
    const bool in_turn = context.sharing != Context::Sharing::kNone &&
                         config::op_determinism_enabled() &&
                         draws_random_numbers(*input_);
    if (size_ == 0 || in_turn) return input_->open(context);
    return open_ahead(context, *input_, size_ < 0 ? kAutoBuffer : size_, nullptr);
  }
  StagePtr substitute(const Substitution& s) const override {
    return make_prefetch(input_->substitute(s), size_);
  }

 private:
  const StagePtr input_;
  const int64_t size_;
};

}  // namespace

std::unique_ptr<Cursor> open_ahead(const Context& context, const Stage& input,
                                   int64_t buffer_size, std::shared_ptr<Turns> turns) {
  return std::make_unique<Ahead>(context, input, buffer_size, std::move(turns));
}

StagePtr make_prefetch(StagePtr input, int64_t buffer_size) {
  if (buffer_size < kAutotune) {
    throw InvalidArgumentError(fmt::format(
        "PrefetchDataset: buffer_size must be greater than zero or AUTOTUNE, it is {}.",
        buffer_size));
  }
  return std::make_shared<PrefetchStage>(std::move(input), buffer_size);
}

}  // namespace tandem::data
