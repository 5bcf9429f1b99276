// Weights of models side by side: copied from one to the other, and compared after steps
// that must have done the same.
#pragma once

#include <cmath>
#include <vector>

#include <gtest/gtest.h>

#include "tandem/tandem.h"

namespace tandem::testing {

inline void copy_weights(const std::vector<Variable>& from,
                         const std::vector<Variable>& to) {
  for (size_t i = 0; i < from.size(); ++i) Variable(to[i]).assign(from[i].read());
}

inline void expect_same(const std::vector<Variable>& a, const std::vector<Variable>& b,
                        double tolerance = 1e-5) {
  ASSERT_EQ(a.size(), b.size());
  for (size_t i = 0; i < a.size(); ++i) {
    const auto x = cast(a[i], float64).to_vector<double>();
    const auto y = cast(b[i], float64).to_vector<double>();
    ASSERT_EQ(x.size(), y.size());
    for (size_t k = 0; k < x.size(); ++k) {
      EXPECT_NEAR(x[k], y[k], tolerance * (1 + std::abs(x[k])))
          << a[i].name() << " " << k;
    }
  }
}

}  // namespace tandem::testing
