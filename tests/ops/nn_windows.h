// Windows that slide over spatial dimensions, for the references of convolutions and
// pools.
#pragma once

#include <algorithm>

#include "ops/nn_cases.h"
#include "tandem/ops/nn_conv.h"

namespace tandem::testing {

using nn::Padding;

inline const std::vector<DType> kWithHalfs = {DType::kFloat32, DType::kFloat64,
                                              DType::kFloat16, DType::kBFloat16};

/// A window sliding over three spatial dimensions; unused ones come first and have
/// size 1.
struct Sliding {
  int spatial = 2;
  bool first = false;  // channels first
  int64_t in[3] = {1, 1, 1}, out[3] = {1, 1, 1}, size[3] = {1, 1, 1},
          stride[3] = {1, 1, 1}, dilation[3] = {1, 1, 1}, before[3] = {0, 0, 0};

  int64_t in_at(const int64_t (&o)[3], const int64_t (&t)[3]) const {
    int64_t at = 0;
    for (int i = 0; i < 3; ++i) {
      const int64_t p = o[i] * stride[i] - before[i] + t[i] * dilation[i];
      if (p < 0 || p >= in[i]) return -1;
      at = at * in[i] + p;
    }
    return at;
  }
  int64_t positions(const int64_t (&n)[3]) const { return n[0] * n[1] * n[2]; }
};

inline int64_t pick(const Ints& list, int i, int spatial, bool first) {
  if (list.size() == 1) return list[0];
  const auto n = static_cast<size_t>(spatial);
  return list[static_cast<size_t>(i) + (list.size() == n ? 0 : first ? 2 : 1)];
}

inline Sliding sliding(const Shape& input, const int64_t* sizes, const Ints& strides,
                       const Ints& dilations, Padding padding,
                       const Ints& explicit_paddings, bool first) {
  Sliding s;
  s.spatial = input.rank() - 2;
  s.first = first;
  for (int i = 0; i < s.spatial; ++i) {
    const int k = 3 - s.spatial + i;
    s.in[k] = input[(first ? 2 : 1) + i];
    s.size[k] = sizes[i];
    s.stride[k] = pick(strides, i, s.spatial, first);
    s.dilation[k] = pick(dilations, i, s.spatial, first);
    const int64_t extent = (s.size[k] - 1) * s.dilation[k] + 1;
    int64_t after = 0;
    if (padding == Padding::kSame) {
      s.out[k] = (s.in[k] + s.stride[k] - 1) / s.stride[k];
      const int64_t total =
          std::max<int64_t>(0, (s.out[k] - 1) * s.stride[k] + extent - s.in[k]);
      s.before[k] = total / 2;
      continue;
    }
    if (padding == Padding::kExplicit) {
      const auto at = static_cast<size_t>(
          2 * (i + (explicit_paddings.size() == 2 * static_cast<size_t>(s.spatial) ? 0
                    : first                                                        ? 2
                                                                                   : 1)));
      s.before[k] = explicit_paddings[at];
      after = explicit_paddings[at + 1];
    }
    s.out[k] = (s.in[k] + s.before[k] + after - extent) / s.stride[k] + 1;
  }
  return s;
}

// visit(position of an output, tap, position of the input or -1)
template <class Visit>
void for_each_window(const Sliding& s, Visit visit) {
  int64_t o[3], t[3];
  int64_t at = 0;
  for (o[0] = 0; o[0] < s.out[0]; ++o[0]) {
    for (o[1] = 0; o[1] < s.out[1]; ++o[1]) {
      for (o[2] = 0; o[2] < s.out[2]; ++o[2], ++at) {
        int64_t tap = 0;
        for (t[0] = 0; t[0] < s.size[0]; ++t[0]) {
          for (t[1] = 0; t[1] < s.size[1]; ++t[1]) {
            for (t[2] = 0; t[2] < s.size[2]; ++t[2], ++tap) visit(at, tap, s.in_at(o, t));
          }
        }
      }
    }
  }
}

/// Sizes as the host input that gradients take.
inline In sizes_input(const Shape& shape) {
  In in{.shape = {shape.rank()}, .dtype = DType::kInt32};
  for (int64_t d : shape) in.fixed.push_back(static_cast<double>(d));
  return in;
}

}  // namespace tandem::testing
