// ArraySource: batches over the rows of arrays in a given order. Rows in their own order
// are views without a copy; others are gathered, on a machine whose devices are all host
// memory into the same memory again and again. Used by one thread at a time.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "data/array_rows.h"
#include "train/batch_source.h"

namespace tandem::train {

class ArraySource final : public BatchSource {
 public:
  ArraySource(std::shared_ptr<const data::ArrayRows> rows, int64_t batch_size);

  const data::ArrayRows& rows() const { return *rows_; }
  /// Begins again, with rows in that order; empty: their own. Throws ValueError when it
  /// names a row that does not exist.
  void start(std::vector<int64_t> order);
  bool next(std::vector<Tensor>& batch) override;

 private:
  std::shared_ptr<const data::ArrayRows> rows_;
  const int64_t batch_size_;
  const bool reuse_;
  std::vector<int64_t> order_;
  std::vector<Tensor> slots_;  // by array: where its last full batch was gathered
  int64_t begin_ = 0;
};

}  // namespace tandem::train
