// Sources that need no file and no user's code: one element, numbers, random numbers.
#include <algorithm>

#include <fmt/format.h>

#include "base/philox.h"
#include "data/stages.h"
#include "device/runtime.h"
#include "ops/random_seed.h"
#include "tandem/ops/array.h"
#include "tandem/ops/elementwise.h"
#include "tensor/tensor_impl.h"

namespace tandem::data {

namespace {

std::vector<Component> components_of(const Element& element) {
  std::vector<Component> result;
  for (const Tensor& t : element) result.push_back({t.dtype(), t.shape()});
  return result;
}

class TensorsStage final : public Stage {
 public:
  explicit TensorsStage(Element element)
      : Stage("FromTensors", components_of(element)), element_(std::move(element)) {}
  int64_t cardinality() const override { return 1; }

  std::unique_ptr<Cursor> make_cursor(const Context& context) const override {
    struct Once final : Cursor {
      Once(const Context& c, const Element& e) : Cursor(c, "FromTensors"), element(e) {}
      bool advance(Element& out) override {
        if (given) return false;
        given = true;
        out = element;
        return true;
      }
      const Element element;
      bool given = false;
    };
    return std::make_unique<Once>(context, element_);
  }

  StagePtr substitute(const Substitution& s) const override {
    Element element;
    for (const Tensor& t : element_) element.push_back(substituted(t, s));
    return std::make_shared<TensorsStage>(std::move(element));
  }

 private:
  const Element element_;
};

Tensor number(int64_t value, DType dtype) {
  Tensor t = make_tensor(Runtime::get().cpu(), DType::kInt64, Shape{});
  *static_cast<int64_t*>(t.impl()->data()) = value;
  return dtype == DType::kInt64 ? t : cast(t, dtype);
}

class RangeStage final : public Stage {
 public:
  RangeStage(Size start, Size stop, Size step, DType dtype)
      : Stage("Range", {{dtype, Shape{}}}),
        start_(std::move(start)),
        stop_(std::move(stop)),
        step_(std::move(step)),
        dtype_(dtype) {
    if (step_.known() && step_.get() == 0) {
      throw InvalidArgumentError("RangeDataset: step must be a non-zero integer.");
    }
  }

  int64_t cardinality() const override {
    if (!start_.known() || !stop_.known() || !step_.known()) return kUnknown;
    const int64_t start = start_.get(), stop = stop_.get(), step = step_.get();
    if (step > 0) {
      return stop > start ? count(start, stop, static_cast<uint64_t>(step)) : 0;
    }
    return start > stop ? count(stop, start, 0 - static_cast<uint64_t>(step)) : 0;
  }

  std::unique_ptr<Cursor> make_cursor(const Context& context) const override {
    struct Counting final : Cursor {
      Counting(const Context& c, int64_t start, int64_t by, int64_t count, DType t)
          : Cursor(c, "Range"), next(start), step(by), left(count), dtype(t) {}
      bool advance(Element& out) override {
        if (left-- <= 0) return false;
        out.assign(1, number(next, dtype));
        // The one after the last may not fit.
        next = static_cast<int64_t>(static_cast<uint64_t>(next) +
                                    static_cast<uint64_t>(step));
        return true;
      }
      int64_t pass_over(int64_t count) override {
        const int64_t passed = std::min(count, std::max<int64_t>(left, 0));
        left -= passed;
        next = static_cast<int64_t>(static_cast<uint64_t>(next) +
                                    static_cast<uint64_t>(step) *
                                        static_cast<uint64_t>(passed));
        return passed;
      }
      int64_t next, step, left;
      DType dtype;
    };
    start_.get(), stop_.get();
    return std::make_unique<Counting>(context, start_.get(), step_.get(), cardinality(),
                                      dtype_);
  }

  StagePtr substitute(const Substitution& s) const override {
    return std::make_shared<RangeStage>(start_.substitute(s), stop_.substitute(s),
                                        step_.substitute(s), dtype_);
  }

 private:
  // Without a sign: the distance of two numbers may not fit with one.
  static int64_t count(int64_t low, int64_t high, uint64_t step) {
    const uint64_t distance = static_cast<uint64_t>(high) - static_cast<uint64_t>(low);
    const uint64_t whole = (distance - 1) / step + 1;
    return static_cast<int64_t>(std::min(whole, static_cast<uint64_t>(INT64_MAX)));
  }

  const Size start_, stop_, step_;
  const DType dtype_;
};

class RandomStage final : public Stage {
 public:
  RandomStage(Seeds seeds, bool rerandomize)
      : Stage("Random", {{DType::kInt64, Shape{}}}),
        seeds_(seeds),
        rerandomize_(rerandomize),
        next_seeds_(Philox::from_state(static_cast<uint64_t>(seeds.first), 0,
                                       static_cast<uint64_t>(seeds.second))) {}
  int64_t cardinality() const override { return kInfinite; }

  std::unique_ptr<Cursor> make_cursor(const Context& context) const override {
    struct DrawingNumbers final : Cursor {
      DrawingNumbers(const Context& c, Seeds s)
          : Cursor(c, "Random"),
            words(Philox::from_state(static_cast<uint64_t>(s.first), 0,
                                     static_cast<uint64_t>(s.second))) {}
      bool advance(Element& out) override {
        out.assign(1, number(words(), DType::kInt64));
        return true;
      }
      PhiloxWords words;
    };
    Seeds seeds = seeds_;
    if (rerandomize_) {
      const std::lock_guard lock(mutex_);
      seeds.first = next_seeds_();
      seeds.second = next_seeds_();
    }
    return std::make_unique<DrawingNumbers>(context, seeds);
  }
  StagePtr substitute(const Substitution&) const override { return shared_from_this(); }

 private:
  const Seeds seeds_;
  const bool rerandomize_;
  mutable std::mutex mutex_;
  mutable PhiloxWords next_seeds_;  // guarded by mutex_
};

}  // namespace

StagePtr make_tensors(Element components) {
  return std::make_shared<TensorsStage>(std::move(components));
}

StagePtr make_range(Size start, Size stop, Size step, DType dtype) {
  return std::make_shared<RangeStage>(std::move(start), std::move(stop), std::move(step),
                                      dtype);
}

StagePtr make_random(int64_t seed, int64_t seed2, bool rerandomize) {
  return std::make_shared<RandomStage>(Seeds{seed, seed2}, rerandomize);
}

Seeds next_seeds(const char* op, std::optional<int64_t> seed, bool traced) {
  const int64_t given = seed.value_or(-1);
  const RandomState state =
      traced ? traced_random_state(given) : next_random_state(op, given, 0);
  return {static_cast<int64_t>(state.key), static_cast<int64_t>(state.counter[1])};
}

}  // namespace tandem::data
