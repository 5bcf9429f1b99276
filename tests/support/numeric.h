// Derivatives by central differences, to compare computed ones with. float64 throughout.
#pragma once

#include <cmath>
#include <functional>
#include <vector>

#include <gtest/gtest.h>

#include "tandem/tandem.h"

namespace tandem::testing {

using Function = std::function<Tensor(const Tensor&)>;

inline std::vector<double> values(const Tensor& t) { return t.to_vector<double>(); }

/// d f(x)[i] / d x[j] at row i and column j.
inline std::vector<double> numeric_jacobian(const Function& f, const Tensor& x,
                                            double step = 1e-6) {
  const std::vector<double> at = values(x);
  const size_t columns = at.size(), rows = values(f(x)).size();
  std::vector<double> result(rows * columns);
  for (size_t j = 0; j < columns; ++j) {
    std::vector<double> up = at, down = at;
    up[j] += step;
    down[j] -= step;
    const std::vector<double> high = values(f(constant(up, x.shape())));
    const std::vector<double> low = values(f(constant(down, x.shape())));
    for (size_t i = 0; i < rows; ++i) {
      result[i * columns + j] = (high[i] - low[i]) / (2 * step);
    }
  }
  return result;
}

/// d f(x + t·direction) / d t at 0.
inline std::vector<double> numeric_directional(const Function& f, const Tensor& x,
                                               const Tensor& direction,
                                               double step = 1e-6) {
  const std::vector<double> at = values(x), along = values(direction);
  std::vector<double> up = at, down = at;
  for (size_t i = 0; i < at.size(); ++i) {
    up[i] += step * along[i];
    down[i] -= step * along[i];
  }
  std::vector<double> high = values(f(constant(up, x.shape())));
  const std::vector<double> low = values(f(constant(down, x.shape())));
  for (size_t i = 0; i < high.size(); ++i) high[i] = (high[i] - low[i]) / (2 * step);
  return high;
}

inline void expect_close(const std::vector<double>& got,
                         const std::vector<double>& expected, double tolerance = 1e-6) {
  ASSERT_EQ(got.size(), expected.size());
  for (size_t i = 0; i < got.size(); ++i) {
    EXPECT_NEAR(got[i], expected[i], tolerance * (1 + std::abs(expected[i])))
        << "element " << i;
  }
}
inline void expect_close(const Tensor& got, const std::vector<double>& expected,
                         double tolerance = 1e-6) {
  ASSERT_TRUE(got.defined());
  expect_close(values(got), expected, tolerance);
}

/// Fixed pseudo-random numbers in [low, high).
inline Tensor sample(const Shape& shape, int64_t seed, double low = -1, double high = 1) {
  return random::stateless_uniform(shape, {seed, 7},
                                   {.minval = low, .maxval = high, .dtype = float64});
}

}  // namespace tandem::testing
