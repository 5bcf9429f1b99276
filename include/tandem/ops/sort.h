// Sorting and searching along an axis. NaN counts as larger than every number, so
// ascending order ends with it. Of equal elements the one with the lower index comes
// first, in both directions.
#pragma once

#include <array>
#include <span>
#include <string_view>

#include "tandem/ops/attrs.h"
#include "tandem/tensor.h"

namespace tandem {

enum class Direction { kAscending, kDescending };
inline std::span<const std::string_view> attr_names(Direction) {
  static constexpr std::array<std::string_view, 2> kNames = {"ASCENDING", "DESCENDING"};
  return kNames;
}

struct SortAttrs {
  int64_t axis = -1;
  Direction direction = Direction::kAscending;
  /// Accepted for compatibility: the order is always stable.
  bool stable = false;
  TANDEM_ATTRS(SortAttrs, axis, direction, stable)
};
/// x sorted along an axis.
Tensor sort(const Tensor& x, SortAttrs attrs = {});
/// The int32 indices that sort x along an axis.
Tensor argsort(const Tensor& x, SortAttrs attrs = {});

struct TopKAttrs {
  bool sorted = true;  // largest first; the order is the same without
  DType index_type = DType::kInt32;
  TANDEM_ATTRS(TopKAttrs, sorted, index_type)
};
struct TopKResult {
  Tensor values;
  Tensor indices;
};
/// The k largest elements of the last dimension and where they are.
TopKResult top_k(const Tensor& x, int64_t k = 1, TopKAttrs attrs = {});
TopKResult top_k(const Tensor& x, const Tensor& k, TopKAttrs attrs = {});

/// Whether fewer than k predictions of a row [b, classes] exceed the target's. False for
/// targets out of range and rows with infinities or NaN.
Tensor in_top_k(const Tensor& targets, const Tensor& predictions, int64_t k);

struct NthElementAttrs {
  bool reverse = false;  // n-th largest
  TANDEM_ATTRS(NthElementAttrs, reverse)
};
/// The n-th smallest value (from 0) of the last dimension.
Tensor nth_element(const Tensor& x, int64_t n, NthElementAttrs attrs = {});

/// Of the ops LowerBound and UpperBound.
struct BoundAttrs {
  DType out_type = DType::kInt32;
  TANDEM_ATTRS(BoundAttrs, out_type)
};
enum class SearchSide { kLeft, kRight };
struct SearchSortedOptions {
  SearchSide side = SearchSide::kLeft;
  DType out_type = DType::kInt32;
};
/// For each value the place in the last dimension of `sorted` at which it could be
/// inserted and keep the order: before equal elements (left) or after them (right).
/// Leading dimensions are equal.
Tensor searchsorted(const Tensor& sorted, const Tensor& values,
                    SearchSortedOptions options = {});

}  // namespace tandem
