// Indexing as in Python: index(x, {Index::slice(1, 3), Index::ellipsis(), 0}), and the op
// behind it, StridedSlice, with its masks.
#pragma once

#include <initializer_list>
#include <optional>
#include <vector>

#include "tandem/ops/attrs.h"
#include "tandem/tensor.h"

namespace tandem {

/// Bit i of a mask speaks of entry i of begin, end and strides.
struct StridedSliceAttrs {
  int64_t begin_mask = 0;        // from the first element
  int64_t end_mask = 0;          // to the last element
  int64_t ellipsis_mask = 0;     // as many whole dimensions as are left
  int64_t new_axis_mask = 0;     // a new dimension of size 1
  int64_t shrink_axis_mask = 0;  // one element, without its dimension
  TANDEM_ATTRS(StridedSliceAttrs, begin_mask, end_mask, ellipsis_mask, new_axis_mask,
               shrink_axis_mask)
};
/// x[begin:end:strides]; negative strides go backwards. A view when it is contiguous.
Tensor strided_slice(const Tensor& x, const Tensor& begin, const Tensor& end,
                     const Tensor& strides, StridedSliceAttrs attrs = {});
Tensor strided_slice(const Tensor& x, const Ints& begin, const Ints& end,
                     const Ints& strides, StridedSliceAttrs attrs = {});
/// x with x[begin:end:strides] replaced by `value`, which is broadcast to it.
Tensor tensor_strided_slice_update(const Tensor& x, const Tensor& begin,
                                   const Tensor& end, const Tensor& strides,
                                   const Tensor& value, StridedSliceAttrs attrs = {});

/// One entry of an index expression.
class Index {
 public:
  /// One element; its dimension goes away. A scalar integer tensor does the same.
  Index(int i) : Index(static_cast<int64_t>(i)) {}
  Index(int64_t i) : kind_(Kind::kAt), begin_(i) {}
  Index(Tensor i) : kind_(Kind::kAtTensor), tensor_(std::move(i)) {}
  /// begin:end:step, each optional.
  static Index slice(std::optional<int64_t> begin = {}, std::optional<int64_t> end = {},
                     int64_t step = 1) {
    Index x(Kind::kSlice);
    x.begin_ = begin.value_or(0);
    x.end_ = end.value_or(0);
    x.step_ = step;
    x.has_begin_ = begin.has_value();
    x.has_end_ = end.has_value();
    return x;
  }
  /// All of a dimension (":").
  static Index all() { return slice(); }
  /// A new dimension of size 1.
  static Index newaxis() { return Index(Kind::kNewAxis); }
  /// As many whole dimensions as are left ("...").
  static Index ellipsis() { return Index(Kind::kEllipsis); }

 private:
  friend Tensor index(const Tensor& x, const std::vector<Index>& entries);
  enum class Kind { kAt, kAtTensor, kSlice, kNewAxis, kEllipsis };
  explicit Index(Kind kind) : kind_(kind) {}
  Kind kind_;
  int64_t begin_ = 0, end_ = 0, step_ = 1;
  bool has_begin_ = false, has_end_ = false;
  Tensor tensor_;
};

/// x[entries…] as in Python.
Tensor index(const Tensor& x, const std::vector<Index>& entries);

}  // namespace tandem
