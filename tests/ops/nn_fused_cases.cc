// Products and convolutions with bias and activation, against the plain references.
#include <cmath>

#include "ops/fused_products.h"
#include "ops/linalg_cases.h"
#include "ops/nn_cases.h"

namespace tandem::testing {

namespace {

using nn::ConvAttrs;
using nn::DataFormat;
using nn::Padding;

double activate(const std::string& name, double alpha, double x) {
  if (name == "Relu") return std::max(x, 0.0);
  if (name == "Relu6") return std::min(std::max(x, 0.0), 6.0);
  if (name == "LeakyRelu") return x > 0 ? x : alpha * x;
  if (name == "Elu") return x > 0 ? x : std::expm1(x);
  if (name == "Tanh") return std::tanh(x);
  if (name == "Sigmoid") return 1 / (1 + std::exp(-x));
  if (name == "GeluErf") return 0.5 * x * (1 + std::erf(x / std::sqrt(2.0)));
  if (name == "GeluTanh") {
    const double inner = std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x);
    return 0.5 * x * (1 + std::tanh(inner));
  }
  return x;
}

/// `plain`, then the bias over `channels` of every `inner` elements, then the activation.
Reference with_end(Reference plain, int64_t channels, int64_t inner,
                   const std::string& activation, double alpha) {
  return [=](const std::vector<Ref>& in, DType dtype) {
    std::vector<Ref> out = plain(in, dtype);
    Ref& y = out[0];
    for (size_t i = 0; i < y.values.size(); ++i) {
      const auto channel = static_cast<int64_t>(i) / inner % channels;
      if (in.size() > 2 && !in[2].values.empty()) {
        y.values[i] += in[2].values[static_cast<size_t>(channel)];
      }
      if (!activation.empty()) y.values[i] = activate(activation, alpha, y.re(i));
    }
    return out;
  };
}

struct Product {
  const char* name;
  Shape a, b;
  FusedMatMulAttrs attrs = {};
  bool bias = true;
  std::vector<DType> dtypes = kFloatTypes;
};

void add_fused_product(CaseList& cases, const Product& p) {
  const bool turned = p.attrs.transpose_b || p.attrs.adjoint_b;
  const int64_t n = p.b.dim(turned ? -2 : -1);
  In bias{.shape = {n}};
  bias.absent = !p.bias;
  cases.push_back(
      {.op = "FusedMatMul",
       .name = p.name,
       .inputs = {{.shape = p.a}, {.shape = p.b}, bias},
       .attrs = Attrs(attrs_ref(p.attrs)),
       .dtypes = p.dtypes,
       .reference = with_end(matmul_reference(p.attrs.product()), std::max<int64_t>(n, 1),
                             1, p.attrs.activation, p.attrs.alpha),
       .tolerance = 1e-4,
       .check_gradient = false});
}

void add_fused_products(CaseList& cases) {
  for (const FusedActivation& a : fused_activations()) {
    add_fused_product(cases,
                      {a.name, {5, 7}, {7, 9}, {.activation = a.name, .alpha = 0.3}});
  }
  const std::vector<DType> all = {DType::kFloat32,  DType::kFloat64,   DType::kFloat16,
                                  DType::kBFloat16, DType::kComplex64, DType::kComplex128,
                                  DType::kInt32,    DType::kInt64};
  add_fused_product(cases, {"bias", {5, 7}, {7, 9}, {}, true, all});
  add_fused_product(cases, {"nothing", {5, 7}, {7, 9}, {}, false, all});
  add_fused_product(cases, {"relu of integers",
                            {5, 7},
                            {7, 9},
                            {.activation = "Relu"},
                            true,
                            {DType::kInt32, DType::kInt64}});
  add_fused_product(cases, {"no bias", {5, 7}, {7, 9}, {.activation = "Tanh"}, false});
  add_fused_product(cases,
                    {"turned",
                     {7, 5},
                     {9, 7},
                     {.transpose_a = true, .transpose_b = true, .activation = "Relu"}});
  add_fused_product(cases, {"adjoint",
                            {7, 5},
                            {9, 7},
                            {.adjoint_a = true, .adjoint_b = true},
                            true,
                            {DType::kFloat32, DType::kComplex64, DType::kComplex128}});
  add_fused_product(cases, {"batch", {3, 4, 5}, {3, 5, 6}, {.activation = "Relu"}});
  add_fused_product(cases, {"broadcast", {2, 3, 4, 5}, {5, 6}, {.activation = "Elu"}});
  add_fused_product(cases, {"column", {33, 130}, {130, 1}, {.activation = "Sigmoid"}});
  add_fused_product(cases, {"no inner", {3, 0}, {0, 4}, {.activation = "Sigmoid"}});
  add_fused_product(cases, {"no rows", {0, 3}, {3, 4}, {.activation = "Relu"}});
  add_fused_product(cases, {"no columns", {3, 3}, {3, 0}, {.activation = "Relu"}});
  add_fused_product(cases, {"large", {131, 300}, {300, 139}, {.activation = "GeluTanh"}});
}

void add_fused_conv(CaseList& cases, const char* name, const Shape& input,
                    const Shape& filter, const FusedConvAttrs& attrs,
                    bool with_bias = true) {
  const bool first = channels_first(attrs.data_format);
  const Reference plain = conv_reference(attrs.convolution(), input, filter);
  const int64_t channels = filter.dim(-1);
  In bias{.shape = {channels}};
  bias.absent = !with_bias;
  // The size of a plane of the result, where channels come first.
  const auto inner = [&] {
    const Ref y = plain({zeros_of(input), zeros_of(filter)}, DType::kFloat64)[0];
    return std::max<int64_t>(1, y.shape[2] * y.shape[3]);
  };
  cases.push_back({.op = "FusedConv2D",
                   .name = name,
                   .inputs = {{.shape = input}, {.shape = filter}, bias},
                   .attrs = Attrs(attrs_ref(attrs)),
                   .dtypes = kFloatTypes,
                   .reference = with_end(plain, channels, first ? inner() : 1,
                                         attrs.activation, attrs.alpha),
                   .tolerance = 1e-4,
                   .check_gradient = false});
}

void add_fused_convs(CaseList& cases) {
  for (const FusedActivation& a : fused_activations()) {
    add_fused_conv(cases, a.name, {2, 6, 5, 3}, {3, 2, 3, 4},
                   {.activation = a.name, .alpha = 0.3});
  }
  add_fused_conv(cases, "bias", {2, 6, 5, 3}, {3, 2, 3, 4}, {});
  add_fused_conv(cases, "nothing", {2, 6, 5, 3}, {3, 2, 3, 4}, {}, false);
  add_fused_conv(cases, "no bias", {2, 6, 5, 3}, {3, 2, 3, 4}, {.activation = "Relu"},
                 false);
  add_fused_conv(cases, "channels first", {2, 4, 6, 5}, {3, 3, 2, 6},
                 {.strides = {1, 1, 2, 1},
                  .padding = Padding::kSame,
                  .data_format = DataFormat::kNCHW,
                  .activation = "Relu"});
  add_fused_conv(cases, "groups", {2, 5, 5, 6}, {3, 3, 2, 9},
                 {.padding = Padding::kSame, .dilations = {2, 1}, .activation = "Elu"});
  add_fused_conv(cases, "one by one", {2, 4, 4, 17}, {1, 1, 17, 5},
                 {.activation = "Relu"});
  add_fused_conv(cases, "no batch", {0, 4, 4, 2}, {3, 3, 2, 3},
                 {.padding = Padding::kSame, .activation = "Relu"});
}

}  // namespace

void add_nn_fused_cases(CaseList& cases) {
  add_fused_products(cases);
  add_fused_convs(cases);
}

}  // namespace tandem::testing
