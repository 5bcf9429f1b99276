// zip, concatenate and choose: several datasets as one.
#include <algorithm>

#include <fmt/format.h>

#include "data/element_function.h"
#include "data/stages.h"
#include "tandem/device.h"

namespace tandem::data {

namespace {

std::vector<StagePtr> substituted(const std::vector<StagePtr>& inputs,
                                  const Substitution& s) {
  std::vector<StagePtr> result;
  for (const StagePtr& input : inputs) result.push_back(input->substitute(s));
  return result;
}

// Whether two of them, or one dataset that stands there twice, draw from one sequence.
bool draw_together(const std::vector<StagePtr>& inputs) {
  std::vector<const void*> all;
  for (const StagePtr& input : inputs) {
    std::vector<const void*> own = random_sources(*input);
    own.erase(std::unique(own.begin(), own.end()), own.end());
    all.insert(all.end(), own.begin(), own.end());
  }
  std::sort(all.begin(), all.end());
  return std::adjacent_find(all.begin(), all.end()) != all.end();
}

std::vector<std::unique_ptr<Cursor>> open_all(const std::vector<StagePtr>& inputs,
                                              const Context& c) {
  const bool beside = config::op_determinism_enabled() && draw_together(inputs);
  const Context inner = beside ? c.shared(Context::Sharing::kBeside) : c;
  std::vector<std::unique_ptr<Cursor>> result;
  for (const StagePtr& input : inputs) result.push_back(input->open(inner));
  return result;
}

std::vector<Component> joined(const std::vector<StagePtr>& inputs) {
  std::vector<Component> result;
  for (const StagePtr& input : inputs) {
    if (input->components().empty()) return {};
    result.insert(result.end(), input->components().begin(), input->components().end());
  }
  return result;
}

class ZipStage final : public Stage {
 public:
  explicit ZipStage(std::vector<StagePtr> inputs)
      : Stage("Zip", joined(inputs)), inputs_(std::move(inputs)) {}
  int64_t cardinality() const override {
    int64_t result = kInfinite;
    for (const StagePtr& input : inputs_) {
      const int64_t n = input->cardinality();
      if (n == kUnknown) return kUnknown;
      if (is_number(n)) result = is_number(result) ? std::min(result, n) : n;
    }
    return result;
  }
  std::unique_ptr<Cursor> make_cursor(const Context& context) const override {
    struct Zipping final : Cursor {
      Zipping(const Context& c, std::vector<std::unique_ptr<Cursor>> from)
          : Cursor(c, "Zip"), inputs(std::move(from)) {}
      bool advance(Element& out) override {
        out.clear();
        // As in TensorFlow an error of one input does not keep the others from advancing.
        std::exception_ptr error;
        for (const auto& input : inputs) {
          try {
            if (!input->next(part)) return false;
          } catch (...) {
            if (!error) error = std::current_exception();
          }
          out.insert(out.end(), part.begin(), part.end());
        }
        if (error) std::rethrow_exception(error);
        return !inputs.empty();
      }
      const std::vector<std::unique_ptr<Cursor>> inputs;
      Element part;
    };
    return std::make_unique<Zipping>(context, open_all(inputs_, context));
  }
  StagePtr substitute(const Substitution& s) const override {
    return make_zip(substituted(inputs_, s));
  }

