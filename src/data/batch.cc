// batch: stacks elements, or gathers rows of arrays when that is what its input is made
// of. With parallel calls, groups of elements are collected in order and stacked by
// workers.
#include <fmt/format.h>

#include "data/array_rows.h"
#include "data/batching.h"
#include "data/stack.h"
#include "data/stages.h"

namespace tandem::data {

namespace {

std::vector<Component> batched(const std::vector<Component>& components, int64_t rows) {
  std::vector<Component> result = components;
  for (Component& c : result) {
    if (c.shape.has_rank()) c.shape.insert(0, rows);
  }
  return result;
}

void check_size(const Size& size) {
  if (size.value_or(1) < 1) {
    throw InvalidArgumentError(fmt::format(
        "BatchDataset: Batch size must be greater than zero. It is {}.", size.get()));
  }
}

class BatchCursor final : public Cursor {
 public:
  BatchCursor(const Context& c, std::unique_ptr<Cursor> input, int64_t size, bool drop)
      : Cursor(c, "Batch"), input_(std::move(input)), size_(size), drop_(drop) {}

 private:
  bool advance(Element& out) override {
    if (!collect(*input_, size_, drop_, elements_)) return false;
    out = stack(elements_);
    return true;
  }
  const std::unique_ptr<Cursor> input_;
  const int64_t size_;
  const bool drop_;
  std::vector<Element> elements_;
};

class GatherCursor final : public Cursor {
 public:
  GatherCursor(const Context& c, std::unique_ptr<RowCursor> input, int64_t size,
               bool drop)
      : Cursor(c, "GatherBatch"), input_(std::move(input)), size_(size), drop_(drop) {}

 private:
  bool advance(Element& out) override {
    rows_.clear();
    int64_t row = 0;
    while (static_cast<int64_t>(rows_.size()) < size_ && input_->next(row)) {
      rows_.push_back(row);
    }
    const bool full = static_cast<int64_t>(rows_.size()) == size_;
    if (rows_.empty() || (!full && drop_)) return false;
    out = input_->arrays()->gather(rows_);
    return true;
  }
  const std::unique_ptr<RowCursor> input_;
  const int64_t size_;
  const bool drop_;
  std::vector<int64_t> rows_;
};

class BatchStage final : public BatchingStage {
 public:
  BatchStage(const StagePtr& input, const Size& size, bool drop)
      : BatchingStage("Batch", batched(input->components(), known_rows(size, drop)),
                      input, size, drop) {
    check_size(size_);
  }
  std::unique_ptr<Cursor> make_cursor(const Context& c) const override {
    if (auto rows = input_->open_rows(c)) {
      return std::make_unique<GatherCursor>(c, std::move(rows), size_.get(), drop_);
    }
    return std::make_unique<BatchCursor>(c, input_->open(c), size_.get(), drop_);
  }
  StagePtr substitute(const Substitution& s) const override {
    return make_batch(input_->substitute(s), size_.substitute(s), drop_);
  }
};

// The elements of a batch as one element: their components one after the other.
class GroupStage final : public BatchingStage {
 public:
  GroupStage(StagePtr input, Size size, bool drop)
      : BatchingStage("Group", {}, std::move(input), std::move(size), drop) {
    check_size(size_);
  }
  std::unique_ptr<Cursor> make_cursor(const Context& context) const override {
    struct Grouping final : Cursor {
      Grouping(const Context& c, std::unique_ptr<Cursor> from, int64_t n, bool d)
          : Cursor(c, "Group"), input(std::move(from)), size(n), drop(d) {}
      bool advance(Element& out) override {
        if (!collect(*input, size, drop, elements)) return false;
        out.clear();
        for (Element& e : elements) {
          for (Tensor& t : e) out.push_back(std::move(t));
        }
        return true;
      }
      const std::unique_ptr<Cursor> input;
      const int64_t size;
      const bool drop;
      std::vector<Element> elements;
    };
    return std::make_unique<Grouping>(context, input_->open(context), size_.get(), drop_);
  }
  StagePtr substitute(const Substitution& s) const override {
    return std::make_shared<GroupStage>(input_->substitute(s), size_.substitute(s),
                                        drop_);
  }
};

}  // namespace

StagePtr make_batch(StagePtr input, Size batch_size, bool drop_remainder) {
  return std::make_shared<BatchStage>(input, batch_size, drop_remainder);
}

StagePtr make_parallel_batch(StagePtr input, Size batch_size, bool drop_remainder,
                             int64_t num_parallel_calls, bool deterministic) {
  const size_t width = input->components().size();
  const std::vector<Component> components =
      batched(input->components(), known_rows(batch_size, drop_remainder));
  auto groups = std::make_shared<GroupStage>(std::move(input), std::move(batch_size),
                                             drop_remainder);
  const auto stack_rows = [width](std::span<const Tensor> all) {
    std::vector<Element> elements;
    for (size_t i = 0; i < all.size(); i += width) {
      const auto part = all.subspan(i, width);
      elements.emplace_back(part.begin(), part.end());
    }
    return stack(elements);
  };
  auto stacked = make_callable(stack_rows, false);
  return make_map(std::move(groups), std::move(stacked),
                  {num_parallel_calls, deterministic, components});
}

}  // namespace tandem::data
