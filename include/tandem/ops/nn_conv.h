// Convolutions and pooling. Inputs are [batch, spatial…, channels] (or channels first, by
// data_format), filters [spatial…, in channels / groups, out channels] as in TensorFlow.
#pragma once

#include <array>
#include <string_view>

#include "tandem/ops/attrs.h"
#include "tandem/tensor.h"

namespace tandem::nn {

/// kSame: the output has ceil(input / stride) elements. kExplicit: explicit_paddings says
/// how much.
enum class Padding : uint8_t { kValid, kSame, kExplicit };
inline constexpr std::array<std::string_view, 3> kPaddingNames = {"VALID", "SAME",
                                                                  "EXPLICIT"};
constexpr const auto& attr_names(Padding) { return kPaddingNames; }

/// TensorFlow's layout names. kNHWC stands for "channels last" whatever the rank.
enum class DataFormat : uint8_t { kNHWC, kNCHW, kNDHWC, kNCDHW, kNWC, kNCW };
inline constexpr std::array<std::string_view, 6> kDataFormatNames = {
    "NHWC", "NCHW", "NDHWC", "NCDHW", "NWC", "NCW"};
constexpr const auto& attr_names(DataFormat) { return kDataFormatNames; }
constexpr bool channels_first(DataFormat f) { return static_cast<int>(f) % 2 == 1; }

// Lists of window attributes hold one number for all spatial dimensions, one per spatial
// dimension, or one per dimension of the input (TensorFlow's form, 1 for batch and
// channels).

struct ConvAttrs {
  Ints strides = {1};
  Padding padding = Padding::kValid;
  /// Before and after, for each spatial dimension or each dimension of the input
  /// (kExplicit).
  Ints explicit_paddings = {};
  DataFormat data_format = DataFormat::kNHWC;
  Ints dilations = {1};
  TANDEM_ATTRS(ConvAttrs, strides, padding, explicit_paddings, data_format, dilations)
};

/// Convolution over 1, 2 or 3 spatial dimensions, by the rank of the input. The number of
/// groups is (input channels) / (filter's input channels).
Tensor convolution(const Tensor& input, const Tensor& filters,
                   const ConvAttrs& attrs = {});
Tensor conv1d(const Tensor& input, const Tensor& filters, ConvAttrs attrs = {});
Tensor conv2d(const Tensor& input, const Tensor& filters, const ConvAttrs& attrs = {});
Tensor conv3d(const Tensor& input, const Tensor& filters, const ConvAttrs& attrs = {});

/// Transposed convolutions: the gradient of convN with respect to its input, as an op.
/// Filters are [spatial…, out channels, in channels]; `output_shape` has all dimensions.
Tensor conv_transpose(const Tensor& input, const Tensor& filters,
                      const Tensor& output_shape, const ConvAttrs& attrs = {});
Tensor conv1d_transpose(const Tensor& input, const Tensor& filters,
                        const Shape& output_shape, ConvAttrs attrs = {});
Tensor conv2d_transpose(const Tensor& input, const Tensor& filters,
                        const Shape& output_shape, const ConvAttrs& attrs = {});
Tensor conv3d_transpose(const Tensor& input, const Tensor& filters,
                        const Shape& output_shape, const ConvAttrs& attrs = {});

/// Gradients of convolutions as ops with gradients of their own. Sizes are integer
/// vectors.
Tensor conv_backprop_input(const Tensor& input_sizes, const Tensor& filters,
                           const Tensor& out_backprop, const ConvAttrs& attrs = {});
Tensor conv_backprop_filter(const Tensor& input, const Tensor& filter_sizes,
                            const Tensor& out_backprop, const ConvAttrs& attrs = {});

/// Each channel with filters of its own: filters [h, w, channels, multiplier], output
/// channel c * multiplier + m.
Tensor depthwise_conv2d(const Tensor& input, const Tensor& filters,
                        const ConvAttrs& attrs = {});
Tensor depthwise_conv2d_backprop_input(const Tensor& input_sizes, const Tensor& filters,
                                       const Tensor& out_backprop,
                                       const ConvAttrs& attrs = {});
Tensor depthwise_conv2d_backprop_filter(const Tensor& input, const Tensor& filter_sizes,
                                        const Tensor& out_backprop,
                                        const ConvAttrs& attrs = {});
/// A depthwise convolution followed by a 1×1 convolution.
Tensor separable_conv2d(const Tensor& input, const Tensor& depthwise_filters,
                        const Tensor& pointwise_filters, const ConvAttrs& attrs = {});

struct PoolAttrs {
  Ints ksize = {2};
  Ints strides = {};  // empty: as ksize
  Padding padding = Padding::kValid;
  Ints explicit_paddings = {};
  DataFormat data_format = DataFormat::kNHWC;
  TANDEM_ATTRS(PoolAttrs, ksize, strides, padding, explicit_paddings, data_format)
};

/// Maximum or average over windows of 1, 2 or 3 spatial dimensions, by the rank of the
/// input. Padding counts neither for the maximum nor for the average.
Tensor max_pool(const Tensor& input, const PoolAttrs& attrs = {});
Tensor max_pool1d(const Tensor& input, const PoolAttrs& attrs = {});
Tensor max_pool2d(const Tensor& input, const PoolAttrs& attrs = {});
Tensor max_pool3d(const Tensor& input, const PoolAttrs& attrs = {});
Tensor avg_pool(const Tensor& input, const PoolAttrs& attrs = {});
Tensor avg_pool1d(const Tensor& input, const PoolAttrs& attrs = {});
Tensor avg_pool2d(const Tensor& input, const PoolAttrs& attrs = {});
Tensor avg_pool3d(const Tensor& input, const PoolAttrs& attrs = {});

struct MaxPoolArgmaxAttrs {
  Ints ksize = {2};
  Ints strides = {};
  Padding padding = Padding::kValid;
  DType argmax_type = DType::kInt64;
  bool include_batch_in_index = false;
  TANDEM_ATTRS(MaxPoolArgmaxAttrs, ksize, strides, padding, argmax_type,
               include_batch_in_index)
};
struct MaxPoolArgmax {
  Tensor output;
  Tensor argmax;  // flat index ((b * h + y) * w + x) * channels + c, without b unless
                  // asked for
};
MaxPoolArgmax max_pool_with_argmax(const Tensor& input, MaxPoolArgmaxAttrs attrs = {});

struct BiasAddAttrs {
  DataFormat data_format = DataFormat::kNHWC;
  TANDEM_ATTRS(BiasAddAttrs, data_format)
};
/// value + bias, where bias is a vector over the channels.
Tensor bias_add(const Tensor& value, const Tensor& bias, BiasAddAttrs attrs = {});

}  // namespace tandem::nn
