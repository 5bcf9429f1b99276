// How many outputs a call may have where an attribute says it. Pure; any thread.
#pragma once

#include <cstdint>

#include <fmt/format.h>

#include "op/infer.h"

namespace tandem {

/// More are no program, and describing them alone would take all memory.
inline constexpr int64_t kMaxOutputs = int64_t{1} << 18;

/// Throws InvalidArgumentError when the call would have more outputs than that.
inline void check_output_count(const InferContext& c, int64_t outputs) {
  if (outputs <= kMaxOutputs) return;
  c.fail(fmt::format("{} outputs are asked for; at most {} are supported", outputs,
                     kMaxOutputs));
}

}  // namespace tandem
