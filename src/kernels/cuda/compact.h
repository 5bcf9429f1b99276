// Compaction: the two passes of an op that keeps some elements in their order
// (device/compact.cuh): count() says how many, place() writes them. Made in prepare(),
// launched from any thread; not inside recordings, since the host reads the count.
#pragma once

#include "kernels/cuda/host_read.h"
#include "kernels/cuda/running.h"

namespace tandem::cuda {

class Compaction {
 public:
  Compaction() = default;
  /// `text`: a program that ends with compact.cuh, over `n` elements.
  Compaction(const Signature& s, const std::string& text, int64_t n);

  size_t workspace_bytes() const { return n_ ? totals_.bytes() : 0; }
  /// How many are kept; `workspace` is used until place() is done.
  template <class Args>
  int64_t count(const StreamContext& stream, const Args& args, void* workspace) const {
    if (n_ == 0) return 0;
    auto* counts = static_cast<int64_t*>(workspace);
    launch(count_, stream, grid(), args, n_, tiles_, counts);
    totals_.run(stream, counts, tiles_);
    int64_t total = 0;
    read_words(stream, counts + tiles_, {&total, 1});
    return total;
  }
  template <class Args>
  void place(const StreamContext& stream, const Args& args, void* workspace) const {
    if (n_ == 0) return;
    const auto* before = static_cast<const int64_t*>(workspace);
    launch(place_, stream, grid(), args, n_, tiles_, before);
  }

 private:
  Grid grid() const { return grid_for(count_, tiles_ * 256); }

  Function count_, place_;
  RunningTotals totals_;
  int64_t n_ = 0, tiles_ = 0;
};

}  // namespace tandem::cuda
