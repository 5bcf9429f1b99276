// Reading numbers that a kernel has computed, for ops whose outputs have sizes that
// depend on contents (design, decision 24). The host waits for the stream; inside a
// recording there are no such ops. What kernels have reported as bad is thrown here. Any
// thread.
#pragma once

#include <span>

#include "op/kernel.h"

namespace tandem::cuda {

void read_words(const StreamContext& stream, const int64_t* from, std::span<int64_t> to);
/// Waits for the work so far: before memory that it uses is given back.
void wait_for_work(const StreamContext& stream);

}  // namespace tandem::cuda
