// map, filter, take_while, scan and reduce: the user's functions on the thread that asks
// for the element. parallel_map.cc has the map with workers.
#include <fmt/format.h>

#include "data/parallel_map.h"
#include "data/stages.h"
#include "tandem/device.h"

namespace tandem::data {

namespace {

class MapStage final : public Stage {
 public:
  MapStage(StagePtr input, FunctionPtr function, MapStageOptions options)
      : Stage(options.num_parallel_calls ? "ParallelMap" : "Map", options.components),
        input_(std::move(input)),
        function_(std::move(function)),
        options_(std::move(options)) {}
  int64_t cardinality() const override { return input_->cardinality(); }

  std::unique_ptr<Cursor> make_cursor(const Context& context) const override {
    // Calls whose effects depend on their order run in it, and no further than they are
    // asked for, where every run has to be the same.
    const bool determinism = config::op_determinism_enabled();
    const bool beside =
        context.sharing == Context::Sharing::kBeside && function_->random();
    const bool in_turn = determinism && (beside || function_->ordered());
    if (options_.num_parallel_calls != 0 && !in_turn) {
      return open_parallel_map(context, *input_, function_,
                               resolve_parallelism(options_.num_parallel_calls),
                               options_.deterministic || determinism);
    }
    struct Mapping final : Cursor {
      Mapping(const Context& c, std::unique_ptr<Cursor> from, FunctionPtr f)
          : Cursor(c, "Map"), input(std::move(from)), function(std::move(f)) {}
      bool advance(Element& out) override {
        if (!input->next(given)) return false;
        out = (*function)(given, *context().draws);
        return true;
      }
      const std::unique_ptr<Cursor> input;
      const FunctionPtr function;
      Element given;
    };
    return std::make_unique<Mapping>(context, input_->open(context), function_);
  }
  StagePtr substitute(const Substitution& s) const override {
    return make_map(input_->substitute(s), function_->substitute(s), options_);
  }

 private:
  const StagePtr input_;
  const FunctionPtr function_;
  const MapStageOptions options_;
};

class FilterStage final : public Stage {
 public:
  FilterStage(StagePtr input, FunctionPtr predicate, bool stop)
      : Stage(stop ? "TakeWhile" : "Filter", input->components()),
        input_(std::move(input)),
        predicate_(std::move(predicate)),
        stop_(stop) {}
  int64_t cardinality() const override {
    return input_->cardinality() == 0 ? 0 : kUnknown;
  }

  std::unique_ptr<Cursor> make_cursor(const Context& context) const override {
    struct Filtering final : Cursor {
      Filtering(const Context& c, std::unique_ptr<Cursor> from, FunctionPtr f, bool s)
          : Cursor(c, s ? "TakeWhile" : "Filter"),
            input(std::move(from)),
            predicate(std::move(f)),
            stop(s) {}
      bool advance(Element& out) override {
        while (input->next(out)) {
          if (truth_of((*predicate)(out, *context().draws),
                       stop ? "take_while" : "filter"))
            return true;
          if (stop) return false;
        }
        return false;
      }
      const std::unique_ptr<Cursor> input;
      const FunctionPtr predicate;
      const bool stop;
    };
    return std::make_unique<Filtering>(context, input_->open(context), predicate_, stop_);
  }
  StagePtr substitute(const Substitution& s) const override {
    return std::make_shared<FilterStage>(input_->substitute(s), predicate_->substitute(s),
                                         stop_);
  }

 private:
  const StagePtr input_;
  const FunctionPtr predicate_;
  const bool stop_;
};

Element with_state(const Element& state, const Element& element) {
  Element all = state;
  all.insert(all.end(), element.begin(), element.end());
  return all;
}

class ScanStage final : public Stage {
 public:
  ScanStage(StagePtr input, Element state, FunctionPtr function,
            std::vector<Component> components)
      : Stage("Scan", std::move(components)),
        input_(std::move(input)),
        state_(std::move(state)),
        function_(std::move(function)) {}
  int64_t cardinality() const override { return input_->cardinality(); }

  std::unique_ptr<Cursor> make_cursor(const Context& context) const override {
    struct Scanning final : Cursor {
      Scanning(const Context& c, std::unique_ptr<Cursor> from, Element s, FunctionPtr f)
          : Cursor(c, "Scan"),
            input(std::move(from)),
            state(std::move(s)),
            function(std::move(f)) {}
      bool advance(Element& out) override {
        if (!input->next(given)) return false;
        Element results = (*function)(with_state(state, given), *context().draws);
        const auto middle = results.begin() + static_cast<std::ptrdiff_t>(state.size());
        out.assign(middle, results.end());
        state.assign(results.begin(), middle);
        return true;
      }
      const std::unique_ptr<Cursor> input;
      Element state;
      const FunctionPtr function;
      Element given;
    };
    return std::make_unique<Scanning>(context, input_->open(context), state_, function_);
  }
  StagePtr substitute(const Substitution& s) const override {
    Element state;
    for (const Tensor& t : state_) state.push_back(substituted(t, s));
    return make_scan(input_->substitute(s), std::move(state), function_->substitute(s),
                     components());
  }

 private:
  const StagePtr input_;
  const Element state_;
  const FunctionPtr function_;
};

}  // namespace

StagePtr make_map(StagePtr input, FunctionPtr function, MapStageOptions options) {
  if (options.num_parallel_calls < kAutotune) {
    throw InvalidArgumentError(fmt::format(
        "ParallelMapDataset: num_parallel_calls must be greater than zero or AUTOTUNE, "
        "it is {}.",
        options.num_parallel_calls));
  }
  return std::make_shared<MapStage>(std::move(input), std::move(function),
                                    std::move(options));
}
StagePtr make_filter(StagePtr input, FunctionPtr predicate) {
  return std::make_shared<FilterStage>(std::move(input), std::move(predicate), false);
}
StagePtr make_take_while(StagePtr input, FunctionPtr predicate) {
  return std::make_shared<FilterStage>(std::move(input), std::move(predicate), true);
}
StagePtr make_scan(StagePtr input, Element state, FunctionPtr function,
                   std::vector<Component> components) {
  return std::make_shared<ScanStage>(std::move(input), std::move(state),
                                     std::move(function), std::move(components));
}

void reduce(const Stage& input, const std::shared_ptr<Cancellation>& cancellation,
            Element& state, const UserFunction& function) {
  const Context context{cancellation};
  const std::unique_ptr<Cursor> cursor = input.open(context);
  Element element;
  while (cursor->next(element)) {
    state = function(with_state(state, element), *context.draws);
  }
}

}  // namespace tandem::data
