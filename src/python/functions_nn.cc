// Convolutions, pooling and dropout of the C++ interface, which take windows, strides and
// layouts in all of TensorFlow's forms.
#include <fmt/format.h>
#include <nanobind/stl/string.h>

#include "python/bind.h"
#include "python/casters.h"
#include "tandem/ops/nn.h"

namespace tandem::python {

namespace {

template <class Enum>
Enum by_name(const std::string& name, const char* what) {
  const auto& names = attr_names(Enum{});
  std::string known;
  for (size_t i = 0; i < names.size(); ++i) {
    if (names[i] == name) return static_cast<Enum>(i);
    known += (known.empty() ? "" : ", ") + std::string(names[i]);
  }
  throw ValueError(fmt::format("{} must be one of {}, got '{}'", what, known, name));
}

nn::ConvAttrs conv_attrs(const Ints& strides, const std::string& padding,
                         const Ints& explicit_, const std::string& data_format,
                         const Ints& dilations) {
  return {.strides = strides,
          .padding = by_name<nn::Padding>(padding, "padding"),
          .explicit_paddings = explicit_,
          .data_format = by_name<nn::DataFormat>(data_format, "data_format"),
          .dilations = dilations};
}

nn::PoolAttrs pool_attrs(const Ints& ksize, const Ints& strides,
                         const std::string& padding, const Ints& explicit_,
                         const std::string& data_format) {
  return {.ksize = ksize,
          .strides = strides,
          .padding = by_name<nn::Padding>(padding, "padding"),
          .explicit_paddings = explicit_,
          .data_format = by_name<nn::DataFormat>(data_format, "data_format")};
}

template <auto function>
auto conv() {
  return [](const Tensor& input, const Tensor& filters, const Ints& strides,
            const std::string& padding, const Ints& explicit_,
            const std::string& data_format, const Ints& dilations) {
    return function(input, filters,
                    conv_attrs(strides, padding, explicit_, data_format, dilations));
  };
}

template <auto function>
auto pool() {
  return [](const Tensor& input, const Ints& ksize, const Ints& strides,
            const std::string& padding, const Ints& explicit_,
            const std::string& data_format) {
    return function(input, pool_attrs(ksize, strides, padding, explicit_, data_format));
  };
}

}  // namespace

void bind_nn_functions(nb::module_& f) {
  f.def("convolution", conv<nn::convolution>(), Unlocked());
  f.def("depthwise_conv2d", conv<nn::depthwise_conv2d>(), Unlocked());
  f.def(
      "conv_transpose",
      [](const Tensor& input, const Tensor& filters, const Tensor& output_shape,
         const Ints& strides, const std::string& padding, const Ints& explicit_,
         const std::string& data_format, const Ints& dilations) {
        return nn::conv_transpose(
            input, filters, output_shape,
            conv_attrs(strides, padding, explicit_, data_format, dilations));
      },
      Unlocked());
  f.def(
      "separable_conv2d",
      [](const Tensor& input, const Tensor& depthwise, const Tensor& pointwise,
         const Ints& strides, const std::string& padding, const Ints& explicit_,
         const std::string& data_format, const Ints& dilations) {
        return nn::separable_conv2d(
            input, depthwise, pointwise,
            conv_attrs(strides, padding, explicit_, data_format, dilations));
      },
      Unlocked());
  f.def("max_pool", pool<nn::max_pool>(), Unlocked());
  f.def("avg_pool", pool<nn::avg_pool>(), Unlocked());
  f.def(
      "local_response_normalization",
      [](const Tensor& x, int64_t depth_radius, double bias, double alpha, double beta) {
        return nn::local_response_normalization(
            x,
            {.depth_radius = depth_radius, .bias = bias, .alpha = alpha, .beta = beta});
      },
      Unlocked());
  f.def(
      "dropout",
      [](const Tensor& x, double rate, const Ints& noise_shape, int64_t seed) {
        return nn::dropout(x, {.rate = rate, .noise_shape = noise_shape, .seed = seed});
      },
      nb::arg("x"), nb::arg("rate"), nb::arg("noise_shape").none(), nb::arg("seed"),
      Unlocked());
  f.def(
      "stateless_dropout",
      [](const Tensor& x, const Ints& seed, double rate, const Ints& noise_shape) {
        if (seed.size() != 2) throw ValueError("seed must have shape [2]");
        return nn::stateless_dropout(x, {seed[0], seed[1]},
                                     {.rate = rate, .noise_shape = noise_shape});
      },
      nb::arg("x"), nb::arg("seed"), nb::arg("rate"), nb::arg("noise_shape").none(),
      Unlocked());
}

}  // namespace tandem::python
