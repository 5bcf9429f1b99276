// Iterators over datasets. The interpreter lock is released while an element is waited
// for, and Ctrl-C is looked for meanwhile. When the interpreter ends, iterators that are
// still there are taken down while their functions can still run.
#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <set>
#include <thread>

#include <nanobind/stl/vector.h>

#include "data/cancellation.h"
#include "data/pass_log.h"
#include "data/traced_iteration.h"
#include "graph/trace.h"
#include "python/casters.h"
#include "python/data.h"
#include "python/ending.h"
#include "python/errors.h"
#include "python/interrupt.h"
#include "train/batch_source.h"

namespace tandem::python {

namespace {

// One pass; outlives its object when the interpreter ends while it is busy.
struct Pass {
  std::mutex mutex;                          // held while an element is taken
  std::unique_ptr<data::Iterator> iterator;  // replaced by exchange() alone

  // Does not wait for an element that is being taken; nobody destroys the iterator
  // meanwhile.
  void cancel() {
    const std::lock_guard lock(pointer_);
    if (iterator) iterator->cancel();
  }
  // What was there, for the caller to destroy. With `mutex` held, or by the last user.
  std::unique_ptr<data::Iterator> exchange(std::unique_ptr<data::Iterator> next) {
    const std::lock_guard lock(pointer_);
    iterator.swap(next);
    return next;
  }

 private:
  std::mutex pointer_;
};

class PyIterator;
std::mutex g_live_mutex;
std::set<PyIterator*> g_live;  // guarded by g_live_mutex

// Called without the interpreter lock.
template <class Body>
auto interruptible(const Body& body) {
  const InterruptScope scope(check_signals);
  return body();
}

// A source of batches for training loops, too.
class PyIterator final : public train::BatchSource {
 public:
  explicit PyIterator(const data::Dataset& dataset) : dataset_(dataset) {
    if (!data::symbolic_tensors(*dataset.stage()).empty()) {
      raise(PyExc_RuntimeError,
            "The dataset was made inside a traced function from its tensors, which have "
            "no values here. Iterate over it inside the function.");
    }
    const nb::gil_scoped_release unlocked;
    begin({});
    const std::lock_guard lock(g_live_mutex);
    g_live.insert(this);
  }
  ~PyIterator() override {
    const nb::gil_scoped_release unlocked;
    {
      const std::lock_guard lock(g_live_mutex);
      g_live.erase(this);
    }
    std::unique_ptr<data::Iterator> last = pass_->exchange(nullptr);
    if (is_ending() && last) {
      // A worker that wants the interpreter's lock now never ends.
      last->cancel();
      static_cast<void>(last.release());
      end_without_statics();
    }
  }

  // Without the interpreter lock.
  bool next(data::Element& element) override {
    const std::lock_guard lock(pass_->mutex);
    if (!pass_->iterator) throw CancelledError("Iterator was cancelled.");
    const bool more = interruptible([&] { return pass_->iterator->next(element); });
    position_ += more;
    return more;
  }
  /// How many elements have been taken, then the seeds that shuffles drew.
  std::vector<int64_t> state() {
    const nb::gil_scoped_release unlocked;
    const std::lock_guard lock(pass_->mutex);
    std::vector<int64_t> state = {position_};
    for (const auto& [first, second] : log_->drawn()) {
      state.push_back(first);
      state.push_back(second);
    }
    return state;
  }
  /// Begins again with those seeds and passes over the elements that were taken: where
  /// a checkpoint was written.
  void restore(const std::vector<int64_t>& state) {
    if (state.empty()) raise(PyExc_ValueError, "The state of an iterator is not empty.");
    const nb::gil_scoped_release unlocked;
    const std::lock_guard lock(pass_->mutex);
    std::vector<data::PassLog::Pair> seeds;
    for (size_t i = 1; i + 1 < state.size(); i += 2) {
      seeds.emplace_back(state[i], state[i + 1]);
    }
    pass_->exchange(nullptr);
    begin(std::move(seeds));
    const int64_t position = state[0];
    position_ = 0;
    data::Element element;
    interruptible([&] {
      while (position_ < position && pass_->iterator->next(element)) ++position_;
    });
  }
  /// A tuple of tensors; None at the end.
  nb::object next_element() {
    data::Element element;
    bool more = false;
    {
      const nb::gil_scoped_release unlocked;
      more = next(element);
    }
    if (!more) return nb::none();
    return from_element(element);
  }
  void cancel() { pass_->cancel(); }
  /// Its threads have ended when it returns; there are no more elements.
  void close() {
    const nb::gil_scoped_release unlocked;
    cancel();
    const std::lock_guard lock(pass_->mutex);
    pass_->exchange(nullptr);
  }
  const std::shared_ptr<Pass>& pass() const { return pass_; }

