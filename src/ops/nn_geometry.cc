#include "ops/nn_geometry.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace tandem::nn {

namespace {

[[noreturn]] void fail(const std::string& op, const std::string& message) {
  throw InvalidArgumentError(fmt::format("{}: {}", op, message));
}

std::string text(const Ints& list) {
  return fmt::format("[{}]", fmt::join(list.begin(), list.end(), ", "));
}

int first_spatial(bool channels_first) { return channels_first ? 2 : 1; }

// Explicit paddings as before/after pairs of the spatial dimensions.
Ints spatial_paddings(const std::string& op, const Ints& list, int spatial,
                      bool channels_first) {
  const size_t pairs = static_cast<size_t>(spatial);
  const bool full = list.size() == 2 * (pairs + 2);
  if (!full && list.size() != 2 * pairs) {
    fail(op,
         fmt::format("explicit_paddings attribute must contain {} values, two for each "
                     "dimension, but got {}. Give them with padding EXPLICIT.",
                     2 * (pairs + 2), text(list)));
  }
  const int from = full ? first_spatial(channels_first) : 0;
  Ints result;
  for (size_t i = 0; i < list.size(); ++i) {
    if (list[i] < 0 || list[i] > INT32_MAX) {
      fail(op, fmt::format("All elements of explicit_paddings must be nonnegative and "
                           "fit in 32 bits, got {}",
                           text(list)));
    }
    const int dim = static_cast<int>(i / 2);
    if (dim >= from && dim < from + spatial) {
      result.push_back(list[i]);
    } else if (list[i] != 0) {
      fail(op,
           fmt::format("Nonzero explicit padding in the batch or depth dimensions is not "
                       "supported, got {}. Pad these dimensions with pad().",
                       text(list)));
    }
  }
  return result;
}

int spatial_rank(const std::string& op, const Shape& input, const Shape& filter) {
  const int rank = op.starts_with("Conv3D") ? 5 : 4;
  if (input.has_rank() && input.rank() != rank) {
    fail(op, fmt::format("input must be {}-dimensional: {}. Add or merge dimensions with "
                         "reshape().",
                         rank, input.debug_str()));
  }
  if (filter.has_rank() && filter.rank() != rank) {
    fail(op, fmt::format("filter must be {}-dimensional: {}", rank, filter.debug_str()));
  }
  return rank - 2;
}

int64_t dim_or_unknown(const Shape& s, int i) {
  return s.has_rank() ? s[i] : kUnknownDim;
}

/// The step to a second window that there is not: libraries keep strides in 32 bits and
/// multiply them.
void limit_stride(WindowDim& d) {
  const int64_t padded = d.in + d.before + d.after;
  if (d.out == 1) d.stride = std::min(d.stride, std::max<int64_t>(padded, 1));
}

}  // namespace

Ints spatial_list(const std::string& op, const char* attribute, const Ints& list,
                  int spatial, bool channels_first) {
  const size_t n = static_cast<size_t>(spatial);
  Ints result;
  if (list.size() == n + 2) {
    const size_t from = static_cast<size_t>(first_spatial(channels_first));
    for (size_t i = 0; i < list.size(); ++i) {
      if (i >= from && i < from + n) {
        result.push_back(list[i]);
      } else if (list[i] != 1) {
        fail(op, fmt::format(
                     "Current implementation does not yet support {} in the batch and "
                     "depth dimensions, got {}. Use 1 there.",
                     attribute, text(list)));
      }
    }
  } else if (list.size() == n) {
    result = list;
  } else if (list.size() == 1) {
    result.resize(n, list[0]);
  } else {
    fail(op,
         fmt::format("{} must have 1, {} or {} values for {} spatial dimensions, got {}",
                     attribute, n, n + 2, n, text(list)));
  }
  for (int64_t v : result) {
    if (v < 1) {
      fail(op, fmt::format("{} should be larger than 0, got {}", attribute, text(list)));
    }
    if (v > INT32_MAX) {
      fail(op, fmt::format("{} must fit in 32 bits, got {}", attribute, text(list)));
    }
  }
  return result;
}

