// shuffle: TensorFlow's algorithm with its generator, so that a seed gives its order. A
// buffer of elements (or row numbers) from which one is drawn and replaced by the next.
#include <cmath>

#include <fmt/format.h>

#include "base/philox.h"
#include "data/stages.h"

namespace tandem::data {

namespace {

// Gives each pass its seeds: always the same ones, or the next of a sequence.
class PassSeeds {
 public:
  PassSeeds(Seeds seeds, bool reshuffle)
      : seeds_(seeds), reshuffle_(reshuffle), words_(generator(seeds)) {}
  Seeds next() {
    if (!reshuffle_) return seeds_;
    const std::lock_guard lock(mutex_);
    const int64_t first = words_();
    return {first, words_()};
  }
  static Philox generator(Seeds s) {
    return Philox::from_state(static_cast<uint64_t>(s.first), 0,
                              static_cast<uint64_t>(s.second));
  }

 private:
  const Seeds seeds_;
  const bool reshuffle_;
  std::mutex mutex_;
  PhiloxWords words_;  // guarded by mutex_
};

// The buffer is a ring: [start_, end_) of it are elements not given out yet.
template <class Value>
class ShuffleBuffer {
 public:
  ShuffleBuffer(Seeds seeds, int64_t size)
      : words_(PassSeeds::generator(seeds)), size_(size) {}

  template <class Source>
  bool next(Source& source, Value& out) {
    while (!ended_ && (size_ < 0 || end_ - start_ < size_)) {
      Value value;
      if (!source.next(value)) {
        ended_ = true;
      } else if (size_ < 0 || end_ < size_) {
        buffer_.push_back(std::move(value));
        ++end_;
      } else {
        at(end_++) = std::move(value);
      }
    }
    if (start_ == end_) return false;
    const int64_t drawn = start_ + words_() % (end_ - start_);
    out = std::move(at(drawn));
    std::swap(at(drawn), at(start_));
    ++start_;
    return true;
  }

 private:
  Value& at(int64_t i) { return buffer_[static_cast<size_t>(size_ < 0 ? i : i % size_)]; }

  PhiloxWords words_;
  const int64_t size_;  // negative: everything
  std::vector<Value> buffer_;
  int64_t start_ = 0, end_ = 0;
  bool ended_ = false;
};

class ShuffleCursor final : public Cursor {
 public:
  ShuffleCursor(const Context& c, std::unique_ptr<Cursor> input, Seeds seeds,
                int64_t size)
      : Cursor(c, "Shuffle"), input_(std::move(input)), buffer_(seeds, size) {}

 private:
  bool advance(Element& out) override { return buffer_.next(*input_, out); }
  const std::unique_ptr<Cursor> input_;
  ShuffleBuffer<Element> buffer_;
};

class ShuffleRowCursor final : public RowCursor {
 public:
  ShuffleRowCursor(std::unique_ptr<RowCursor> input, Seeds seeds, int64_t size)
      : input_(std::move(input)), buffer_(seeds, size) {}
  const std::shared_ptr<const ArrayRows>& arrays() const override {
    return input_->arrays();
  }
  bool next(int64_t& row) override { return buffer_.next(*input_, row); }

 private:
  const std::unique_ptr<RowCursor> input_;
  ShuffleBuffer<int64_t> buffer_;
};

class ShuffleStage final : public Stage {
 public:
  ShuffleStage(StagePtr input, ShuffleStageOptions options)
      : Stage("Shuffle", input->components()),
        input_(std::move(input)),
        options_(options),
        seeds_(std::make_shared<PassSeeds>(options.seeds,
                                           options.reshuffle_each_iteration)) {
    const int64_t size = options_.buffer_size.value_or(1);
    if (size <= 0 && size != kUnknown) {
      throw InvalidArgumentError(fmt::format(
          "ShuffleDataset: buffer_size must be greater than zero or UNKNOWN_CARDINALITY "
          "(for everything), it is {}.",
          size));
    }
  }
  int64_t cardinality() const override { return input_->cardinality(); }

  std::unique_ptr<Cursor> make_cursor(const Context& c) const override {
    return std::make_unique<ShuffleCursor>(c, input_->open(c), seeds_for(c),
                                           options_.buffer_size.get());
  }
  std::unique_ptr<RowCursor> open_rows(const Context& c) const override {
    auto rows = input_->open_rows(c);
    if (!rows) return nullptr;
    return std::make_unique<ShuffleRowCursor>(std::move(rows), seeds_for(c),
                                              options_.buffer_size.get());
  }
  StagePtr substitute(const Substitution& s) const override {
    ShuffleStageOptions options = options_;
    options.buffer_size = options_.buffer_size.substitute(s);
    return make_shuffle(input_->substitute(s), options);
  }

 private:
  // Of the next pass, or of the one that a checkpoint was written in.
  Seeds seeds_for(const Context& c) const {
    if (!c.log) return seeds_->next();
    const PassLog::Pair drawn = c.log->draw([this] {
      const Seeds s = seeds_->next();
      return PassLog::Pair{s.first, s.second};
    });
    return {drawn.first, drawn.second};
  }

  const StagePtr input_;
  const ShuffleStageOptions options_;
  const std::shared_ptr<PassSeeds> seeds_;
};

}  // namespace

StagePtr make_shuffle(StagePtr input, ShuffleStageOptions options) {
  return std::make_shared<ShuffleStage>(std::move(input), std::move(options));
}

}  // namespace tandem::data
