#include "ops/image_size.h"

#include <fmt/format.h>

#include "tandem/ops.h"

namespace tandem {

Shape with_size(InferContext& c, const Shape& images, int i) {
  if (images.has_rank() && images.rank() != 4) {
    c.fail(fmt::format("input must be 4-dimensional: {}", images.debug_str()));
  }
  Shape out = images.has_rank() ? images : Shape::unknown_of_rank(4);
  const TensorInfo& size = c.input(i);
  if (size.shape.has_rank() &&
      (size.shape.rank() != 1 || (size.shape[0] >= 0 && size.shape[0] != 2))) {
    c.fail(fmt::format("shape_t must be 1-dimensional with two elements: {}",
                       size.shape.debug_str()));
  }
  for (int k = 0; k < 2; ++k) {
    const int64_t v = size.has_value ? size.value[static_cast<size_t>(k)] : kUnknownValue;
    if (v != kUnknownValue && v <= 0) {
      c.fail(fmt::format("output dimensions must be positive, got {}", v));
    }
    if (out[1 + k] == 0) c.fail("input image must be of non-zero size");
    out.set(1 + k, v == kUnknownValue ? kUnknownDim : v);
  }
  return out;
}

Tensor size_of(const GradContext& c, int i) {
  return slice(c.shape_of_input(i), {1}, {2});
}

}  // namespace tandem
