// Windows of convolutions and pools in one form, whatever way their attributes were
// spelled. Shared by inference and kernels; pure functions.
#pragma once

#include <algorithm>
#include <string>

#include "op/op_def.h"
#include "tandem/ops/nn_conv.h"

namespace tandem::nn {

/// One spatial dimension.
struct WindowDim {
  int64_t in = 0, out = 0;  // kUnknownDim when not known
  int64_t size = 1, stride = 1, dilation = 1;
  int64_t before = 0, after = 0;  // padding
  /// What does not fit is larger than every input.
  int64_t extent() const {
    constexpr int64_t kMost = int64_t{1} << 60;
    int64_t reach;
    if (__builtin_mul_overflow(size - 1, dilation, &reach)) return kMost;
    return std::min(reach, kMost - 1) + 1;
  }
};

/// `name` of an op and its attribute list → one number per spatial dimension. Throws
/// InvalidArgumentError for wrong lengths, numbers below 1, or batch and channel entries
/// other than 1.
Ints spatial_list(const std::string& op, const char* attribute, const Ints& list,
                  int spatial, bool channels_first);

/// Fills padding and `out` of each dimension from in, size, stride and dilation.
void place_windows(const std::string& op, Padding padding, const Ints& explicit_paddings,
                   bool channels_first, std::span<WindowDim> dims);

/// A convolution with all its sizes. Depthwise ones have one group per channel.
struct ConvShape {
  int spatial = 2;
  bool channels_first = false;
  int64_t batch = 0, in_channels = 0, out_channels = 0, groups = 1;
  WindowDim dims[3];

  int64_t in_positions() const;
  int64_t out_positions() const;
  int64_t taps() const;
  // Depthwise convolutions of no channels have no groups.
  int64_t in_per_group() const { return groups == 0 ? 0 : in_channels / groups; }
  int64_t out_per_group() const { return groups == 0 ? 0 : out_channels / groups; }
};

/// Sizes from the shapes of input and filter, either of which may be partly unknown.
/// Throws InvalidArgumentError with TensorFlow's key phrases.
ConvShape conv_shape(const std::string& op, const ConvAttrs& attrs, bool depthwise,
                     const Shape& input, const Shape& filter);
Shape conv_output(const ConvShape& conv);
/// Multiplications and additions, the same in all three directions.
double conv_flops(const ConvShape& conv);

/// A pool with all its sizes.
struct PoolShape {
  int spatial = 2;
  bool channels_first = false;
  int64_t batch = 0, channels = 0;
  WindowDim dims[3];
};
PoolShape pool_shape(const std::string& op, const PoolAttrs& attrs, const Shape& input);
Shape pool_output(const PoolShape& pool);

/// Index of the channel dimension.
inline int channel_axis(int rank, bool first) { return first ? 1 : rank - 1; }

}  // namespace tandem::nn
