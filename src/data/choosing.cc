// take, skip, shard and repeat: they pass elements or row numbers on as they are. Each is
// written once, over a source that is either.
#include <algorithm>

#include <fmt/format.h>

#include "data/stages.h"

namespace tandem::data {

namespace {

// What the two kinds of pass have in common.
struct Elements {
  using Source = std::unique_ptr<Cursor>;
  using Value = Element;
  static Source open(const Stage& stage, const Context& c) { return stage.open(c); }
};
struct Rows {
  using Source = std::unique_ptr<RowCursor>;
  using Value = int64_t;
  static Source open(const Stage& stage, const Context& c) { return stage.open_rows(c); }
};

template <class Kind>
struct TakeState {
  typename Kind::Source source;
  int64_t left;  // negative: all
  bool next(typename Kind::Value& value) {
    if (left == 0 || !source->next(value)) return false;
    if (left > 0) --left;
    return true;
  }
};

template <class Kind>
struct SkipState {
  typename Kind::Source source;
  int64_t left;  // negative: all
  bool next(typename Kind::Value& value) {
    if (left < 0) return false;  // not found out by reading all of them
    while (left != 0) {
      int64_t passed = 0;
      if constexpr (requires { source->pass_over(left); }) {
        passed = source->pass_over(left);
      } else {
        passed = source->next(value) ? 1 : 0;
      }
      if (passed == 0) return false;
      left -= passed;
    }
    return source->next(value);
  }
};

template <class Kind>
struct ShardState {
  typename Kind::Source source;
  int64_t shards;
  int64_t skip;  // before the next one
  bool next(typename Kind::Value& value) {
    for (; skip > 0; --skip) {
      if (!source->next(value)) return false;
    }
    skip = shards - 1;
    return source->next(value);
  }
};

template <class Kind>
struct RepeatState {
  StagePtr input;
  Context context;
  int64_t left;  // negative: without end
  typename Kind::Source source = nullptr;
  bool barren = false;  // the pass that began last has given nothing, errors aside
  bool next(typename Kind::Value& value) {
    for (;;) {
      if (!source) {
        if (left == 0 || (barren && endless())) return false;
        left -= left > 0;
        barren = true;
        source = Kind::open(*input, context);
      }
      if (source->next(value)) {
        barren = false;
        return true;
      }
      source.reset();
      // Nothing in it: repeating it without end, or often, would not come back.
      if (barren && (endless() || input->cardinality() == 0)) return false;
    }
  }
  bool endless() const {
    constexpr int64_t kMostEmpty = 1 << 20;  // passes, one after the other
    return left < 0 || left > kMostEmpty;
  }
};

template <class State>
class StateCursor final : public Cursor {
 public:
  StateCursor(const Context& c, const char* name, State state)
      : Cursor(c, name), state_(std::move(state)) {}

 private:
  bool advance(Element& out) override { return state_.next(out); }
  State state_;
};

template <class State>
class StateRowCursor final : public RowCursor {
 public:
  StateRowCursor(std::shared_ptr<const ArrayRows> rows, State state)
      : rows_(std::move(rows)), state_(std::move(state)) {}
  const std::shared_ptr<const ArrayRows>& arrays() const override { return rows_; }
  bool next(int64_t& row) override { return state_.next(row); }

 private:
  const std::shared_ptr<const ArrayRows> rows_;
  State state_;
};

// Opens a pass of either kind; `make(source)` gives the state.
template <template <class> class State, class... Numbers>
std::unique_ptr<Cursor> open_elements(const Stage& input, const Context& c,
                                      const char* name, Numbers... numbers) {
  return std::make_unique<StateCursor<State<Elements>>>(
      c, name, State<Elements>{input.open(c), numbers...});
}
template <template <class> class State, class... Numbers>
std::unique_ptr<RowCursor> open_numbers(const Stage& input, const Context& c,
                                        Numbers... numbers) {
  auto source = input.open_rows(c);
  if (!source) return nullptr;
  auto rows = source->arrays();
  return std::make_unique<StateRowCursor<State<Rows>>>(
      std::move(rows), State<Rows>{std::move(source), numbers...});
}

class TakeStage final : public Stage {
 public:
  TakeStage(StagePtr input, Size count)
      : Stage("Take", input->components()), input_(std::move(input)), count_(count) {}
  int64_t cardinality() const override {
    const int64_t n = input_->cardinality();
    if (!count_.known()) return kUnknown;
    if (count_.get() < 0 || count_.get() == 0) return count_.get() == 0 ? 0 : n;
    if (n == kInfinite) return count_.get();
    return is_number(n) ? std::min(n, count_.get()) : n;
  }
  std::unique_ptr<Cursor> make_cursor(const Context& c) const override {
    return open_elements<TakeState>(*input_, c, "Take", count_.get());
  }
  std::unique_ptr<RowCursor> open_rows(const Context& c) const override {
    return open_numbers<TakeState>(*input_, c, count_.get());
  }
  StagePtr substitute(const Substitution& s) const override {
    return make_take(input_->substitute(s), count_.substitute(s));
  }

