// The check of inputs whose shape follows from the others: gradients above all, whose
// kernels walk them with sizes that they take elsewhere. Pure; any thread.
#pragma once

#include <fmt/format.h>

#include "op/infer.h"
#include "op/op_def.h"

namespace tandem {

/// Throws InvalidArgumentError unless input i can have that shape.
inline void expect_shape(const InferContext& c, int i, const Shape& expected) {
  if (c.shape(i).compatible_with(expected)) return;
  c.fail(fmt::format("input '{}' has shape {}, but the other inputs ask for {}",
                     c.op().input_def(i).name, c.shape(i).debug_str(),
                     expected.debug_str()));
}
/// Inputs i and j can have one shape.
inline void expect_same_shape(const InferContext& c, int i, int j) {
  expect_shape(c, i, c.shape(j));
}

/// The one value of a scalar input, kUnknownValue where it is not known. Throws
/// InvalidArgumentError for another rank.
inline int64_t scalar_value(const InferContext& c, int i) {
  c.rank(i, 0);
  const TensorInfo& info = c.input(i);
  return info.has_value && !info.value.empty() ? info.value[0] : kUnknownValue;
}

}  // namespace tandem
