// Inner loops of the random kernels, compiled per instruction set: many Philox blocks at
// once, and the transformations of their bits into numbers.
#pragma once

#include <cstdint>

#include "base/philox.h"

namespace tandem::cpu {

struct RandomBlocks {
  /// Blocks `first`, `first + 1`, … of the generator: 4 * count words.
  void (*words)(const Philox& base, uint64_t first, int64_t count, uint32_t* out);
  /// One float in [0, 1) per word.
  void (*uniform_float)(const uint32_t* words, int64_t n, float* out);
  /// One double per two words.
  void (*uniform_double)(const uint32_t* words, int64_t n, double* out);
  /// Box-Muller: pairs of words give pairs of floats.
  void (*normal_float)(const uint32_t* words, int64_t n, float* out);
  /// Four words give two doubles.
  void (*normal_double)(const uint32_t* words, int64_t n, double* out);
};

/// The variant for this processor.
const RandomBlocks& random_blocks();

}  // namespace tandem::cpu
