// The plan of the kernels that turn colours, pixel by pixel, and of their gradients. A
// plain value; any thread.
#pragma once

#include <cstdint>

#include "op/kernel.h"

namespace tandem::cpu {

struct ColourPlan {
  int64_t pixels = 0;
};
inline ColourPlan prepare_colour(const Signature& s) {
  return {s.in(0).shape.num_elements() / 3};
}

}  // namespace tandem::cpu
