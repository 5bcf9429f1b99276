// RowCursor: a pass over rows of arrays by their numbers. Sources, shuffles, repeats and
// their like pass numbers on, so that a batch is gathered at once and no row ever becomes
// a tensor. Used by one thread at a time.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

namespace tandem::data {

class ArrayRows;

class RowCursor {
 public:
  RowCursor() = default;
  RowCursor(const RowCursor&) = delete;
  RowCursor& operator=(const RowCursor&) = delete;
  virtual ~RowCursor() = default;

  /// Whose rows the numbers are.
  virtual const std::shared_ptr<const ArrayRows>& arrays() const = 0;
  /// The next number, or false at the end and from then on.
  virtual bool next(int64_t& row) = 0;
};

}  // namespace tandem::data
