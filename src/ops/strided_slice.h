// SliceBox: what a StridedSlice (or Slice) takes from its input, dimension by dimension.
// One function resolves begin, end, strides and masks for inference, views and kernels.
#pragma once

#include <optional>

#include "op/infer.h"
#include "op/op_def.h"
#include "tandem/ops/array_index.h"

namespace tandem {

/// Entries of an index: the masks have a bit for each.
inline constexpr size_t kMaxSliceEntries = 32;

/// Elements begin[d], begin[d] + stride[d], … (size[d] of them) of each input dimension
/// d. Sizes may be kUnknownDim while tracing, and so may begin and stride be
/// kUnknownValue.
struct SliceBox {
  Ints begin, stride, size;
  Shape final_shape;  // with new axes, without those that shrink
  Ints order;  // the input dimension of each dimension of final_shape, -1 for new axes
  bool known = true;  // begin, stride and size are all known
};

struct SliceSpec {
  const TensorInfo* begin;
  const TensorInfo* end;
  const TensorInfo* strides;
  StridedSliceAttrs attrs;
};

/// Throws InvalidArgumentError in TensorFlow's words, with `op` in front. Nothing when
/// the number of dimensions is not known.
std::optional<SliceBox> resolve_slice(const Shape& input, const SliceSpec& spec,
                                      const std::string& op);

/// The offset in elements at which the box lies in the input without gaps, if it does.
std::optional<int64_t> contiguous_offset(const Shape& input, const SliceBox& box);

/// The box of a Slice: begin and sizes (-1: the rest) of inputs 1 and 2.
std::optional<SliceBox> resolve_plain_slice(const Shape& input, const TensorInfo& begin,
                                            const TensorInfo& size,
                                            const std::string& op);

}  // namespace tandem
