// Broadcasting geometry: inputs over a domain, with dimensions of size 1 dropped and
// neighbours merged where every input allows it. Pure functions; any thread.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "tandem/shape.h"

namespace tandem::cuda {

struct Geometry {
  int64_t n = 1;                              // elements of the domain
  std::vector<int64_t> dims;                  // outermost first
  std::vector<std::vector<int64_t>> strides;  // per input, in elements; 0: repeated
  bool wide = false;                          // some offset needs more than 31 bits

  int rank() const { return static_cast<int>(dims.size()); }
  bool contiguous(size_t input) const;  // one dimension of step 1, or a single element
  bool single(size_t input) const;      // one element for the whole domain
};

/// Each input's shape broadcasts to `domain`.
Geometry broadcast_geometry(const Shape& domain, std::span<const Shape> inputs);

}  // namespace tandem::cuda
