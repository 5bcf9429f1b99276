// What the tests of pipelines share.
#pragma once

#include <vector>

#include "tandem/data.h"
#include "tandem/tandem.h"

namespace tandem::data {

using Numbers = std::vector<int64_t>;

/// The elements of a dataset of int64 scalars.
inline Numbers numbers(const Dataset& dataset) {
  Numbers result;
  for (const Element& e : dataset) result.push_back(e[0].item<int64_t>());
  return result;
}

/// The batches of a dataset of int64 vectors.
inline std::vector<Numbers> batches(const Dataset& dataset) {
  std::vector<Numbers> result;
  for (const Element& e : dataset) result.push_back(e[0].to_vector<int64_t>());
  return result;
}

inline Element number(int64_t n) { return {constant(n)}; }

inline ElementFunction times(int64_t factor) {
  return [factor](std::span<const Tensor> e) {
    return number(e[0].item<int64_t>() * factor);
  };
}

inline const std::vector<Component> kNumber = {{DType::kInt64, Shape{}}};

}  // namespace tandem::data
