// ArrayBatches: epochs of batches over ArrayRows, for loops that train on arrays. Each
// epoch is a permutation of the rows (its own, from the seed and the epoch's number) or
// their order, cut into batches of which the last may be smaller. Used by one thread at a
// time; the rows may be shared.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "data/array_rows.h"

namespace tandem::data {

enum class RowOrder {
  kInOrder,
  kShuffled,         // rows
  kShuffledBatches,  // runs of batch_size rows stay together (Keras's shuffle="batch")
};

struct ArrayBatchesOptions {
  int64_t batch_size = 32;
  RowOrder order = RowOrder::kInOrder;
  bool drop_remainder = false;
  uint64_t seed = 0;
};

class ArrayBatches {
 public:
  ArrayBatches(std::shared_ptr<const ArrayRows> rows, ArrayBatchesOptions options);

  const ArrayRows& rows() const { return *rows_; }
  int64_t batch_size() const { return options_.batch_size; }
  int64_t batches_per_epoch() const;
  /// Rows of batch `number` (from 0) of an epoch.
  int64_t rows_in_batch(int64_t number) const;

  /// Goes to the start of that epoch. The same number gives the same order.
  void start_epoch(int64_t epoch);
  /// The row numbers of the next batch, valid until the next call; empty: the epoch is
  /// over.
  std::span<const int64_t> next_rows();
  /// The next batch, one tensor per array; false when the epoch is over.
  bool next(std::vector<Tensor>& batch);
  /// The same into given memory, one address per array with room for batch_size rows.
  /// Returns the number of rows, 0 when the epoch is over.
  int64_t next_into(std::span<void* const> addresses);

 private:
  std::shared_ptr<const ArrayRows> rows_;
  const ArrayBatchesOptions options_;
  std::vector<int64_t> order_;
  int64_t next_batch_ = 0;
};

}  // namespace tandem::data
