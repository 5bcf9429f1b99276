// BatchSource: where a training loop takes its batches from. A batch is a list of
// tensors, in the order of the step's parameters. Used by one thread at a time.
#pragma once

#include <vector>

#include "tandem/tensor.h"

namespace tandem::train {

class BatchSource {
 public:
  BatchSource() = default;
  BatchSource(const BatchSource&) = delete;
  BatchSource& operator=(const BatchSource&) = delete;
  virtual ~BatchSource() = default;

  /// The next batch; false when there is none.
  virtual bool next(std::vector<Tensor>& batch) = 0;
};

}  // namespace tandem::train