 private:
  const StagePtr input_;
  const Size count_;
};

class SkipStage final : public Stage {
 public:
  SkipStage(StagePtr input, Size count)
      : Stage("Skip", input->components()), input_(std::move(input)), count_(count) {}
  int64_t cardinality() const override {
    const int64_t n = input_->cardinality();
    if (!count_.known()) return kUnknown;
    if (count_.get() < 0) return 0;
    return is_number(n) ? std::max<int64_t>(0, n - count_.get()) : n;
  }
  std::unique_ptr<Cursor> make_cursor(const Context& c) const override {
    return open_elements<SkipState>(*input_, c, "Skip", count_.get());
  }
  std::unique_ptr<RowCursor> open_rows(const Context& c) const override {
    return open_numbers<SkipState>(*input_, c, count_.get());
  }
  StagePtr substitute(const Substitution& s) const override {
    return make_skip(input_->substitute(s), count_.substitute(s));
  }

 private:
  const StagePtr input_;
  const Size count_;
};

class ShardStage final : public Stage {
 public:
  ShardStage(StagePtr input, Size shards, Size index)
      : Stage("Shard", input->components()),
        input_(std::move(input)),
        shards_(shards),
        index_(index) {}
  int64_t cardinality() const override {
    const int64_t n = input_->cardinality();
    if (!is_number(n)) return n;
    if (!shards_.known() || !index_.known()) return kUnknown;
    return n / shards_.get() + (n % shards_.get() > index_.get());
  }
  std::unique_ptr<Cursor> make_cursor(const Context& c) const override {
    return open_elements<ShardState>(*input_, c, "Shard", shards_.get(), index_.get());
  }
  std::unique_ptr<RowCursor> open_rows(const Context& c) const override {
    return open_numbers<ShardState>(*input_, c, shards_.get(), index_.get());
  }
  StagePtr substitute(const Substitution& s) const override {
    return make_shard(input_->substitute(s), shards_.substitute(s), index_.substitute(s));
  }

 private:
  const StagePtr input_;
  const Size shards_, index_;
};

class RepeatStage final : public Stage {
 public:
  RepeatStage(StagePtr input, Size count)
      : Stage("Repeat", input->components()), input_(std::move(input)), count_(count) {}
  int64_t cardinality() const override {
    const int64_t n = input_->cardinality();
    if (!count_.known()) return kUnknown;
    if (count_.get() < 0) return n == 0 ? 0 : kInfinite;
    if (count_.get() == 0) return 0;
    return is_number(n) ? n * count_.get() : n;
  }
  std::unique_ptr<Cursor> make_cursor(const Context& c) const override {
    return std::make_unique<StateCursor<RepeatState<Elements>>>(
        c, "Repeat",
        RepeatState<Elements>{input_, c.shared(Context::Sharing::kAfter), count_.get()});
  }
  std::unique_ptr<RowCursor> open_rows(const Context& c) const override {
    if (count_.get() == 0) return nullptr;
    auto first = input_->open_rows(c);
    if (!first) return nullptr;
    auto rows = first->arrays();
    RepeatState<Rows> state{input_, c, count_.get()};
    state.source = std::move(first);
    state.left -= state.left > 0;
    return std::make_unique<StateRowCursor<RepeatState<Rows>>>(std::move(rows),
                                                               std::move(state));
  }
  StagePtr substitute(const Substitution& s) const override {
    return make_repeat(input_->substitute(s), count_.substitute(s));
  }

 private:
  const StagePtr input_;
  const Size count_;
};

}  // namespace

StagePtr make_take(StagePtr input, Size count) {
  return std::make_shared<TakeStage>(std::move(input), std::move(count));
}
StagePtr make_skip(StagePtr input, Size count) {
  return std::make_shared<SkipStage>(std::move(input), std::move(count));
}
StagePtr make_repeat(StagePtr input, Size count) {
  return std::make_shared<RepeatStage>(std::move(input), std::move(count));
}
StagePtr make_shard(StagePtr input, Size shards, Size index) {
  if (shards.known() && shards.get() < 1) {
    throw InvalidArgumentError(fmt::format(
        "Number of shards must be greater than zero (currently num_shards = {}).",
        shards.get()));
  }
  if (shards.known() && index.known() &&
      (index.get() < 0 || index.get() >= shards.get())) {
    throw InvalidArgumentError(
        fmt::format("Index must be between 0 and {} (currently index = {}).",
                    shards.get() - 1, index.get()));
  }
  return std::make_shared<ShardStage>(std::move(input), std::move(shards),
                                      std::move(index));
}

}  // namespace tandem::data
