// ragged_batch: components whose first dimension differs become the joined rows of all
// elements and where each element's begin, the parts of a ragged tensor.
#include <fmt/format.h>

#include "data/batching.h"
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

class RaggedBatchStage final : public BatchingStage {
 public:
  RaggedBatchStage(const StagePtr& input, const Size& size, bool drop,
                   std::vector<bool> ragged)
      : BatchingStage(
            "RaggedBatch",
            ragged_components(input->components(), ragged, known_rows(size, drop)), input,
            size, drop),
        ragged_(std::move(ragged)) {
    if (size_.value_or(1) < 1) {
      throw InvalidArgumentError("ragged_batch: Batch size must be greater than zero.");
    }
  }
  std::unique_ptr<Cursor> make_cursor(const Context& context) const override {
    struct Batching final : Cursor {
      Batching(const Context& c, std::unique_ptr<Cursor> from, int64_t n, bool d,
               std::vector<bool> r)
          : Cursor(c, "RaggedBatch"),
            input(std::move(from)),
            size(n),
            drop(d),
            ragged(std::move(r)) {}
      bool advance(Element& out) override {
        if (!collect(*input, size, drop, elements)) return false;
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
      std::vector<Element> elements;
    };
    return std::make_unique<Batching>(context, input_->open(context), size_.get(), drop_,
                                      ragged_);
  }
  StagePtr substitute(const Substitution& s) const override {
    return make_ragged_batch(input_->substitute(s), size_.substitute(s), drop_, ragged_);
  }

 private:
  const std::vector<bool> ragged_;
};

}  // namespace

StagePtr make_ragged_batch(StagePtr input, Size batch_size, bool drop_remainder,
                           std::vector<bool> ragged) {
  return std::make_shared<RaggedBatchStage>(input, batch_size, drop_remainder,
                                            std::move(ragged));
}

}  // namespace tandem::data
