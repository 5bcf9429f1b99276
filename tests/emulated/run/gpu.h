// What the tests of this folder share: tensors on a device, and work that takes a while.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include "support/floats.h"
#include "tandem/tandem.h"

namespace tandem::testing {

inline constexpr int64_t kMiB = 1 << 20;

template <class F>
auto on(std::string_view device, F&& body) {
  const DeviceScope scope(device);
  return body();
}

inline Tensor filled(std::string_view device, const Shape& shape, float value) {
  return on(device, [&] { return fill(shape, constant(value)); });
}

/// x after `steps` products with the identity: the same values, later.
inline Tensor slowly(const Tensor& x, int steps = 8) {
  const int64_t n = x.dim(-1);
  const Tensor unit = eye(n);
  Tensor y = x;
  for (int i = 0; i < steps; ++i) y = matmul(y, unit);
  return y;
}

}  // namespace tandem::testing
