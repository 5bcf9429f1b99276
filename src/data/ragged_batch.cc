// ragged_batch: components whose first dimension differs become the joined rows of all
// elements and where each element's begin, the parts of a ragged tensor.
#include <fmt/format.h>

#include "data/stack.h"
#include "data/stages.h"
#include "tensor/tensor_impl.h"

namespace tandem::data {

namespace {

std::vector<Component> ragged_components(const std::vector<Component>& components,
                                         const std::vector<bool>& ragged, int64_t rows) {
  std::vector<Component> result;
  for (size_t i = 0; i < components.size(); ++i) {
    Component c = components[i];
    if (!ragged[i]) {
      if (c.shape.has_rank()) c.shape.insert(0, rows);
      result.push_back(c);
      continue;
    }
    result.push_back(c);
    result.push_back({DType::kInt64, Shape{rows < 0 ? kUnknownDim : rows + 1}});
  }
  return result;
}

Tensor splits_of(const std::vector<Element>& elements, size_t c) {
  std::vector<int64_t> splits = {0};
  for (const Element& e : elements) splits.push_back(splits.back() + e[c].dim(0));
  return make_host_ints(splits);
}

class RaggedBatchStage final : public Stage {
 public:
  RaggedBatchStage(StagePtr input, Size size, bool drop, std::vector<bool> ragged)
      : Stage("RaggedBatch",
              ragged_components(input->components(), ragged,
                                drop ? size.value_or(kUnknownDim) : kUnknownDim)),
        input_(std::move(input)),
        size_(std::move(size)),
        drop_(drop),
        ragged_(std::move(ragged)) {
    if (size_.value_or(1) < 1) {
      throw InvalidArgumentError("ragged_batch: Batch size must be greater than zero.");
    }
  }
  int64_t cardinality() const override {
    const int64_t n = input_->cardinality();
    if (!is_number(n)) return n;
    if (!size_.known()) return kUnknown;
    return n / size_.get() + (n % size_.get() != 0 && !drop_);
  }

  std::unique_ptr<Cursor> open(const Context& context) const override {
    struct Batching final : Cursor {
      Batching(const Context& c, std::unique_ptr<Cursor> from, int64_t n, bool d,
               std::vector<bool> r)
          : Cursor(c, "RaggedBatch"),
            input(std::move(from)),
            size(n),
            drop(d),
            ragged(std::move(r)) {}
      bool advance(Element& out) override {
        std::vector<Element> elements;
        Element element;
        while (static_cast<int64_t>(elements.size()) < size && input->next(element)) {
          elements.push_back(std::move(element));
          element.clear();
        }
        const bool full = static_cast<int64_t>(elements.size()) == size;
        if (elements.empty() || (!full && drop)) return false;
        out.clear();
        for (size_t c = 0; c < ragged.size(); ++c) {
          std::vector<Element> column;
          for (const Element& e : elements) column.push_back({e[c]});
          out.push_back(ragged[c] ? concatenate(column)[0] : stack(column)[0]);
          if (ragged[c]) out.push_back(splits_of(elements, c));
        }
        return true;
      }
      const std::unique_ptr<Cursor> input;
      const int64_t size;
      const bool drop;
      const std::vector<bool> ragged;
    };
    return std::make_unique<Batching>(context, input_->open(context), size_.get(), drop_,
                                      ragged_);
  }
  StagePtr substitute(const Substitution& s) const override {
    return make_ragged_batch(input_->substitute(s), size_.substitute(s), drop_, ragged_);
  }

 private:
  const StagePtr input_;
  const Size size_;
  const bool drop_;
  const std::vector<bool> ragged_;
};

}  // namespace

StagePtr make_ragged_batch(StagePtr input, Size batch_size, bool drop_remainder,
                           std::vector<bool> ragged) {
  return std::make_shared<RaggedBatchStage>(std::move(input), std::move(batch_size),
                                            drop_remainder, std::move(ragged));
}

}  // namespace tandem::data