 private:
  void begin(std::vector<data::PassLog::Pair> seeds) {
    log_ = std::make_shared<data::PassLog>(std::move(seeds));
    const data::PassLogScope scope(log_);
    pass_->exchange(std::make_unique<data::Iterator>(dataset_));
  }

  const data::Dataset dataset_;
  std::shared_ptr<data::PassLog> log_;
  const std::shared_ptr<Pass> pass_ = std::make_shared<Pass>();
  int64_t position_ = 0;  // guarded by the pass's mutex
};

// Takes all passes down. A thread that is in Python code which does not return (a
// generator that waits for something) is left behind after a while.
void shut_down() {
  const nb::gil_scoped_release unlocked;
  struct Waiting {
    std::mutex mutex;
    std::condition_variable down;
    bool all = false;  // guarded by mutex
  };
  const auto waiting = std::make_shared<Waiting>();
  std::vector<std::shared_ptr<Pass>> passes;
  {
    const std::lock_guard lock(g_live_mutex);
    for (PyIterator* iterator : g_live) {
      iterator->cancel();
      passes.push_back(iterator->pass());
    }
    g_live.clear();
  }
  if (passes.empty()) return;
  std::thread([passes = std::move(passes), waiting] {
    for (const auto& pass : passes) {
      const std::lock_guard lock(pass->mutex);
      pass->exchange(nullptr);
    }
    const std::lock_guard lock(waiting->mutex);
    waiting->all = true;
    waiting->down.notify_all();
  }).detach();
  constexpr std::chrono::seconds kPatience(1);
  std::unique_lock lock(waiting->mutex);
  if (!waiting->down.wait_for(lock, kPatience, [&] { return waiting->all; })) {
    end_without_statics();
  }
}

// For traced functions, which run without the interpreter lock. The tensor keeps the
// Python object alive.
Tensor as_tensor(nb::handle self) {
  auto held = std::make_shared<HeldObject>(nb::borrow(self));
  auto* iterator = nb::inst_ptr<PyIterator>(self);
  return data::iterator_tensor(
      [held, iterator](data::Element& element) { return iterator->next(element); });
}

nb::object reduce(const data::Dataset& dataset, nb::handle initial,
                  const PyUserFunction& function) {
  data::Element state = to_element(initial);
  if (current_tracer() || !data::symbolic_tensors(*dataset.stage()).empty()) {
    raise(PyExc_RuntimeError, "A dataset of traced tensors is reduced by its graph.");
  }
  {
    const nb::gil_scoped_release unlocked;
    interruptible([&] {
      data::reduce(*dataset.stage(), data::Cancellation::make(), state,
                   *function.function);
    });
  }
  return from_element(state);
}

}  // namespace

void bind_data_iterator(nb::module_& data) {
  nb::class_<PyIterator, train::BatchSource>(data, "Iterator",
                                             nb::is_weak_referenceable())
      .def(nb::init<const data::Dataset&>(), nb::arg("dataset"))
      .def("state", &PyIterator::state,
           "How many elements have been taken, and the seeds that shuffles drew.")
      .def("restore", &PyIterator::restore, nb::arg("state"))
      .def("next", &PyIterator::next_element, "A tuple of tensors; None at the end.")
      .def("tensor", as_tensor, "The iterator as a value of traced functions.")
      .def("close", &PyIterator::close, "Ends the pass and its threads.")
      .def("cancel", &PyIterator::cancel);
  data.def("reduce", reduce, nb::arg("dataset"), nb::arg("state"), nb::arg("function"));
  data.def("shutdown", shut_down);
}

}  // namespace tandem::python
