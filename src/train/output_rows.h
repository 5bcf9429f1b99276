// OutputRows: collects what a step gives for each batch into one host tensor per output,
// rows after rows. Results of devices are fetched a few batches late, so that the device
// has work meanwhile. One thread.
#pragma once

#include <cstdint>
#include <deque>
#include <vector>

#include "tandem/tensor.h"

namespace tandem::train {

class OutputRows {
 public:
  /// `rows`: how many will come, as far as that is known.
  explicit OutputRows(int64_t rows) : expected_(rows) {}
  OutputRows() : OutputRows(0) {}

  void append(std::vector<Tensor> results);
  /// The outputs so far. A scalar of each batch becomes a vector; of one batch it stays a
  /// scalar.
  std::vector<Tensor> finish();

 private:
  struct Output {
    Tensor rows;        // with room for more
    int64_t count = 0;  // rows that are there
    bool scalar = false;
    std::vector<Tensor> strings;  // whole batches: these cannot be copied as bytes
  };
  void take(const std::vector<Tensor>& results);
  void add(size_t output, const Tensor& host);
  void reserve(Output& output, int64_t count, const Tensor& like);

  const int64_t expected_;
  int64_t batches_ = 0;
  std::deque<std::vector<Tensor>> waiting_;
  std::vector<Output> outputs_;
};

}  // namespace tandem::train
