// unbatch and rebatch: batches taken apart into rows, or into batches of other sizes.
#include <deque>

#include <fmt/format.h>

#include "data/stack.h"
#include "data/stages.h"

namespace tandem::data {

namespace {

std::vector<Component> with_rows(const std::vector<Component>& components, int64_t rows) {
  std::vector<Component> result = components;
  for (Component& c : result) {
    if (c.shape.rank() > 0) c.shape.set(0, rows);
  }
  return result;
}

std::vector<Component> row_components(const std::vector<Component>& components) {
  std::vector<Component> result = components;
  for (Component& c : result) {
    if (c.shape.rank() > 0) c.shape.erase(0);
  }
  return result;
}

class UnbatchStage final : public Stage {
 public:
  explicit UnbatchStage(StagePtr input)
      : Stage("Unbatch", row_components(input->components())), input_(std::move(input)) {
    for (const Component& c : input_->components()) {
      if (c.shape.rank() == 0) {
        throw ValueError("unbatch: Cannot unbatch an input with scalar components.");
      }
    }
  }
  int64_t cardinality() const override {
    const int64_t n = input_->cardinality();
    if (n <= 0) return n;
    for (const Component& c : input_->components()) {
      if (c.shape.rank() > 0 && c.shape[0] >= 0) return n * c.shape[0];
    }
    return kUnknown;
  }
  std::unique_ptr<Cursor> make_cursor(const Context& context) const override {
    struct Unbatching final : Cursor {
      Unbatching(const Context& c, std::unique_ptr<Cursor> from)
          : Cursor(c, "Unbatch"), input(std::move(from)) {}
      bool advance(Element& out) override {
        while (next_row == rows) {
          rows = next_row = 0;
          if (!input->next(batch)) return false;
          rows = batch_rows(batch, "unbatch");
        }
        out = row_of(batch, next_row++);
        return true;
      }
      const std::unique_ptr<Cursor> input;
      Element batch;
      int64_t rows = 0, next_row = 0;
    };
    return std::make_unique<Unbatching>(context, input_->open(context));
  }
  StagePtr substitute(const Substitution& s) const override {
    return make_unbatch(input_->substitute(s));
  }

 private:
  const StagePtr input_;
};

class RebatchStage final : public Stage {
 public:
  RebatchStage(StagePtr input, std::vector<int64_t> sizes, bool drop)
      : Stage("Rebatch", with_rows(input->components(),
                                   drop && sizes.size() == 1 ? sizes[0] : kUnknownDim)),
        input_(std::move(input)),
        sizes_(std::move(sizes)),
        drop_(drop) {}
  int64_t cardinality() const override {
    const int64_t n = input_->cardinality();
    if (!is_number(n)) return n;
    if (sizes_.size() != 1) return kUnknown;
    for (const Component& c : input_->components()) {
      if (c.shape.rank() > 0 && c.shape[0] >= 0) {
        const int64_t rows = n * c.shape[0];
        return rows / sizes_[0] + (rows % sizes_[0] != 0 && !drop_);
      }
    }
    return kUnknown;
  }

  std::unique_ptr<Cursor> make_cursor(const Context& context) const override {
    struct Rebatching final : Cursor {
      Rebatching(const Context& c, std::unique_ptr<Cursor> from, std::vector<int64_t> n,
                 bool d)
          : Cursor(c, "Rebatch"), input(std::move(from)), sizes(std::move(n)), drop(d) {}
      bool advance(Element& out) override {
        const int64_t size = sizes[turn++ % sizes.size()];
        std::vector<Element> parts;
        int64_t have = 0;
        while (have < size) {
          if (next_row == rows && !fetch()) break;
          const int64_t n = std::min(size - have, rows - next_row);
          if (n > 0) parts.push_back(rows_of(batch, next_row, next_row + n));
          next_row += n;
          have += n;
        }
        if (have == 0 || (have < size && drop)) return false;
        out = concatenate(parts);
        return true;
      }
      bool fetch() {
        rows = next_row = 0;
        if (!input->next(batch)) return false;
        rows = batch_rows(batch, "rebatch");
        return true;
      }
      const std::unique_ptr<Cursor> input;
      const std::vector<int64_t> sizes;
      const bool drop;
      Element batch;
      int64_t rows = 0, next_row = 0;
      size_t turn = 0;
    };
    return std::make_unique<Rebatching>(context, input_->open(context), sizes_, drop_);
  }
  StagePtr substitute(const Substitution& s) const override {
    return make_rebatch(input_->substitute(s), sizes_, drop_);
  }

 private:
  const StagePtr input_;
  const std::vector<int64_t> sizes_;
  const bool drop_;
};

}  // namespace

StagePtr make_unbatch(StagePtr input) {
  return std::make_shared<UnbatchStage>(std::move(input));
}

StagePtr make_rebatch(StagePtr input, std::vector<int64_t> batch_sizes,
                      bool drop_remainder) {
  if (batch_sizes.empty()) {
    throw InvalidArgumentError("RebatchDataset: batch_sizes must have an element.");
  }
  for (const int64_t n : batch_sizes) {
    if (n < 1) {
      throw InvalidArgumentError(
          fmt::format("RebatchDataset: batch sizes must be positive, one is {}.", n));
    }
  }
  return std::make_shared<RebatchStage>(std::move(input), std::move(batch_sizes),
                                        drop_remainder);
}

}  // namespace tandem::data
