// Resizing of images [batch, height, width, channels].
#pragma once

#include "tandem/ops/attrs.h"
#include "tandem/tensor.h"

namespace tandem::nn {

struct ResizeAttrs {
  /// Corner pixels of input and output coincide.
  bool align_corners = false;
  /// Pixels are areas around their centres, as in tf.image.resize. Excludes the other.
  bool half_pixel_centers = false;
  TANDEM_ATTRS(ResizeAttrs, align_corners, half_pixel_centers)
};
/// Bilinear interpolation to `size` (height, width); the result is always float32.
Tensor resize_bilinear(const Tensor& images, const Tensor& size,
                       ResizeAttrs attrs = {.half_pixel_centers = true});
/// The nearest pixel.
Tensor resize_nearest_neighbor(const Tensor& images, const Tensor& size,
                               ResizeAttrs attrs = {.half_pixel_centers = true});

}  // namespace tandem::nn
