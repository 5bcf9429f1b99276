// Cases of convolutions, pooling and BiasAdd. The references visit every product one by
// one.
#include "ops/nn_windows.h"

namespace tandem::testing {

namespace {

using nn::ConvAttrs;
using nn::DataFormat;

struct Conv {
  ConvAttrs attrs;
  Shape input, filter;
  bool depthwise = false;

  bool first() const { return channels_first(attrs.data_format); }
  Sliding window() const {
    return sliding(input, filter.begin(), attrs.strides, attrs.dilations, attrs.padding,
                   attrs.explicit_paddings, first());
  }
  int64_t in_channels() const { return input[first() ? 1 : input.rank() - 1]; }
  int64_t out_channels() const {
    return depthwise ? filter.dim(-1) * filter.dim(-2) : filter.dim(-1);
  }
  Shape output() const {
    const Sliding s = window();
    Shape out{input[0]};
    if (first()) out.push_back(out_channels());
    for (int i = 3 - s.spatial; i < 3; ++i) out.push_back(s.out[i]);
    if (!first()) out.push_back(out_channels());
    return out;
  }
  /// visit(element of input, of filter, of output) for every product.
  template <class Visit>
  void products(Visit visit) const {
    const Sliding s = window();
    const int64_t ci = in_channels(), co = out_channels();
    const int64_t per = depthwise ? 1 : filter.dim(-2), groups = per ? ci / per : 1;
    const int64_t pi = s.positions(s.in), po = s.positions(s.out);
    for (int64_t b = 0; b < input[0]; ++b) {
      for_each_window(s, [&](int64_t o, int64_t tap, int64_t p) {
        if (p < 0) return;
        for (int64_t c = 0; c < co; ++c) {
          const int64_t group = c / (co / groups);
          for (int64_t k = 0; k < per; ++k) {
            const int64_t i = group * per + k;
            visit(first() ? (b * ci + i) * pi + p : (b * pi + p) * ci + i,
                  (tap * per + k) * co + c,
                  first() ? (b * co + c) * po + o : (b * po + o) * co + c);
          }
        }
      });
    }
  }
};

Reference forward_reference(const Conv& conv) {
  return [conv](const std::vector<Ref>& in, DType) {
    Ref y = zeros_of(conv.output());
    conv.products([&](int64_t i, int64_t f, int64_t o) {
      y.re(static_cast<size_t>(o)) +=
          in[0].re(static_cast<size_t>(i)) * in[1].re(static_cast<size_t>(f));
    });
    return std::vector<Ref>{y};
  };
}

void add_conv(CaseList& cases, const std::string& name, const Conv& conv,
              std::vector<DType> dtypes = {DType::kFloat32, DType::kFloat64}) {
  const bool three = conv.input.rank() == 5;
  const std::string base = conv.depthwise ? "DepthwiseConv2dNative"
                           : three        ? "Conv3D"
                                          : "Conv2D";
  const std::string suffix = three && !conv.depthwise ? "V2" : "";
  const Attrs attrs(attrs_ref(conv.attrs));
  cases.push_back({.op = base,
                   .name = name,
                   .inputs = {{.shape = conv.input}, {.shape = conv.filter}},
                   .attrs = attrs,
                   .dtypes = dtypes,
                   .reference = forward_reference(conv)});
  cases.push_back({.op = base + "BackpropInput" + suffix,
                   .name = name,
                   .inputs = {sizes_input(conv.input),
                              {.shape = conv.filter},
                              {.shape = conv.output()}},
                   .attrs = attrs,
                   .dtypes = dtypes,
                   .reference = [conv](const std::vector<Ref>& in, DType) {
                     Ref dx = zeros_of(conv.input);
                     conv.products([&](int64_t i, int64_t f, int64_t o) {
                       dx.re(i) += in[1].re(f) * in[2].re(o);
                     });
                     return std::vector<Ref>{dx};
                   }});
  cases.push_back({.op = base + "BackpropFilter" + suffix,
                   .name = name,
                   .inputs = {{.shape = conv.input},
                              sizes_input(conv.filter),
                              {.shape = conv.output()}},
                   .attrs = attrs,
                   .dtypes = dtypes,
                   .reference = [conv](const std::vector<Ref>& in, DType) {
                     Ref dw = zeros_of(conv.filter);
                     conv.products([&](int64_t i, int64_t f, int64_t o) {
                       dw.re(f) += in[0].re(i) * in[2].re(o);
                     });
                     return std::vector<Ref>{dw};
                   }});
}

void add_convs(CaseList& cases) {
  add_conv(cases, "valid", {{}, {2, 6, 5, 3}, {3, 2, 3, 4}}, kWithHalfs);
  add_conv(
      cases, "same strides",
      {{.strides = {1, 2, 3, 1}, .padding = Padding::kSame}, {2, 7, 8, 2}, {4, 3, 2, 5}});
  add_conv(cases, "groups", {{.padding = Padding::kSame}, {2, 5, 5, 6}, {3, 3, 2, 9}},
           kWithHalfs);
  add_conv(
      cases, "dilations",
      {{.padding = Padding::kSame, .dilations = {2, 3}}, {1, 9, 9, 2}, {3, 3, 2, 3}});
  add_conv(cases, "explicit",
           {{.strides = {2},
             .padding = Padding::kExplicit,
             .explicit_paddings = {0, 0, 1, 2, 0, 1, 0, 0}},
            {2, 6, 7, 3},
            {3, 3, 3, 2}});
  add_conv(cases, "channels first",
           {{.strides = {1, 1, 2, 1},
             .padding = Padding::kSame,
             .data_format = DataFormat::kNCHW},
            {2, 4, 6, 5},
            {3, 3, 2, 6}});
  add_conv(cases, "one by one", {{}, {2, 4, 4, 17}, {1, 1, 17, 5}});
  add_conv(cases, "rest left over", {{.strides = {2}}, {1, 8, 6, 2}, {3, 3, 2, 2}});
  add_conv(cases, "no batch", {{.padding = Padding::kSame}, {0, 4, 4, 2}, {3, 3, 2, 3}});
  add_conv(cases, "valid", {{.strides = {1, 2, 1}}, {2, 4, 5, 4, 3}, {2, 3, 2, 3, 4}});
  add_conv(cases, "same groups",
           {{.strides = {1, 1, 2, 2, 1}, .padding = Padding::kSame},
            {1, 3, 4, 5, 4},
            {3, 3, 2, 2, 6}},
           kWithHalfs);
  add_conv(cases, "multiplier",
           {{.padding = Padding::kSame}, {2, 5, 6, 3}, {3, 2, 3, 2}, true}, kWithHalfs);
  add_conv(cases, "strides",
           {{.strides = {1, 2, 2, 1}}, {2, 7, 6, 4}, {3, 3, 4, 1}, true});
}

// Strides and dilations that reach no second place, as large as they may be.
void add_far_windows(CaseList& cases) {
  const int64_t far = INT32_MAX;
  add_conv(cases, "a far stride", {{.strides = {far, 3}}, {1, 7, 9, 2}, {3, 3, 2, 2}});
  add_conv(cases, "a far stride",
           {{.strides = {far, 3}, .padding = Padding::kSame},
            {1, 7, 9, 2},
            {3, 3, 2, 2},
            true});
  add_conv(
      cases, "a far dilation",
      {{.padding = Padding::kSame, .dilations = {far, 1}}, {1, 7, 9, 2}, {3, 3, 2, 2}});
}

// Of an input without channels a filter's gradient is nothing but zeros.
void add_no_channels(CaseList& cases) {
  const auto add = [&](const char* op, Shape input, Shape filter, Shape gradient,
                       Ints strides) {
    In sizes{.shape = {filter.rank()}, .dtype = DType::kInt32};
    for (const int64_t n : filter) sizes.fixed.push_back(static_cast<double>(n));
    cases.push_back(
        {.op = op,
         .name = "no input channels",
         .inputs = {{.shape = input}, sizes, {.shape = gradient}},
         .attrs = Attrs(attrs_ref(ConvAttrs{.strides = strides})),
         .reference = [filter](const std::vector<Ref>&,
                               DType) { return std::vector<Ref>{zeros_of(filter)}; },
         .check_gradient = false});
  };
  add("Conv2DBackpropFilter", {2, 4, 5, 0}, {2, 2, 3, 4}, {2, 3, 2, 4}, {1, 2});
  add("Conv3DBackpropFilterV2", {2, 4, 5, 4, 0}, {2, 2, 2, 3, 4}, {2, 3, 2, 3, 4},
      {1, 2, 1});
}

}  // namespace

Reference conv_reference(const nn::ConvAttrs& attrs, const Shape& input,
                         const Shape& filter) {
  return forward_reference({attrs, input, filter});
}

void add_nn_conv_cases(CaseList& cases) {
  add_convs(cases);
  add_far_windows(cases);
  add_no_channels(cases);
}

}  // namespace tandem::testing