 private:
  const std::vector<StagePtr> inputs_;
};

// What both say, or as much as holds for both.
std::vector<Component> common(const Stage& a, const Stage& b) {
  std::vector<Component> result = a.components();
  if (result.size() != b.components().size()) return {};
  for (size_t i = 0; i < result.size(); ++i) {
    const Shape& other = b.components()[i].shape;
    Shape& shape = result[i].shape;
    if (shape.rank() != other.rank()) {
      shape = Shape::unknown();
      continue;
    }
    for (int d = 0; d < shape.rank(); ++d) {
      if (shape[d] != other[d]) shape.set(d, kUnknownDim);
    }
  }
  return result;
}

class ConcatenateStage final : public Stage {
 public:
  ConcatenateStage(StagePtr first, StagePtr second)
      : Stage("Concatenate", common(*first, *second)),
        first_(std::move(first)),
        second_(std::move(second)) {}
  int64_t cardinality() const override {
    const int64_t a = first_->cardinality(), b = second_->cardinality();
    if (a == kInfinite || b == kInfinite) return kInfinite;
    return a == kUnknown || b == kUnknown ? kUnknown : a + b;
  }
  std::unique_ptr<Cursor> make_cursor(const Context& context) const override {
    struct Concatenating final : Cursor {
      Concatenating(const Context& c, const Stage& a, StagePtr b)
          : Cursor(c, "Concatenate"),
            current(a.open(c.shared(Context::Sharing::kAfter))),
            then(std::move(b)) {}
      bool advance(Element& out) override {
        if (current->next(out)) return true;
        if (!then) return false;
        current = then->open(context().shared(Context::Sharing::kAfter));
        then.reset();
        return current->next(out);
      }
      std::unique_ptr<Cursor> current;
      StagePtr then;
    };
    return std::make_unique<Concatenating>(context, *first_, second_);
  }
  StagePtr substitute(const Substitution& s) const override {
    return make_concatenate(first_->substitute(s), second_->substitute(s));
  }

 private:
  const StagePtr first_, second_;
};

class ChooseStage final : public Stage {
 public:
  ChooseStage(StagePtr selector, std::vector<StagePtr> inputs, bool stop)
      : Stage("DirectedInterleave", inputs[0]->components()),
        selector_(std::move(selector)),
        inputs_(std::move(inputs)),
        stop_(stop) {}
  int64_t cardinality() const override {
    for (const StagePtr& input : inputs_) {
      if (input->cardinality() == kInfinite) return kInfinite;
    }
    return kUnknown;
  }
  std::unique_ptr<Cursor> make_cursor(const Context& context) const override {
    struct Choosing final : Cursor {
      Choosing(const Context& c, const Stage& s, const std::vector<StagePtr>& in,
               bool stop_on_empty)
          : Cursor(c, "DirectedInterleave"),
            selector(s.open(c)),
            inputs(open_all(in, c)),
            left(inputs.size()),
            stop(stop_on_empty) {}
      bool advance(Element& out) override {
        Element choice;
        while (left > 0) {
          if (!selector->next(choice)) return false;
          const auto which = static_cast<size_t>(choice.at(0).item<int64_t>());
          if (which >= inputs.size()) {
            throw InvalidArgumentError(fmt::format(
                "Selector index out of range: {} >= {}.", which, inputs.size()));
          }
          if (!inputs[which]) continue;
          if (inputs[which]->next(out)) return true;
          if (stop) return false;
          inputs[which].reset();
          --left;
        }
        return false;
      }
      const std::unique_ptr<Cursor> selector;
      std::vector<std::unique_ptr<Cursor>> inputs;  // null: ended
      size_t left;
      const bool stop;
    };
    return std::make_unique<Choosing>(context, *selector_, inputs_, stop_);
  }
  StagePtr substitute(const Substitution& s) const override {
    return make_choose(selector_->substitute(s), substituted(inputs_, s), stop_);
  }

 private:
  const StagePtr selector_;
  const std::vector<StagePtr> inputs_;
  const bool stop_;
};

}  // namespace

StagePtr make_zip(std::vector<StagePtr> inputs) {
  return std::make_shared<ZipStage>(std::move(inputs));
}
StagePtr make_concatenate(StagePtr first, StagePtr second) {
  return std::make_shared<ConcatenateStage>(std::move(first), std::move(second));
}
StagePtr make_choose(StagePtr selector, std::vector<StagePtr> inputs,
                     bool stop_on_empty) {
  return std::make_shared<ChooseStage>(std::move(selector), std::move(inputs),
                                       stop_on_empty);
}

}  // namespace tandem::data
