// How far apart the sources of neighbouring pixels of a resized image are. Pure; any
// thread.
#pragma once

#include <cstdint>

namespace tandem::cpu {

inline float resize_scale(int64_t in, int64_t out, bool align_corners) {
  return align_corners && out > 1
             ? static_cast<float>(in - 1) / static_cast<float>(out - 1)
             : static_cast<float>(in) / static_cast<float>(out);
}

}  // namespace tandem::cpu
