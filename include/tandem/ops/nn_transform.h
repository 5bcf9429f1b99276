// Projective transforms of images [batch, height, width, channels]: rotating, shearing,
// shifting, zooming.
#pragma once

#include <string>

#include "tandem/ops/attrs.h"
#include "tandem/tensor.h"

namespace tandem::nn {

struct ProjectiveAttrs {
  /// "NEAREST" or "BILINEAR".
  std::string interpolation = "NEAREST";
  /// What lies outside the image: "CONSTANT", "REFLECT", "WRAP" or "NEAREST".
  std::string fill_mode = "CONSTANT";
  TANDEM_ATTRS(ProjectiveAttrs, interpolation, fill_mode)
};
/// The pixel at (x, y) of the result is that at ((a0 x + a1 y + a2) / k,
/// (b0 x + b1 y + b2) / k) of the image, k = c0 x + c1 y + 1. `transforms` are rows
/// [a0, a1, a2, b0, b1, b2, c0, c1], float32, one for each image or one for all;
/// `output_shape` is height and width.
Tensor projective_transform(const Tensor& images, const Tensor& transforms,
                            const Tensor& output_shape, const Tensor& fill_value,
                            ProjectiveAttrs attrs = {});

}  // namespace tandem::nn
