// Convolutions and their gradients through cuDNN: two and three spatial dimensions,
// groups, channels first or last; float32 (TF32 as in TensorFlow unless TANDEM_TF32=0),
// float16 and bfloat16, adding up in float32. Filters are turned around into the
// library's order on the way in or out. A bias with relu is part of the library's work
// where it can be, other ends are an elementwise kernel over the result. The library's
// best proposals are kernels of their own, so that plans measure them; where it has none,
// our tiles do the work.
#include "kernels/cuda/cudnn_conv.h"

#include <limits>
#include <optional>

#include <fmt/format.h>

#include "kernels/cuda/blas_product.h"
#include "kernels/cuda/conv.h"
#include "kernels/cuda/cudnn_conv_graph.h"
#include "kernels/cuda/expression.h"
#include "kernels/cuda/families.h"
#include "kernels/cuda/library_conv.h"
#include "tandem/error.h"

namespace tandem::cuda {

std::string filter_layout_text(DType dtype) {
  return text_prefix(false) +
         fmt::format("typedef {} E;\n", bits_text(dtype_size(dtype))) +
         std::string(device_text("filter_layout.cuh"));
}

namespace {

constexpr double kSmallest = 1 << 27;          // operations worth a plan of the library
constexpr double kFarBetter = 1ll << 32;       // operations
constexpr double kWorthMeasuring = 1ll << 31;  // operations, for further proposals
constexpr int64_t kManyChannels = 32;          // of a group, in and out
constexpr int64_t kMostElements = (1ll << 31) - 1;  // of one tensor: 32-bit offsets
constexpr size_t kPlaceAligned = 256;

constexpr DTypeMask kDnnTypes =
    mask(DType::kFloat32) | mask(DType::kFloat16) | mask(DType::kBFloat16);

}  // namespace

namespace {

/// More padding on one side. Engines without tensor cores were seen to get the gradient
/// by the filter wrong then, so they are left out, and with them full precision.
bool lopsided(const nn::ConvShape& conv) {
  for (int d = 0; d < conv.spatial; ++d) {
    if (conv.dims[d].before != conv.dims[d].after) return true;
  }
  return false;
}

}  // namespace

bool cudnn_takes(const ConvCase& c) {
  if (!(kDnnTypes & mask(c.dtype)) || c.shape.spatial < 2) return false;
  for (const int64_t n : {c.in_elements(), c.filter_elements(), c.out_elements()}) {
    if (n == 0 || n > kMostElements) return false;
  }
  if (c.end.bias && c.shape.channels_first) return false;
  if (lopsided(c.shape)) {
    if (c.dtype == DType::kFloat32 && !tf32_allowed()) return false;
    // No engine is left for images of a batch that begin at odd addresses.
    const auto size = static_cast<int64_t>(dtype_size(c.dtype));
    for (const int64_t n : {c.in_elements(), c.out_elements()}) {
      if (n / c.shape.batch * size % kDnnAligned != 0) return false;
    }
  }
  return nn::conv_flops(c.shape) >= kSmallest && find_cudnn();
}

bool library_is_far_better(const ConvCase& c) {
  return c.shape.in_per_group() >= kManyChannels &&
         c.shape.out_per_group() >= kManyChannels &&
         nn::conv_flops(c.shape) >= kFarBetter && cudnn_takes(c);
}

namespace {

/// The plan for operands that are views and begin anywhere, made when one comes.
struct ViewsPlan {
  std::once_flag made;
  std::shared_ptr<const DnnPlan> plan;
};

struct CudnnConv {
  ConvCase conv;
  std::shared_ptr<const DnnPlan> plan;
  Function reverse;  // the filter's axes
  int64_t sizes[3] = {};
  std::optional<ElementwisePlan> end;  // what the library leaves
  size_t filter_at = 0, workspace_bytes = 0;
  bool end_in_plan = false, deterministic = false;
  std::optional<TilesPlan> tiles;  // where the library has nothing
  std::shared_ptr<ViewsPlan> views = std::make_shared<ViewsPlan>();
};

/// What distinguishes plans.
std::vector<int64_t> key_of(const ConvCase& c, const ConvGraphForm& form,
                            const DnnRules& rules) {
  const nn::ConvShape& s = c.shape;
  std::vector<int64_t> key = {0,  // convolutions
                              static_cast<int64_t>(c.direction),
                              static_cast<int64_t>(c.dtype),
                              s.channels_first,
                              s.batch,
                              s.in_channels,
                              s.out_channels,
                              s.groups,
                              form.alignment,
                              form.end ? 1 + !c.end.activation.empty() : 0,
                              rules.deterministic,
                              rules.tf32,
                              static_cast<int64_t>(rules.most_workspace),
                              rules.rank};
  for (int d = 0; d < s.spatial; ++d) {
    const nn::WindowDim& w = s.dims[d];
    for (const int64_t n :
         {w.in, w.out, w.size, w.stride, w.dilation, w.before, w.after}) {
      key.push_back(n);
    }
  }
  return key;
}

DnnRules rules_of(const ConvCase& c, bool deterministic, int rank) {
  return {.deterministic = deterministic,
          .float32 = c.dtype == DType::kFloat32,
          .tf32 = tf32_allowed(),
          .tensor_cores_only = lopsided(c.shape),
          .rank = rank};
}

std::shared_ptr<const DnnPlan> find_conv(CudaDevice& gpu, const ConvCase& c,
                                         const ConvGraphForm& form,
                                         const DnnRules& rules) {
  return find_plan(gpu, key_of(c, form, rules), [&](const DnnTarget& target) {
    return build_plan(conv_graph(c, form), target, rules);
  });
}

CudnnConv prepare_ranked(const Signature& s, int rank) {
  CudnnConv p;
  p.conv = conv_case(s);
  p.deterministic = s.deterministic;
  CudaDevice& gpu = gpu_of(s);
  const DnnRules rules = rules_of(p.conv, s.deterministic, rank);
  ProductEnd rest = p.conv.end;
  if (graph_has_end(rest)) {
    p.plan = find_conv(gpu, p.conv, {.end = true}, rules);
    p.end_in_plan = p.plan != nullptr;
    if (p.plan) rest = {};
  }
  if (!p.plan) p.plan = find_conv(gpu, p.conv, {}, rules);
  if (!p.plan) {
    p.tiles = plan_tiles(s, p.conv);
    p.workspace_bytes = p.tiles->workspace_bytes;
    return p;
  }
  const nn::ConvShape& shape = p.conv.shape;
  p.reverse = find_function(s.device, s.op->name, filter_layout_text(p.conv.dtype),
                            "reverse_axes");
  // Ours is [taps, input channels, output channels]. With channels last, and for single
  // taps, the first two stay together.
  const bool apart = shape.channels_first && shape.taps() > 1;
  p.sizes[0] = apart ? shape.taps() : shape.taps() * shape.in_per_group();
  p.sizes[1] = apart ? shape.in_per_group() : 1;
  p.sizes[2] = shape.out_channels;
  if (!rest.empty()) {
    p.end = plan_end(s.device, rest, p.conv.dtype, s.out().shape);
  }
  const size_t filter =
      static_cast<size_t>(p.conv.filter_elements()) * dtype_size(p.conv.dtype);
  p.filter_at =
      (p.plan->workspace_bytes + kPlaceAligned - 1) / kPlaceAligned * kPlaceAligned;
  p.workspace_bytes = p.filter_at + filter;
  return p;
}
template <int kRank>
CudnnConv prepare_cudnn_conv(const Signature& s) {
  return prepare_ranked(s, kRank);
}

const DnnPlan& plan_for_views(const CudnnConv& p, CudaDevice& gpu) {
  std::call_once(p.views->made, [&] {
    DnnRules rules = rules_of(p.conv, p.deterministic, 0);
    rules.most_workspace = p.filter_at;
    p.views->plan =
        find_conv(gpu, p.conv,
                  {.end = p.end_in_plan,
                   .alignment = static_cast<int64_t>(dtype_size(p.conv.dtype))},
                  rules);
  });
  if (!p.views->plan) {
    throw UnimplementedError(
        "cuDNN has no engine for a convolution of operands that are views at odd "
        "offsets; copy them first, or set TANDEM_CUDNN=0");
  }
  return *p.views->plan;
}

void run_conv(const CudnnConv& p, const LaunchArgs& a) {
  if (p.tiles) return run_tiles(*p.tiles, a);
  const ConvOperands x = conv_operands(p.conv, a.inputs, a.outputs);
  void* const filter = static_cast<std::byte*>(a.workspace) + p.filter_at;
  const Grid grid{
      .x = static_cast<unsigned>(std::min<int64_t>(
          (p.sizes[0] + 31) / 32 * ((p.sizes[2] + 31) / 32) * p.sizes[1], 1 << 16))};
  const bool by_filter = p.conv.direction == ConvDirection::kByFilter;
  if (!by_filter) {
    launch(p.reverse, *a.stream, grid, x.filter, filter, p.sizes[0], p.sizes[1],
           p.sizes[2]);
  }
  const int64_t ids[] = {kConvInput, kConvFilter, kConvOutput, kConvBias};
  void* const addresses[] = {x.input, filter, x.output, x.bias};
  const size_t count = p.end_in_plan ? 4 : 3;
  uint64_t together = 0;
  for (size_t i = 0; i < count; ++i) together |= reinterpret_cast<uint64_t>(addresses[i]);
  const DnnPlan& plan =
      together % kDnnAligned == 0
          ? *p.plan
          : plan_for_views(p, static_cast<CudaDevice&>(*a.stream->device));
  run_plan(plan, *a.stream, {ids, count}, {addresses, count}, a.workspace);
  if (by_filter) {
    launch(p.reverse, *a.stream, grid, filter, x.filter, p.sizes[2], p.sizes[1],
           p.sizes[0]);
  }
  if (p.end) run_end(*p.end, *a.stream, x.output, x.bias);
}

bool cudnn_conv_fits(const Signature& s) { return cudnn_takes(conv_case(s)); }
/// Further proposals are worth measuring where the work is.
bool more_fit(const Signature& s) {
  if (s.deterministic) return false;
  const ConvCase c = conv_case(s);
  return nn::conv_flops(c.shape) >= kWorthMeasuring && !lopsided(c.shape) &&
         cudnn_takes(c);
}

template <int kRank>
void add_ranked(Kernels& kernels, const std::string& op) {
  kernels.add(make_kernel<prepare_cudnn_conv<kRank>, run_conv>(
      op, fmt::format("cuda.cudnn.{}.{}", kRank + 1, op), kDnnTypes,
      kRank == 0 ? cudnn_conv_fits : more_fit));
}

}  // namespace

void register_cudnn_conv(Kernels& kernels) {
  for (const std::string& op : conv_ops()) {
    add_ranked<0>(kernels, op);
    add_ranked<1>(kernels, op);
    add_ranked<2>(kernels, op);
    add_ranked<3>(kernels, op);
    add_ranked<4>(kernels, op);
    add_ranked<5>(kernels, op);
  }
}

}  // namespace tandem::cuda
