// Where CropAndResize and its gradients look in an image.
#pragma once

#include <algorithm>
#include <cstdint>

namespace tandem::cpu {

/// Where output position i of n lies between two edges of a box, in pixels.
inline float crop_place(int64_t i, int64_t n, float low, float high, int64_t size) {
  const auto last = static_cast<float>(size - 1);
  if (n == 1) return 0.5f * (low + high) * last;
  const float step = (high - low) * last / static_cast<float>(n - 1);
  return low * last + static_cast<float>(i) * step;
}

/// Whether a place lies in the image. NaN does not.
inline bool crop_inside(float at, int64_t size) {
  return at >= 0 && at <= static_cast<float>(size - 1);
}

/// The pixel at a rounded place in the image. Above 2^24 the last pixel's number, as a
/// float, may be one that is not there.
inline int64_t crop_pixel(float at, int64_t size) {
  return std::min(static_cast<int64_t>(at), size - 1);
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
