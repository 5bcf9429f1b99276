// RangeSpec: how many numbers Range makes, read from its three host scalars. Inference
// and kernels ask the same function.
#pragma once

#include <optional>
#include <span>
#include <string>

#include "op/infer.h"

namespace tandem {

struct RangeSpec {
  bool integer = false;
  int64_t start = 0, limit = 0, delta = 0;       // integers
  double start_f = 0, limit_f = 0, delta_f = 0;  // floating point
  int64_t n = 0;
  /// TensorFlow's words for what is wrong with it, or empty.
  std::string problem() const;
};

/// Nothing when a value is not known.
std::optional<RangeSpec> range_spec(std::span<const TensorInfo> inputs);

}  // namespace tandem
