#include "kernels/cuda/broadcast.h"

#include <algorithm>

namespace tandem::cuda {

bool Geometry::single(size_t input) const {
  return std::all_of(strides[input].begin(), strides[input].end(),
                     [](int64_t s) { return s == 0; });
}

bool Geometry::contiguous(size_t input) const {
  return dims.empty() || (dims.size() == 1 && strides[input][0] == 1);
}

Geometry broadcast_geometry(const Shape& domain, std::span<const Shape> inputs) {
  Geometry g;
  g.n = domain.num_elements();
  g.strides.resize(inputs.size());
  std::vector<int64_t> steps(inputs.size(), 1);  // of the dimension being looked at
  int64_t largest = g.n;
  // From the innermost dimension out; turned around at the end.
  for (int d = domain.rank() - 1; d >= 0; --d) {
    const int64_t size = domain[d];
    std::vector<int64_t> here(inputs.size(), 0);
    for (size_t i = 0; i < inputs.size(); ++i) {
      const int at = d - (domain.rank() - inputs[i].rank());
      const int64_t own = at < 0 ? 1 : inputs[i][at];
      here[i] = own == 1 ? 0 : steps[i];
      steps[i] *= std::max<int64_t>(own, 1);
      largest = std::max(largest, steps[i]);
    }
    if (size == 1) continue;
    bool merges = !g.dims.empty();
    for (size_t i = 0; merges && i < inputs.size(); ++i) {
      merges = here[i] == g.strides[i].back() * g.dims.back();
    }
    if (merges) {
      g.dims.back() *= size;
      continue;
    }
    g.dims.push_back(size);
    for (size_t i = 0; i < inputs.size(); ++i) g.strides[i].push_back(here[i]);
  }
  std::reverse(g.dims.begin(), g.dims.end());
  for (auto& s : g.strides) std::reverse(s.begin(), s.end());
  // A grid-stride loop adds one grid to the last index: room for it in 31 bits.
  g.wide = largest >= (int64_t{1} << 30);
  return g;
}

}  // namespace tandem::cuda
