// The inner loops of a fused program's instructions. Any thread.
#pragma once

#include <optional>
#include <span>
#include <string_view>

#include "kernels/cpu/elementwise_blocks.h"
#include "kernels/cpu/reduce_loops.h"

namespace tandem::cpu {

struct FusedBlocks {
  ElementwiseBlocks blocks;
  BlockParams params;
};

/// Nothing when the call cannot be fused (kernels/cpu/fused.h).
std::optional<FusedBlocks> fused_blocks(const OpDef& op, AttrsRef attrs,
                                        std::span<const DType> inputs, DType output);

/// Null when there is no such reduction.
const ReduceLoops* fused_reducer(std::string_view op, DType dtype);

}  // namespace tandem::cpu
