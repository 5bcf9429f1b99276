// interleave and flat_map: datasets made from elements, read in turn. With parallel calls
// each open dataset has a thread that works ahead, as many at a time as were asked for;
// the order is the same.
#include <fmt/format.h>

#include "data/prefetch.h"
#include "data/stages.h"
#include "tandem/device.h"

namespace tandem::data {

namespace {

StagePtr dataset_from(const UserFunction& function, const Element& element,
                      PassDraws& draws) {
  const Element result = function(element, draws);
  if (result.size() != 1) {
    throw InvalidArgumentError(
        "flat_map: the function must return one dataset for each element.");
  }
  return dataset_of(result[0]).stage();
}

class Interleaving final : public Cursor {
 public:
  struct Numbers {
    int64_t cycle, block, parallel;
  };
  Interleaving(const Context& c, std::unique_ptr<Cursor> input, FunctionPtr function,
               Numbers n)
      : Cursor(c, "Interleave"),
        input_(std::move(input)),
        function_(std::move(function)),
        numbers_(n),
        open_(static_cast<size_t>(n.cycle)),
        turns_(n.parallel ? std::make_shared<Turns>(n.parallel) : nullptr) {}

 private:
  // A turn ends after `block` elements or when its dataset ends. A place of the cycle
  // that has become free is filled again when its turn comes.
  bool advance(Element& out) override {
    for (;;) {
      if (turns_ && !input_ended_) fill_all();
      auto& current = open_[place_];
      if (!current && !input_ended_) current = open_next();
      if (!current) {
        if (input_ended_ && none_open()) return false;
        move_on();
        continue;
      }
      if (in_block_ < numbers_.block) {
        if (current->next(out)) {
          ++in_block_;
          return true;
        }
        current.reset();
      }
      move_on();
    }
  }

  void move_on() {
    in_block_ = 0;
    place_ = (place_ + 1) % open_.size();
  }
  bool none_open() const {
    for (const auto& cursor : open_) {
      if (cursor) return false;
    }
    return true;
  }

  std::unique_ptr<Cursor> open_next() {
    Element element;
    if (!input_->next(element)) {
      input_ended_ = true;
      return nullptr;
    }
    const StagePtr stage = dataset_from(*function_, element, *context().draws);
    const Context inner = context().shared(open_.size() > 1 ? Context::Sharing::kBeside
                                                            : Context::Sharing::kAfter);
    if (!turns_) return stage->open(inner);
    return open_ahead(inner, *stage, numbers_.block, turns_);
  }
  // Before the first element all places of the cycle get a dataset, so that their threads
  // run side by side.
  void fill_all() {
    if (filled_) return;
    filled_ = true;
    for (size_t i = 0; i < open_.size() && !input_ended_; ++i) {
      if (!open_[i]) open_[i] = open_next();
    }
  }

  const std::unique_ptr<Cursor> input_;
  const FunctionPtr function_;
  const Numbers numbers_;
  std::vector<std::unique_ptr<Cursor>> open_;
  const std::shared_ptr<Turns> turns_;
  size_t place_ = 0;
  int64_t in_block_ = 0;
  bool input_ended_ = false, filled_ = false;
};

class InterleaveStage final : public Stage {
 public:
  InterleaveStage(StagePtr input, FunctionPtr function, InterleaveStageOptions options,
                  std::vector<Component> components)
      : Stage("Interleave", std::move(components)),
        input_(std::move(input)),
        function_(std::move(function)),
        options_(std::move(options)) {}
  int64_t cardinality() const override {
    return input_->cardinality() == 0 ? 0 : kUnknown;
  }
  std::unique_ptr<Cursor> make_cursor(const Context& context) const override {
    Interleaving::Numbers n{options_.cycle_length.get(), options_.block_length.get(), 0};
    if (n.cycle < 0) n.cycle = resolve_parallelism(kAutotune);
    // Datasets that draw from one sequence while their threads work ahead would share it
    // as the threads happen to run.
    const bool in_turn = config::op_determinism_enabled() && function_->random();
    if (options_.num_parallel_calls && !in_turn) {
      n.parallel = resolve_parallelism(options_.num_parallel_calls);
    }
    return std::make_unique<Interleaving>(context, input_->open(context), function_, n);
  }
  StagePtr substitute(const Substitution& s) const override {
    InterleaveStageOptions options = options_;
    options.cycle_length = options.cycle_length.substitute(s);
    options.block_length = options.block_length.substitute(s);
    return make_interleave(input_->substitute(s), function_->substitute(s), options,
                           components());
  }

 private:
  const StagePtr input_;
  const FunctionPtr function_;
  const InterleaveStageOptions options_;
};

}  // namespace

StagePtr make_interleave(StagePtr input, FunctionPtr function,
                         InterleaveStageOptions options,
                         std::vector<Component> components) {
  if (options.cycle_length.value_or(1) == 0 || options.cycle_length.value_or(1) < -1) {
    throw InvalidArgumentError(fmt::format(
        "InterleaveDataset: cycle_length must be greater than zero, it is {}.",
        options.cycle_length.get()));
  }
  if (options.block_length.value_or(1) < 1) {
    throw InvalidArgumentError(fmt::format(
        "InterleaveDataset: block_length must be greater than zero, it is {}.",
        options.block_length.get()));
  }
  return std::make_shared<InterleaveStage>(std::move(input), std::move(function),
                                           std::move(options), std::move(components));
}

StagePtr make_flat_map(StagePtr input, FunctionPtr function,
                       std::vector<Component> components) {
  return make_interleave(std::move(input), std::move(function), {.cycle_length = 1},
                         std::move(components));
}

}  // namespace tandem::data
