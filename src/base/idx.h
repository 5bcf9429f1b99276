// Numbers of nodes, steps, lanes and outputs as indices. Pure; any thread.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tandem {

inline size_t idx(int32_t i) { return static_cast<size_t>(i); }

}  // namespace tandem