void place_windows(const std::string& op, Padding padding, const Ints& explicit_paddings,
                   bool channels_first, std::span<WindowDim> dims) {
  const int spatial = static_cast<int>(dims.size());
  Ints pads;
  if (padding == Padding::kExplicit) {
    pads = spatial_paddings(op, explicit_paddings, spatial, channels_first);
  } else if (!explicit_paddings.empty() &&
             std::any_of(explicit_paddings.begin(), explicit_paddings.end(),
                         [](int64_t v) { return v != 0; })) {
    fail(op,
         fmt::format("explicit_paddings attribute must be empty if the padding attribute "
                     "is not EXPLICIT, got {}",
                     text(explicit_paddings)));
  }
  for (size_t i = 0; i < dims.size(); ++i) {
    WindowDim& d = dims[i];
    if (d.size == 1) d.dilation = 1;  // between the taps there are none
    if (padding == Padding::kExplicit) {
      d.before = pads[2 * i];
      d.after = pads[2 * i + 1];
    }
    if (d.in < 0 || (d.size < 0 && padding != Padding::kSame)) {
      d.out = kUnknownDim;
      continue;
    }
    if (padding == Padding::kSame) {
      d.out = (d.in + d.stride - 1) / d.stride;
      if (d.size < 0) continue;
      // Farther apart than this all taps but the middle one lie outside, always.
      d.dilation = std::min(d.dilation, 8 * (d.in + 1));
      const int64_t total =
          std::max<int64_t>((d.out - 1) * d.stride + d.extent() - d.in, 0);
      d.before = total / 2;
      d.after = total - d.before;
      limit_stride(d);
      continue;
    }
    // TensorFlow's rule, with C++'s division: a window just too large gives an empty
    // output. Its maxima and convolutions refuse that; averages do not.
    const int64_t padded = d.in + d.before + d.after;
    d.out = (padded - d.extent() + d.stride) / d.stride;
    const bool too_large = d.in > 0 && padded < d.extent() &&
                           !op.starts_with("AvgPool") && !op.ends_with("Argmax");
    if (d.out < 0 || too_large) {
      fail(op, fmt::format(
                   "Computed output size would be negative: {} [input_size: {}, "
                   "effective_filter_size: {}, stride: {}]. Use padding SAME, a larger "
                   "input or a smaller window.",
                   std::min<int64_t>(d.out, -1), padded, d.extent(), d.stride));
    }
    limit_stride(d);
  }
}

int64_t ConvShape::in_positions() const {
  int64_t n = 1;
  for (int i = 0; i < spatial; ++i) n *= dims[i].in;
  return n;
}
int64_t ConvShape::out_positions() const {
  int64_t n = 1;
  for (int i = 0; i < spatial; ++i) n *= dims[i].out;
  return n;
}
int64_t ConvShape::taps() const {
  int64_t n = 1;
  for (int i = 0; i < spatial; ++i) n *= dims[i].size;
  return n;
}

