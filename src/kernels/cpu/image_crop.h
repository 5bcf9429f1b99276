// Where CropAndResize and its gradients look in an image.
#pragma once

#include <cstdint>

namespace tandem::cpu {

/// Where output position i of n lies between two edges of a box, in pixels.
inline float crop_place(int64_t i, int64_t n, float low, float high, int64_t size) {
  const auto last = static_cast<float>(size - 1);
  if (n == 1) return 0.5f * (low + high) * last;
  const float step = (high - low) * last / static_cast<float>(n - 1);
  return low * last + static_cast<float>(i) * step;
}

/// How that place moves with the lower and the upper edge.
struct CropSlope {
  float low, high;
};
inline CropSlope crop_slope(int64_t i, int64_t n, int64_t size) {
  const auto last = static_cast<float>(size - 1);
  if (n == 1) return {0.5f * last, 0.5f * last};
  const float along = static_cast<float>(i) / static_cast<float>(n - 1);
  return {(1 - along) * last, along * last};
}

}  // namespace tandem::cpu
