// RunningTotals: counts in the GPU's memory become what comes before each of them, and
// the total behind the last. Made in prepare(), launched from any thread.
#pragma once

#include "kernels/cuda/program.h"

namespace tandem::cuda {

class RunningTotals {
 public:
  RunningTotals() = default;
  /// Up to `most` numbers.
  RunningTotals(Device* device, int64_t most);

  /// Memory for the numbers, the total behind them, and what the kernels need.
  size_t bytes() const;
  /// In place, in stream order; `data` has bytes().
  void run(const StreamContext& stream, int64_t* data, int64_t n) const;

 private:
  Function all_, sums_, pieces_;
  int64_t most_ = 0;
};

std::string running_text();

}  // namespace tandem::cuda
