// How an elementwise call walks over memory: broadcast operands with collapsed
// dimensions, then runs of contiguous elements for block functions. Made once per
// signature, type-erased.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "kernels/cpu/elementwise_blocks.h"
#include "op/kernel.h"
#include "tandem/shape.h"

namespace tandem::cpu {

/// Where operand elements are, in units of elements; stride 0 repeats.
struct OperandPlan {
  int64_t strides[kMaxRank] = {};
  uint32_t size = 0;        // bytes of one element
  bool contiguous = false;  // element i of the output reads element i
  bool tiled = false;       // only the innermost dimension moves: a pattern that repeats
};

struct ElementwisePlan {
  enum class Walk : uint8_t {
    kFlat,    // one run over everything
    kRuns,    // a block call per run of the innermost dimension
    kExpand,  // short runs: operands are written out for a few hundred elements, then one
              // call
  };

  ElementwiseBlocks blocks;
  Block block = nullptr;      // the variant of kFlat and kRuns
  StreamFn stream = nullptr;  // set for results too large to stay in a cache
  BlockParams params;
  Walk walk = Walk::kFlat;
  uint8_t operands = 1;
  uint8_t scalars = 0;  // bit i: operand i is one element in each run
  int rank = 0;         // after collapsing
  uint32_t out_size = 0;
  int64_t n = 0;
  int64_t grain = 1;  // elements worth about 20 µs
  int64_t dims[kMaxRank] = {};
  OperandPlan in[kMaxOperands];
};

/// A plan for `inputs` that broadcast to `output`.
ElementwisePlan plan_elementwise(const ElementwiseBlocks& blocks,
                                 const BlockParams& params,
                                 std::span<const TensorInfo> inputs,
                                 const TensorInfo& output);

/// Computes the whole output; several threads when it is large.
void run_elementwise(const ElementwisePlan& plan, const void* const* inputs,
                     void* output);

}  // namespace tandem::cpu
