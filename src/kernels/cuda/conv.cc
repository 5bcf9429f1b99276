// Convolutions and their gradients by kernels of our own: any number of spatial
// dimensions, groups, dilations and paddings, channels first or last. float32 rounds its
// operands to TF32 where that is allowed; half precision adds up in float32, float64 in
// itself. The gradient by the filter is cut into parts by sizes alone: the same bits
// every time.
#include "kernels/cuda/conv.h"

#include <fmt/format.h>

#include "kernels/cuda/blas_product.h"
#include "kernels/cuda/expression.h"
#include "kernels/cuda/families.h"
#include "ops/fused_products.h"

namespace tandem::cuda {

std::string conv_text(const nn::ConvShape& conv, DType dtype, const ConvForm& form,
                      const ProductEnd& end) {
  std::string text = text_prefix(false) + end_text(end, dtype);
  text += fmt::format(
      "constexpr bool kTensorCores = {}, kChannelsFirst = {};\n"
      "constexpr int kTiles = {}, kRowWarps = {}, kInnerWarps = {}, kParts = {};\n"
      "constexpr i64 kBatch = {};\n"
      "constexpr int kChannels = {}, kFilters = {}, kGroups = {};\n",
      form.tensor_cores, conv.channels_first, form.tiles, form.row_warps,
      form.inner_warps, form.parts, conv.batch, conv.in_per_group(), conv.out_per_group(),
      conv.groups);
  // Three spatial dimensions; those that are not there have one place.
  const auto list = [&](const char* name, auto member, int64_t missing) {
    text += fmt::format("constexpr int {}[3] = {{", name);
    for (int d = conv.spatial - 3; d < conv.spatial; ++d) {
      text += fmt::format("{}{}", d < 0 ? missing : member(conv.dims[d]),
                          d + 1 < conv.spatial ? ", " : "};\n");
    }
  };
  using Dim = nn::WindowDim;
  list("kIn", [](const Dim& d) { return d.in; }, 1);
  list("kOut", [](const Dim& d) { return d.out; }, 1);
  list("kSize", [](const Dim& d) { return d.size; }, 1);
  list("kStride", [](const Dim& d) { return d.stride; }, 1);
  list("kDilation", [](const Dim& d) { return d.dilation; }, 1);
  list("kBefore", [](const Dim& d) { return d.before; }, 0);
  text += device_text("tile.cuh");
  return text + std::string(device_text("conv.cuh"));
}

namespace {

enum class Direction { kForward, kByInput, kByFilter };

struct ConvPlan {
  Function function, add_parts;
  Grid grid;
  int64_t out_elements = 0;
  size_t element = 4;
  size_t workspace_bytes = 0;
  bool bias = false;
  bool nothing = false;  // no element to compute from: zeros
};

/// Of a grid in the directions of columns and groups.
constexpr int64_t kMostBlocks = 65535;

int64_t up(int64_t n, int64_t by) { return (n + by - 1) / by; }

ConvPlan plan(const Signature& s, const nn::ConvShape& conv, Direction direction,
              const ProductEnd& end) {
  const DType dtype = s.out().dtype;
  CudaDevice& gpu = gpu_of(s);
  gpu.activate();
  ConvPlan p;
  p.element = dtype_size(dtype);
  p.out_elements = s.out().shape.num_elements();
  p.bias = end.bias;
  if (p.out_elements == 0) return p;
  const int64_t taps = conv.taps(), in = conv.in_positions(), out = conv.out_positions();
  int64_t rows = conv.batch * out, columns = conv.out_per_group();
  int64_t inner = taps * conv.in_per_group();
  const char* entry = "forward";
  if (direction == Direction::kByInput) {
    rows = conv.batch * in;
    columns = conv.in_per_group();
    inner = taps * conv.out_per_group();
    entry = "by_input";
  } else if (direction == Direction::kByFilter) {
    rows = taps * conv.in_per_group();
    inner = conv.batch * out;
    entry = "by_filter";
  }
  if (inner == 0 && end.empty()) {
    p.nothing = true;
    return p;
  }
  ConvForm form;
  form.tensor_cores = tile_tensor_cores(gpu, dtype);
  form.tiles = columns <= 8 ? 1 : columns <= 16 ? 2 : 4;
  const int64_t column_tiles = up(columns, int64_t{8} * form.tiles);
  const int64_t busy = int64_t{4} * gpu.multiprocessors();
  if (direction == Direction::kByFilter) {
    form.row_warps = 1;
    form.inner_warps = 8;
    // Each warp adds up at least eight steps.
    const int64_t blocks = up(rows, 16) * column_tiles * conv.groups;
    form.parts = static_cast<int>(std::clamp<int64_t>(
        std::min({up(busy, blocks), inner / (8 * 8 * 8), kMostBlocks / conv.groups}), 1,
        512));
    p.workspace_bytes = static_cast<size_t>(form.parts * p.out_elements) *
                        (dtype == DType::kFloat64 ? 8 : 4);
  } else {
    // Few rows: warps share the inner dimension instead.
    const bool few = up(rows, 64) * column_tiles * conv.groups < busy && inner >= 64;
    form.row_warps = few ? 1 : 4;
    form.inner_warps = few ? 4 : 1;
  }
  const std::string text = conv_text(conv, dtype, form, end);
  p.function = find_function(s.device, s.op->name, text, entry);
  if (direction == Direction::kByFilter) {
    p.add_parts = find_function(s.device, s.op->name, text, "add_parts");
  }
  p.grid = {.x = static_cast<unsigned>(up(rows, int64_t{16} * form.row_warps)),
            .y = static_cast<unsigned>(column_tiles),
            .z = static_cast<unsigned>(conv.groups * form.parts),
            .threads = static_cast<unsigned>(32 * form.row_warps * form.inner_warps)};
  return p;
}

bool is_depthwise(const Signature& s) { return s.op->name.starts_with("Depthwise"); }
nn::ConvShape shape_of(const Signature& s, const nn::ConvAttrs& attrs, const Shape& input,
                       const Shape& filter) {
  return nn::conv_shape(s.op->name, attrs, is_depthwise(s), input, filter);
}

nn::ConvShape forward_shape(const Signature& s) {
  return shape_of(s, s.attrs.as<nn::ConvAttrs>(), s.in(0).shape, s.in(1).shape);
}
nn::ConvShape fused_shape(const Signature& s) {
  return shape_of(s, s.attrs.as<FusedConvAttrs>().convolution(), s.in(0).shape,
                  s.in(1).shape);
}
nn::ConvShape by_input_shape(const Signature& s) {
  return shape_of(s, s.attrs.as<nn::ConvAttrs>(), s.out().shape, s.in(1).shape);
}
nn::ConvShape by_filter_shape(const Signature& s) {
  return shape_of(s, s.attrs.as<nn::ConvAttrs>(), s.in(0).shape, s.out().shape);
}

bool in_grid(const nn::ConvShape& c) {
  return c.groups <= kMostBlocks && c.in_per_group() <= kMostBlocks &&
         c.out_per_group() <= kMostBlocks;
}
bool forward_fits(const Signature& s) { return in_grid(forward_shape(s)); }
bool fused_fits(const Signature& s) { return in_grid(fused_shape(s)); }
bool by_input_fits(const Signature& s) { return in_grid(by_input_shape(s)); }
bool by_filter_fits(const Signature& s) { return in_grid(by_filter_shape(s)); }

ConvPlan prepare_forward(const Signature& s) {
  return plan(s, forward_shape(s), Direction::kForward, {});
}
ConvPlan prepare_fused(const Signature& s) {
  const auto& attrs = s.attrs.as<FusedConvAttrs>();
  return plan(s, fused_shape(s), Direction::kForward,
              {.bias = s.inputs.size() > 2 && s.in(2).dtype != DType::kInvalid,
               .activation = attrs.activation,
               .alpha = attrs.alpha});
}
ConvPlan prepare_by_input(const Signature& s) {
  return plan(s, by_input_shape(s), Direction::kByInput, {});
}
ConvPlan prepare_by_filter(const Signature& s) {
  return plan(s, by_filter_shape(s), Direction::kByFilter, {});
}

bool zeros(const ConvPlan& p, const LaunchArgs& a) {
  if (p.out_elements && !p.nothing) return false;
  fill_zeros(*a.stream, a.outputs[0], static_cast<size_t>(p.out_elements) * p.element);
  return true;
}
void launch_forward(const ConvPlan& p, const LaunchArgs& a) {
  if (zeros(p, a)) return;
  const void* bias = p.bias ? a.inputs[2] : nullptr;
  launch(p.function, *a.stream, p.grid, a.inputs[0], a.inputs[1], bias, a.outputs[0]);
}
void launch_by_input(const ConvPlan& p, const LaunchArgs& a) {
  if (zeros(p, a)) return;
  launch(p.function, *a.stream, p.grid, a.inputs[1], a.inputs[2], a.outputs[0]);
}
void launch_by_filter(const ConvPlan& p, const LaunchArgs& a) {
  if (zeros(p, a)) return;
  launch(p.function, *a.stream, p.grid, a.inputs[0], a.inputs[2], a.workspace);
  launch(p.add_parts, *a.stream, grid_for(p.add_parts, p.out_elements), a.workspace,
         a.outputs[0]);
}

}  // namespace

void register_conv(Kernels& kernels) {
  struct Trio {
    const char *forward, *by_input, *by_filter;
  };
  for (const Trio& t :
       {Trio{"Conv2D", "Conv2DBackpropInput", "Conv2DBackpropFilter"},
        Trio{"Conv3D", "Conv3DBackpropInputV2", "Conv3DBackpropFilterV2"},
        Trio{"DepthwiseConv2dNative", "DepthwiseConv2dNativeBackpropInput",
             "DepthwiseConv2dNativeBackpropFilter"}}) {
    const auto id = [](const char* op) { return std::string("cuda.tiles.") + op; };
    kernels.add(make_kernel<prepare_forward, launch_forward>(t.forward, id(t.forward),
                                                             kFloats, forward_fits));
    kernels.add(make_kernel<prepare_by_input, launch_by_input>(t.by_input, id(t.by_input),
                                                               kFloats, by_input_fits));
    kernels.add(make_kernel<prepare_by_filter, launch_by_filter>(
        t.by_filter, id(t.by_filter), kFloats, by_filter_fits));
  }
  kernels.add(make_kernel<prepare_fused, launch_forward>(
      "FusedConv2D", "cuda.tiles.FusedConv2D", kFloats, fused_fits));
}

}  // namespace tandem::cuda