ConvShape conv_shape(const std::string& op, const ConvAttrs& attrs, bool depthwise,
                     const Shape& input, const Shape& filter) {
  ConvShape conv;
  conv.spatial = spatial_rank(op, input, filter);
  conv.channels_first = channels_first(attrs.data_format);
  const int rank = conv.spatial + 2;
  const Ints strides =
      spatial_list(op, "strides", attrs.strides, conv.spatial, conv.channels_first);
  const Ints dilations =
      spatial_list(op, "dilations", attrs.dilations, conv.spatial, conv.channels_first);
  for (int i = 0; i < conv.spatial; ++i) {
    const auto k = static_cast<size_t>(i);
    conv.dims[i].in = dim_or_unknown(input, first_spatial(conv.channels_first) + i);
    conv.dims[i].size = dim_or_unknown(filter, i);
    conv.dims[i].stride = strides[k];
    conv.dims[i].dilation = dilations[k];
    if (conv.dims[i].size == 0) {
      fail(op,
           fmt::format("filter must not have zero elements (i.e. all dimensions must be "
                       "non-zero), but its shape is {}",
                       filter.debug_str()));
    }
  }
  place_windows(op, attrs.padding, attrs.explicit_paddings, conv.channels_first,
                {conv.dims, static_cast<size_t>(conv.spatial)});
  conv.batch = dim_or_unknown(input, 0);
  conv.in_channels = dim_or_unknown(input, channel_axis(rank, conv.channels_first));
  const int64_t filter_in = dim_or_unknown(filter, rank - 2);
  const int64_t filter_out = dim_or_unknown(filter, rank - 1);
  conv.groups = kUnknownDim;
  if (depthwise) {
    if (conv.in_channels >= 0 && filter_in >= 0 && conv.in_channels != filter_in) {
      fail(op, fmt::format(
                   "input and filter must have the same depth: {} vs {} (input {}, "
                   "filter {})",
                   conv.in_channels, filter_in, input.debug_str(), filter.debug_str()));
    }
    conv.groups = conv.in_channels >= 0 ? conv.in_channels : filter_in;
    conv.in_channels = conv.groups;
    conv.out_channels =
        conv.groups < 0 || filter_out < 0 ? kUnknownDim : conv.groups * filter_out;
    return conv;
  }
  conv.out_channels = filter_out;
  if (conv.in_channels < 0 || filter_in < 0) return conv;
  if (filter_in == 0 || conv.in_channels % filter_in != 0) {
    fail(op,
         fmt::format("input depth must be evenly divisible by filter depth: {} vs {} "
                     "(input {}, filter {})",
                     conv.in_channels, filter_in, input.debug_str(), filter.debug_str()));
  }
  conv.groups = std::max<int64_t>(conv.in_channels / filter_in, 1);
  if (filter_out >= 0 && filter_out % conv.groups != 0) {
    fail(op, fmt::format(
                 "output depth must be evenly divisible by number of groups: {} vs {} "
                 "(input {}, filter {})",
                 filter_out, conv.groups, input.debug_str(), filter.debug_str()));
  }
  return conv;
}

double conv_flops(const ConvShape& conv) {
  return 2.0 * static_cast<double>(conv.batch) *
         static_cast<double>(conv.out_positions()) *
         static_cast<double>(conv.out_channels) *
         static_cast<double>(conv.in_per_group() * conv.taps());
}

Shape conv_output(const ConvShape& conv) {
  Shape out{conv.batch};
  if (conv.channels_first) out.push_back(conv.out_channels);
  for (int i = 0; i < conv.spatial; ++i) out.push_back(conv.dims[i].out);
  if (!conv.channels_first) out.push_back(conv.out_channels);
  return out;
}

PoolShape pool_shape(const std::string& op, const PoolAttrs& attrs, const Shape& input) {
  PoolShape pool;
  pool.channels_first = channels_first(attrs.data_format);
  if (!input.has_rank()) {
    throw InternalError("pool_shape: unknown rank");
  }
  if (input.rank() < 3 || input.rank() > 5) {
    fail(op, fmt::format("tensor_in must be 3-, 4- or 5-dimensional, but its shape is {}",
                         input.debug_str()));
  }
  pool.spatial = input.rank() - 2;
  const Ints sizes =
      spatial_list(op, "ksize", attrs.ksize, pool.spatial, pool.channels_first);
  const Ints strides =
      attrs.strides.empty()
          ? sizes
          : spatial_list(op, "strides", attrs.strides, pool.spatial, pool.channels_first);
  for (int i = 0; i < pool.spatial; ++i) {
    pool.dims[i].in = input[first_spatial(pool.channels_first) + i];
    pool.dims[i].size = sizes[static_cast<size_t>(i)];
    pool.dims[i].stride = strides[static_cast<size_t>(i)];
  }
  place_windows(op, attrs.padding, attrs.explicit_paddings, pool.channels_first,
                {pool.dims, static_cast<size_t>(pool.spatial)});
  for (int i = 0; i < pool.spatial; ++i) {
    const WindowDim& d = pool.dims[i];
    if (d.before >= d.size || d.after >= d.size) {
      fail(op,
           fmt::format("padding {}, {} reaches the window size {}: a window would see "
                       "padding alone",
                       d.before, d.after, d.size));
    }
  }
  pool.batch = input[0];
  pool.channels = input[channel_axis(input.rank(), pool.channels_first)];
  return pool;
}

Shape pool_output(const PoolShape& pool) {
  Shape out{pool.batch};
  if (pool.channels_first) out.push_back(pool.channels);
  for (int i = 0; i < pool.spatial; ++i) out.push_back(pool.dims[i].out);
  if (!pool.channels_first) out.push_back(pool.channels);
  return out;
}

}  // namespace tandem::nn
