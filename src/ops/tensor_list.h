// The family of list ops in parts: definitions with gradients, and what they do.
#pragma once

#include "tandem/attrs.h"
#include "tandem/dtype.h"
#include "tandem/shape.h"

namespace tandem {

class OpTable;

/// What the elements of a list are. The shape may be partly unknown; ops that read
/// elements which were never set take it from here, from the list or from other elements.
struct TensorListAttrs {
  DType element_dtype = DType::kFloat32;
  Shape known_shape = Shape::unknown();
  TANDEM_ATTRS(TensorListAttrs, element_dtype, known_shape)
};
struct TensorListSetAttrs {
  /// An index beyond the end makes the list longer.
  bool resize_if_index_out_of_bounds = false;
  TANDEM_ATTRS(TensorListSetAttrs, resize_if_index_out_of_bounds)
};
struct TensorListScatterAttrs {
  Shape known_shape = Shape::unknown();
  /// Equal indices add up instead of the last one winning.
  bool accumulate = false;
  TANDEM_ATTRS(TensorListScatterAttrs, known_shape, accumulate)
};

void register_tensor_list_ops(OpTable& table);
void register_tensor_list_functions();

}  // namespace tandem
