// The queue behind tf.queue: elements of Python that threads put in and take out, in
// order, at random or by a key. All members are used under the interpreter lock; a
// thread that waits gives it back and wakes when anything changed, or for Ctrl-C.
#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <random>
#include <set>

#include <fmt/format.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "python/bind.h"
#include "python/interrupt.h"
#include "tandem/error.h"

namespace tandem::python {

namespace {

class ElementQueue {
 public:
  /// `order`: "fifo", "shuffle" or "priority". Of a shuffled queue `least` elements stay
  /// until it is closed.
  ElementQueue(std::string name, int64_t capacity, const std::string& order,
               int64_t least, uint64_t seed)
      : name_(std::move(name)),
        capacity_(capacity < 0 ? INT64_MAX : capacity),
        shuffles_(order == "shuffle"),
        sorts_(order == "priority"),
        least_(least),
        random_(seed) {}

  /// Puts elements in one after the other, as soon as there is room for each.
  void put(const std::vector<nb::object>& elements, const std::vector<int64_t>& keys) {
    require_open();
    const Turn turn(*this, putting_);
    for (size_t i = 0; i < elements.size(); ++i) {
      wait([&] { return size() < capacity_ || cancelled_; });
      if (cancelled_) throw CancelledError("Enqueue operation was cancelled");
      insert({sorts_ ? keys[i] : 0, count_++, elements[i]});
      changed();
    }
  }

  /// The next n elements; at the end of a closed queue fewer where `fewer` says so.
  nb::list take(int64_t n, bool fewer) {
    const Turn turn(*this, taking_);
    std::vector<Element> taken;
    while (static_cast<int64_t>(taken.size()) < n) {
      if (!ready()) {
        try {
          wait([&] { return ready() || done(); });
        } catch (...) {
          give_back(taken);
          throw;
        }
        if (!ready()) {
          if (fewer && !taken.empty()) break;
          const int64_t there = size() + static_cast<int64_t>(taken.size());
          give_back(taken);
          throw OutOfRangeError(
              fmt::format("{} is closed and has insufficient elements (requested {}, "
                          "current size {})",
                          name_, n, there));
        }
      }
      taken.push_back(remove());
      changed();
    }
    nb::list result;
    for (Element& e : taken) result.append(std::move(e.value));
    return result;
  }

  void close(bool cancel) {
    closed_ = true;
    cancelled_ = cancelled_ || cancel;
    changed();
  }

  int64_t size() const { return static_cast<int64_t>(elements_.size()); }
  bool is_closed() const { return closed_; }

 private:
  struct Element {
    int64_t key;
    int64_t number;  // when it came
    nb::object value;
    bool operator>(const Element& o) const {
      return key != o.key ? key > o.key : number > o.number;
    }
  };

  /// Callers of one kind come one after the other, in the order in which they came.
  struct Turns {
    int64_t next = 0;
    std::set<int64_t> waiting;  // and the one whose turn it is, the first
  };
  struct Turn {
    Turn(ElementQueue& of, Turns& among) : queue(of), turns(among), mine(among.next++) {
      turns.waiting.insert(mine);
      try {
        queue.wait([&] { return *turns.waiting.begin() == mine; });
      } catch (...) {
        leave();
        throw;
      }
    }
    Turn(const Turn&) = delete;
    Turn& operator=(const Turn&) = delete;
    ~Turn() { leave(); }
    void leave() {
      turns.waiting.erase(mine);
      queue.changed();
    }
    ElementQueue& queue;
    Turns& turns;
    int64_t mine;
  };

  void require_open() const {
    if (closed_) throw CancelledError(name_ + " is closed.");
  }

  bool ready() const { return size() > (closed_ ? 0 : least_); }
  /// Nothing more comes: also those that waited to put something in are through.
  bool done() const { return closed_ && (cancelled_ || putting_.waiting.empty()); }

  void insert(Element e) {
    elements_.push_back(std::move(e));
    if (sorts_) std::push_heap(elements_.begin(), elements_.end(), std::greater<>());
  }

  Element remove() {
    if (sorts_) {
      std::pop_heap(elements_.begin(), elements_.end(), std::greater<>());
    } else if (shuffles_) {
      std::uniform_int_distribution<size_t> any(0, elements_.size() - 1);
      std::swap(elements_[any(random_)], elements_.back());
    } else {
      Element first = std::move(elements_.front());
      elements_.pop_front();
      return first;
    }
    Element last = std::move(elements_.back());
    elements_.pop_back();
    return last;
  }

  /// Elements that were taken for nothing stand in front again.
  void give_back(std::vector<Element>& taken) {
    for (auto e = taken.rbegin(); e != taken.rend(); ++e) {
      if (sorts_) {
        insert(std::move(*e));
      } else {
        elements_.push_front(std::move(*e));
      }
    }
    if (!taken.empty()) changed();
  }

  void changed() {
    {
      const std::lock_guard lock(mutex_);
      ++changes_;
    }
    changed_.notify_all();
  }

  template <class Ready>
  void wait(const Ready& ready) {
    const InterruptScope scope(check_signals);
    while (!ready()) {
      const uint64_t seen = changes_;
      const nb::gil_scoped_release unlocked;
      std::unique_lock lock(mutex_);
      changed_.wait_for(lock, std::chrono::nanoseconds(InterruptScope::kPeriodNs),
                        [&] { return changes_ != seen; });
      lock.unlock();
      poll_interrupt_now();
    }
  }

  const std::string name_;
  const int64_t capacity_;
  const bool shuffles_, sorts_;
  const int64_t least_;
  std::mt19937_64 random_;
  std::deque<Element> elements_;
  int64_t count_ = 0;
  bool closed_ = false, cancelled_ = false;
  Turns putting_, taking_;
  std::mutex mutex_;  // for changes_ of threads without the interpreter lock
  std::condition_variable changed_;
  uint64_t changes_ = 0;
};

}  // namespace

void bind_queue(nb::module_& m) {
  nb::class_<ElementQueue>(m, "ElementQueue", "What threads hand to one another.")
      .def(nb::init<std::string, int64_t, const std::string&, int64_t, uint64_t>(),
           nb::arg("name"), nb::arg("capacity"), nb::arg("order"), nb::arg("least") = 0,
           nb::arg("seed") = 0)
      .def("put", &ElementQueue::put, nb::arg("elements"), nb::arg("keys"))
      .def("take", &ElementQueue::take, nb::arg("n"), nb::arg("fewer") = false)
      .def("close", &ElementQueue::close, nb::arg("cancel") = false)
      .def("size", &ElementQueue::size)
      .def("is_closed", &ElementQueue::is_closed);
}

}  // namespace tandem::python
