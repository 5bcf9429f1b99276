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
#include "kernels/cuda/library_conv.h"

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

/// Of a grid in the directions of columns and groups.
constexpr int64_t kMostTileBlocks = 65535;

}  // namespace

bool tiles_fit(const ConvCase& c) {
  const nn::ConvShape& conv = c.shape;
  return conv.groups <= kMostTileBlocks && conv.in_per_group() <= kMostTileBlocks &&
         conv.out_per_group() <= kMostTileBlocks;
}

TilesPlan plan_tiles(const Signature& s, const ConvCase& c) {
  const nn::ConvShape& conv = c.shape;
  const ConvDirection direction = c.direction;
  const DType dtype = c.dtype;
  CudaDevice& gpu = gpu_of(s);
  gpu.activate();
  TilesPlan p;
  p.conv = c;
  p.element = dtype_size(dtype);
  p.out_elements = s.out().shape.num_elements();
  if (p.out_elements == 0) return p;
  const int64_t taps = conv.taps(), in = conv.in_positions(), out = conv.out_positions();
  int64_t rows = conv.batch * out, columns = conv.out_per_group();
  int64_t inner = taps * conv.in_per_group();
  const char* entry = "forward";
  if (direction == ConvDirection::kByInput) {
    rows = conv.batch * in;
    columns = conv.in_per_group();
    inner = taps * conv.out_per_group();
    entry = "by_input";
  } else if (direction == ConvDirection::kByFilter) {
    rows = taps * conv.in_per_group();
    inner = conv.batch * out;
    entry = "by_filter";
  }
  // Nothing is added up; or the filter's channels have no counterparts in an input
  // without any.
  if (rows == 0 || columns == 0 || (inner == 0 && c.end.empty())) {
    p.nothing = true;
    return p;
  }
  ConvForm form;
  form.tensor_cores = tile_tensor_cores(gpu, dtype);
  form.tiles = columns <= 8 ? 1 : columns <= 16 ? 2 : 4;
  const int64_t column_tiles = up(columns, int64_t{8} * form.tiles);
  const int64_t busy = int64_t{4} * gpu.multiprocessors();
  if (direction == ConvDirection::kByFilter) {
    form.row_warps = 1;
    form.inner_warps = 8;
    // Each warp adds up at least four steps, whose loads are under way together.
    const int64_t blocks = up(rows, 16) * column_tiles * conv.groups;
    form.parts = static_cast<int>(std::clamp<int64_t>(
        std::min({up(busy, blocks), inner / (8 * 8 * 4), kMostTileBlocks / conv.groups}),
        1, 512));
    p.workspace_bytes = static_cast<size_t>(form.parts * p.out_elements) *
                        (dtype == DType::kFloat64 ? 8 : 4);
  } else {
    // Few rows: warps share the inner dimension instead.
    const bool few = up(rows, 64) * column_tiles * conv.groups < busy && inner >= 64;
    form.row_warps = few ? 1 : 4;
    form.inner_warps = few ? 4 : 1;
  }
  const std::string text = conv_text(conv, dtype, form, c.end);
  p.function = find_function(s.device, s.op->name, text, entry);
  if (direction == ConvDirection::kByFilter) {
    p.add_parts = find_function(s.device, s.op->name, text, "add_parts");
  }
  p.grid = {.x = static_cast<unsigned>(up(rows, int64_t{16} * form.row_warps)),
            .y = static_cast<unsigned>(column_tiles),
            .z = static_cast<unsigned>(conv.groups * form.parts),
            .threads = static_cast<unsigned>(32 * form.row_warps * form.inner_warps)};
  return p;
}

void run_tiles(const TilesPlan& p, const LaunchArgs& a) {
  if (p.out_elements == 0 || p.nothing) {
    return fill_zeros(*a.stream, a.outputs[0],
                      static_cast<size_t>(p.out_elements) * p.element);
  }
  const ConvOperands x = conv_operands(p.conv, a.inputs, a.outputs);
  switch (p.conv.direction) {
    case ConvDirection::kForward:
      return launch(p.function, *a.stream, p.grid, x.input, x.filter, x.bias, x.output);
    case ConvDirection::kByInput:
      return launch(p.function, *a.stream, p.grid, x.filter, x.output, x.input);
    case ConvDirection::kByFilter:
      launch(p.function, *a.stream, p.grid, x.input, x.output, a.workspace);
      launch(p.add_parts, *a.stream,
             Grid{.x = static_cast<unsigned>(
                      std::min<int64_t>(up(p.out_elements, 32), int64_t{1} << 20)),
                  .threads = 512},
             a.workspace, x.filter);
  }
}

namespace {

bool conv_tiles_fit(const Signature& s) {
  const ConvCase c = conv_case(s);
  return tiles_fit(c) && !library_is_far_better(c);
}
TilesPlan prepare_conv_tiles(const Signature& s) { return plan_tiles(s, conv_case(s)); }

}  // namespace

void register_conv(Kernels& kernels) {
  for (const std::string& op : conv_ops()) {
    kernels.add(make_kernel<prepare_conv_tiles, run_tiles>(op, "cuda.tiles." + op,
                                                           kFloats, conv_tiles_fit));
  }
}

}  // namespace tandem::cuda
