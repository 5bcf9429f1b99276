// Rows that lie together reduced to one each: what SegmentSum and its kind share with the
// gradient of Repeat. Made in prepare(), launched from any thread.
#pragma once

#include "kernels/cuda/program.h"

namespace tandem::cuda {

/// The layout is known to device/sorted_segments.cuh.
struct SegmentArgs {
  const void* x = nullptr;
  void* out = nullptr;
  const void* ids = nullptr;
  const int64_t* starts = nullptr;
  const void* rows = nullptr;
  int64_t outer = 1, n = 0, segments = 0, inner = 1, times = 0;
  int64_t width = 1, height = 1;
};

/// `op`: the reducer ("Sum"); the dtypes of elements, ids and row numbers.
std::string segments_text(const std::string& op, DType dtype, DType ids, DType rows);
/// Launches `reduce_segments` of that text over `count` rows in all segments.
void run_segments(const Function& f, const StreamContext& stream, SegmentArgs args,
                  int64_t count);

}  // namespace tandem::cuda
