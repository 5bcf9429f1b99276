// Reductions over any axes, type-erased: sizes and strides in, calls of ReduceLoops out.
// How the work is cut depends on the sizes alone, so results are the same bits for any
// number of threads.
#pragma once

#include <cstdint>
#include <span>

#include "kernels/cpu/reduce_loops.h"
#include "tandem/shape.h"

namespace tandem::cpu {

struct ReducePlan {
  struct Dim {
    int64_t size, stride;  // stride in elements of the input
  };
  const ReduceLoops* loops = nullptr;
  int64_t outputs = 1, count = 1;  // elements of the result, elements reduced into each
  bool row_form = true;            // the innermost dimension is reduced
  // The two innermost dimensions: `width` outputs side by side, `depth` elements reduced
  // into each; `stride` is the distance of rows in memory.
  int64_t width = 1, depth = 1, stride = 1;
  // The dimensions outside of them.
  Dim kept[kMaxRank] = {}, reduced[kMaxRank] = {};
  int kept_rank = 0, reduced_rank = 0;
  int64_t kept_count = 1, reduced_count = 1;

  int64_t chunk = 1, chunks = 1;  // `width` in pieces
  int64_t grain = 1;              // tasks (kept_count * chunks) worth a thread
  int parts =
      1;  // > 1: the reduced elements are cut too, partial results in the workspace
  size_t workspace_bytes = 0;
};

/// `reduced[i]` says whether dimension i of the input is reduced.
ReducePlan plan_reduction(const ReduceLoops* loops, const Shape& input,
                          std::span<const bool> reduced);
/// `second` is the second output of reducers that have one.
void run_reduction(const ReducePlan& plan, const void* input, void* output, void* second,
                   void* workspace);

}  // namespace tandem::cpu
