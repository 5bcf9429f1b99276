// cache in memory, ignore_errors, unique, copies to a device and a promised cardinality.
#include <unordered_set>

#include <fmt/format.h>

#include "base/log.h"
#include "data/stages.h"
#include "tensor/tensor_impl.h"

namespace tandem::data {

namespace {

// The elements of the first complete pass; shared by all passes over the dataset.
struct Kept {
  std::mutex mutex;
  std::shared_ptr<const std::vector<Element>> elements;  // null: not complete yet
};

class CacheStage final : public Stage {
 public:
  explicit CacheStage(StagePtr input)
      : Stage("Cache", input->components()), input_(std::move(input)) {}
  int64_t cardinality() const override { return input_->cardinality(); }

  std::unique_ptr<Cursor> make_cursor(const Context& context) const override {
    struct Writing final : Cursor {
      Writing(const Context& c, std::unique_ptr<Cursor> from, std::shared_ptr<Kept> k)
          : Cursor(c, "Cache"), input(std::move(from)), kept(std::move(k)) {}
      bool advance(Element& out) override {
        if (input->next(out)) {
          elements.push_back(out);
          return true;
        }
        const std::lock_guard lock(kept->mutex);
        if (!kept->elements) {
          kept->elements =
              std::make_shared<const std::vector<Element>>(std::move(elements));
        }
        return false;
      }
      const std::unique_ptr<Cursor> input;
      const std::shared_ptr<Kept> kept;
      std::vector<Element> elements;
    };
    {
      const std::lock_guard lock(kept_->mutex);
      if (kept_->elements) return make_elements(*kept_->elements, {})->open(context);
    }
    return std::make_unique<Writing>(context, input_->open(context), kept_);
  }
  StagePtr substitute(const Substitution& s) const override {
    const StagePtr input = input_->substitute(s);
    if (input == input_) return shared_from_this();
    return make_cache(input);
  }

 private:
  const StagePtr input_;
  const std::shared_ptr<Kept> kept_ = std::make_shared<Kept>();
};

class IgnoreErrorsStage final : public Stage {
 public:
  IgnoreErrorsStage(StagePtr input, bool log)
      : Stage("IgnoreErrors", input->components()), input_(std::move(input)), log_(log) {}
  std::unique_ptr<Cursor> make_cursor(const Context& context) const override {
    struct Ignoring final : Cursor {
      Ignoring(const Context& c, std::unique_ptr<Cursor> from, bool l)
          : Cursor(c, "IgnoreErrors"), input(std::move(from)), log_it(l) {}
      bool advance(Element& out) override {
        for (;;) {
          try {
            return input->next(out);
          } catch (const Error& e) {
            context().cancellation->check();
            if (log_it) {
              logging::warn(fmt::format("Error raised with error message {}", e.what()));
            }
          }
        }
      }
      const std::unique_ptr<Cursor> input;
      const bool log_it;
    };
    return std::make_unique<Ignoring>(context, input_->open(context), log_);
  }
  StagePtr substitute(const Substitution& s) const override {
    return make_ignore_errors(input_->substitute(s), log_);
  }

 private:
  const StagePtr input_;
  const bool log_;
};

class UniqueStage final : public Stage {
 public:
  explicit UniqueStage(StagePtr input)
      : Stage("Unique", input->components()), input_(std::move(input)) {}
  std::unique_ptr<Cursor> make_cursor(const Context& context) const override {
    struct Choosing final : Cursor {
      Choosing(const Context& c, std::unique_ptr<Cursor> from)
          : Cursor(c, "Unique"), input(std::move(from)) {}
      bool advance(Element& out) override {
        while (input->next(out)) {
          if (seen.insert(contents(out.at(0))).second) return true;
        }
        return false;
      }
      static std::string contents(const Tensor& t) {
        const Tensor host = t.to_host();
        std::string all = host.shape().str();
        if (host.dtype() == DType::kString) {
          for (const std::string& s : host.to_vector<std::string>()) {
            all += fmt::format("{}:", s.size()) + s;
          }
        } else {
          all.append(static_cast<const char*>(host.host_data()), host.impl()->bytes());
        }
        return all;
      }
      const std::unique_ptr<Cursor> input;
      std::unordered_set<std::string> seen;
    };
    return std::make_unique<Choosing>(context, input_->open(context));
  }
  StagePtr substitute(const Substitution& s) const override {
    return make_unique(input_->substitute(s));
  }

 private:
  const StagePtr input_;
};

class CardinalityStage final : public Stage {
 public:
  CardinalityStage(StagePtr input, Size expected)
      : Stage("AssertCardinality", input->components()),
        input_(std::move(input)),
        expected_(std::move(expected)) {}
  int64_t cardinality() const override { return expected_.value_or(kUnknown); }
  std::unique_ptr<Cursor> make_cursor(const Context& context) const override {
    struct Counting final : Cursor {
      Counting(const Context& c, std::unique_ptr<Cursor> from, int64_t n)
          : Cursor(c, "AssertCardinality"), input(std::move(from)), expected(n) {}
      bool advance(Element& out) override {
        if (over) return false;
        const bool more = input->next(out);
        count += more;
        // Its error comes once: who ignores errors would get it for ever.
        over = !more;
        const bool wrong =
            expected == kInfinite
                ? !more
                : expected >= 0 && (count > expected || (!more && count < expected));
        if (!wrong) return more;
        throw FailedPreconditionError(
            fmt::format("Input dataset was expected to contain {} but contained {}{}.",
                        expected == kInfinite ? "an infinite number of elements"
                                              : fmt::format("{} elements", expected),
                        more ? "at least " : "only ",
                        fmt::format("{} element{}", count, count == 1 ? "" : "s")));
      }
      const std::unique_ptr<Cursor> input;
      const int64_t expected;
      int64_t count = 0;
      bool over = false;
    };
    return std::make_unique<Counting>(context, input_->open(context), expected_.get());
  }
  StagePtr substitute(const Substitution& s) const override {
    return make_assert_cardinality(input_->substitute(s), expected_.substitute(s));
  }

 private:
  const StagePtr input_;
  const Size expected_;
};

}  // namespace

StagePtr make_cache(StagePtr input) {
  return std::make_shared<CacheStage>(std::move(input));
}
StagePtr make_ignore_errors(StagePtr input, bool log_warning) {
  return std::make_shared<IgnoreErrorsStage>(std::move(input), log_warning);
}
StagePtr make_unique(StagePtr input) {
  return std::make_shared<UniqueStage>(std::move(input));
}
StagePtr make_assert_cardinality(StagePtr input, Size expected) {
  return std::make_shared<CardinalityStage>(std::move(input), std::move(expected));
}
StagePtr make_copy_to_device(StagePtr input, std::string device) {
  std::vector<Component> components = input->components();
  return make_map(std::move(input),
                  make_callable(
                      [device = std::move(device)](std::span<const Tensor> e) {
                        Element copies;
                        for (const Tensor& t : e) {
                          const bool stays =
                              t.dtype() == DType::kString || t.dtype() == DType::kVariant;
                          copies.push_back(stays ? t : t.to(device));
                        }
                        return copies;
                      },
                      false),
                  {0, true, std::move(components)});
}

}  // namespace tandem::data
