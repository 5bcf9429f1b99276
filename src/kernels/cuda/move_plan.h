// What the kernels that only move elements share: output 0 from input 0 by copies, after
// zeros where they leave gaps.
#pragma once

#include <vector>

#include "kernels/cuda/families.h"
#include "kernels/cuda/strided_copy.h"

namespace tandem::cuda {

struct MovePlan {
  std::vector<StridedCopy> copies;
  size_t zero_bytes = 0;
};
inline void launch_move(const MovePlan& p, const LaunchArgs& a) {
  fill_zeros(*a.stream, a.out<void>(), p.zero_bytes);
  for (const StridedCopy& c : p.copies) c.run(*a.stream, a.in<void>(0), a.out<void>());
}

inline size_t element_of(const TensorInfo& t) { return dtype_size(t.dtype); }
inline size_t bytes_of(const TensorInfo& t) {
  return static_cast<size_t>(t.shape.num_elements()) * dtype_size(t.dtype);
}

void register_move_joins(Kernels& kernels);
void register_move_slices(Kernels& kernels);

}  // namespace tandem::cuda
