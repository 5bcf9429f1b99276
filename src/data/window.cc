// window: runs of elements as datasets of their own.
#include <deque>

#include <fmt/format.h>

#include "data/stages.h"

namespace tandem::data {

namespace {

class ElementsStage final : public Stage {
 public:
  ElementsStage(std::vector<Element> elements, std::vector<Component> components)
      : Stage("Elements", std::move(components)),
        elements_(std::make_shared<const std::vector<Element>>(std::move(elements))) {}
  int64_t cardinality() const override { return static_cast<int64_t>(elements_->size()); }
  std::unique_ptr<Cursor> make_cursor(const Context& context) const override {
    struct Listing final : Cursor {
      Listing(const Context& c, std::shared_ptr<const std::vector<Element>> e)
          : Cursor(c, "Elements"), elements(std::move(e)) {}
      bool advance(Element& out) override {
        if (at == elements->size()) return false;
        out = (*elements)[at++];
        return true;
      }
      const std::shared_ptr<const std::vector<Element>> elements;
      size_t at = 0;
    };
    return std::make_unique<Listing>(context, elements_);
  }
  StagePtr substitute(const Substitution&) const override { return shared_from_this(); }

 private:
  const std::shared_ptr<const std::vector<Element>> elements_;
};

class Windowing final : public Cursor {
 public:
  struct Numbers {
    int64_t size, shift, stride;
    bool drop;
  };
  Windowing(const Context& c, std::shared_ptr<const Stage> input, Numbers n)
      : Cursor(c, "Window"), stage_(std::move(input)), input_(stage_->open(c)), n_(n) {}

 private:
  // A window has one dataset per component, as TensorFlow's windows have.
  bool advance(Element& out) override {
    const int64_t reach = n_.size - 1 > (INT64_MAX - 1) / n_.stride
                              ? INT64_MAX  // more than there can be
                              : (n_.size - 1) * n_.stride + 1;
    Element element;
    while (!ended_ && static_cast<int64_t>(buffer_.size()) < reach) {
      if (skip_ > 0) {
        const int64_t passed = input_->pass_over(skip_);
        ended_ = passed == 0;
        skip_ -= passed;
        continue;
      }
      if (input_->next(element)) {
        buffer_.push_back(std::move(element));
        element.clear();
      } else {
        ended_ = true;
      }
    }
    const bool full = static_cast<int64_t>(buffer_.size()) >= reach;
    if (buffer_.empty() || (!full && n_.drop)) return false;
    give(out);
    const auto drop = std::min<int64_t>(n_.shift, static_cast<int64_t>(buffer_.size()));
    buffer_.erase(buffer_.begin(), buffer_.begin() + drop);
    skip_ = n_.shift - drop;
    return true;
  }

  void give(Element& out) {
    const size_t width = buffer_.front().size();
    out.clear();
    for (size_t c = 0; c < width; ++c) {
      std::vector<Element> column;
      const auto stride = static_cast<size_t>(n_.stride);
      size_t at = 0;
      for (int64_t i = 0; i < n_.size && at < buffer_.size(); ++i) {
        column.push_back({buffer_[at][c]});
        at = stride < buffer_.size() ? at + stride : buffer_.size();
      }
      std::vector<Component> components;
      if (c < stage_->components().size()) components = {stage_->components()[c]};
      out.push_back(dataset_tensor(
          Dataset(make_elements(std::move(column), std::move(components)))));
    }
  }

  const std::shared_ptr<const Stage> stage_;
  const std::unique_ptr<Cursor> input_;
  const Numbers n_;
  std::deque<Element> buffer_;
  int64_t skip_ = 0;
  bool ended_ = false;
};

std::vector<Component> datasets(size_t count) {
  return std::vector<Component>(count, {DType::kVariant, Shape{}});
}

class WindowStage final : public Stage {
 public:
  WindowStage(StagePtr input, WindowStageOptions options)
      : Stage("Window", datasets(input->components().size())),
        input_(std::move(input)),
        options_(std::move(options)) {
    const auto check = [](const Size& n, const char* what) {
      if (n.value_or(1) > 0) return;
      throw InvalidArgumentError(
          fmt::format("Window {} must be greater than zero.", what));
    };
    check(options_.size, "size");
    check(options_.shift, "shift");
    check(options_.stride, "stride");
  }
  int64_t cardinality() const override {
    const int64_t n = input_->cardinality();
    if (!is_number(n)) return n;
    if (!options_.size.known() || !options_.shift.known() || !options_.stride.known()) {
      return kUnknown;
    }
    const int64_t shift = options_.shift.get();
    if (!options_.drop_remainder) return n / shift + (n % shift != 0);
    const int64_t reach = (options_.size.get() - 1) * options_.stride.get() + 1;
    return n < reach ? 0 : (n - reach) / shift + 1;
  }
  std::unique_ptr<Cursor> make_cursor(const Context& context) const override {
    return std::make_unique<Windowing>(
        context, input_,
        Windowing::Numbers{options_.size.get(), options_.shift.get(),
                           options_.stride.get(), options_.drop_remainder});
  }
  StagePtr substitute(const Substitution& s) const override {
    return make_window(input_->substitute(s),
                       {options_.size.substitute(s), options_.shift.substitute(s),
                        options_.stride.substitute(s), options_.drop_remainder});
  }

 private:
  const StagePtr input_;
  const WindowStageOptions options_;
};

}  // namespace

StagePtr make_elements(std::vector<Element> elements, std::vector<Component> components) {
  return std::make_shared<ElementsStage>(std::move(elements), std::move(components));
}
StagePtr make_window(StagePtr input, WindowStageOptions options) {
  return std::make_shared<WindowStage>(std::move(input), std::move(options));
}

}  // namespace tandem::data
