// Random boxes of images that cover enough of an object.
#pragma once

#include "tandem/ops/attrs.h"
#include "tandem/tensor.h"

namespace tandem::image {

struct SampleBoxAttrs {
  /// The part of an object that a box has to cover.
  double min_object_covered = 0.1;
  /// Width over height.
  double least_ratio = 0.75, most_ratio = 1.33;
  /// Parts of the image's area.
  double least_area = 0.05, most_area = 1;
  int64_t max_attempts = 100;
  /// The whole image is the object where none is given.
  bool use_image_if_no_bounding_boxes = false;
  TANDEM_ATTRS(SampleBoxAttrs, min_object_covered, least_ratio, most_ratio, least_area,
               most_area, max_attempts, use_image_if_no_bounding_boxes)
};
struct SampledBox {
  Tensor begin;   // int32 [3]: top, left, 0
  Tensor size;    // int32 [3]: height, width, -1
  Tensor bboxes;  // float32 [1, 1, 4], in parts of the image's size
};
/// `image_size` int32 [height, width, channels], `boxes` float32 [batch, n, 4], `words`
/// uint32: random words, of which an attempt takes a few.
SampledBox sample_distorted_bounding_box(const Tensor& image_size, const Tensor& boxes,
                                         const Tensor& words, SampleBoxAttrs attrs = {});

}  // namespace tandem::image
