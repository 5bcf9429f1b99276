// Attribute structs shared by several op families.
#pragma once

#include "tandem/attrs.h"
#include "tandem/dtype.h"

namespace tandem {

/// dtype of the integers that Shape and Size return.
struct ShapeAttrs {
  DType out_type = DType::kInt32;
  TANDEM_ATTRS(ShapeAttrs, out_type)
};

struct CastAttrs {
  DType dtype = DType::kFloat32;
  /// Float to float: drop the low bits instead of rounding.
  bool truncate = false;
  TANDEM_ATTRS(CastAttrs, dtype, truncate)
};

/// An axis, negative counting from the end.
struct AxisAttrs {
  int64_t axis = 0;
  TANDEM_ATTRS(AxisAttrs, axis)
};

}  // namespace tandem
