// from_tensor_slices: rows of arrays, as elements or by number.
#include "data/array_rows.h"
#include "data/stages.h"
#include "tensor/tensor_impl.h"

namespace tandem::data {

namespace {

std::vector<Component> array_row_components(const std::vector<Tensor>& arrays) {
  std::vector<Component> result;
  for (const Tensor& t : arrays) {
    const Shape& shape = t.shape();
    result.push_back({t.dtype(), shape.has_rank() && shape.rank() > 0
                                     ? shape.slice(1, shape.rank())
                                     : Shape::unknown()});
  }
  return result;
}

class ArrayStage final : public Stage {
 public:
  explicit ArrayStage(std::shared_ptr<const ArrayRows> rows)
      : Stage("FromTensorSlices", array_row_components(rows->arrays())),
        rows_(std::move(rows)) {}
  int64_t cardinality() const override { return rows_->rows(); }

  std::unique_ptr<Cursor> make_cursor(const Context& context) const override {
    struct Rows final : Cursor {
      Rows(const Context& c, std::shared_ptr<const ArrayRows> r)
          : Cursor(c, "FromTensorSlices"), rows(std::move(r)) {}
      bool advance(Element& out) override {
        if (next_row == rows->rows()) return false;
        out = rows->row(next_row++);
        return true;
      }
      const std::shared_ptr<const ArrayRows> rows;
      int64_t next_row = 0;
    };
    return std::make_unique<Rows>(context, rows_);
  }

  std::unique_ptr<RowCursor> open_rows(const Context&) const override {
    struct Numbers final : RowCursor {
      explicit Numbers(std::shared_ptr<const ArrayRows> r) : rows(std::move(r)) {}
      const std::shared_ptr<const ArrayRows>& arrays() const override { return rows; }
      bool next(int64_t& row) override {
        if (next_row == rows->rows()) return false;
        row = next_row++;
        return true;
      }
      const std::shared_ptr<const ArrayRows> rows;
      int64_t next_row = 0;
    };
    return std::make_unique<Numbers>(rows_);
  }
  StagePtr substitute(const Substitution&) const override { return shared_from_this(); }

 private:
  const std::shared_ptr<const ArrayRows> rows_;
};

// The same while its tensors belong to a trace.
class TracedArrayStage final : public Stage {
 public:
  explicit TracedArrayStage(std::vector<Tensor> arrays)
      : Stage("FromTensorSlices", array_row_components(arrays)),
        arrays_(std::move(arrays)) {}
  int64_t cardinality() const override {
    const Shape& shape = arrays_[0].shape();
    return shape.rank() > 0 && shape[0] >= 0 ? shape[0] : kUnknown;
  }
  std::unique_ptr<Cursor> make_cursor(const Context&) const override {
    throw InternalError(
        "A dataset of tensors of a traced function is iterated over outside it.");
  }
  StagePtr substitute(const Substitution& s) const override {
    std::vector<Tensor> arrays;
    for (const Tensor& t : arrays_) arrays.push_back(substituted(t, s));
    return make_array(std::move(arrays));
  }

 private:
  const std::vector<Tensor> arrays_;
};

}  // namespace

StagePtr make_array(std::vector<Tensor> arrays) {
  for (const Tensor& t : arrays) {
    if (t.impl()->symbolic) return std::make_shared<TracedArrayStage>(std::move(arrays));
  }
  return std::make_shared<ArrayStage>(
      std::make_shared<const ArrayRows>(std::move(arrays)));
}

}  // namespace tandem::data
