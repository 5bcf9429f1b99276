// DenseBincount (int32, int64 values; int32, int64, float32, float64 counts) and
// HistogramFixedWidth (the same four as values).
#include <bit>

#include <fmt/format.h>

#include "kernels/cuda/families.h"
#include "kernels/cuda/scatter.h"
#include "tandem/ops/reduce.h"

namespace tandem::cuda {

std::string bincount_text(DType values, DType bins) {
  return std::string(device_text("prelude.cuh")) +
         fmt::format("typedef {} X;\ntypedef {} W;\n", type_text(values),
                     type_text(bins)) +
         std::string(device_text("count.cuh"));
}
std::string histogram_text(DType values, DType bins) {
  return std::string(device_text("prelude.cuh")) +
         fmt::format("typedef {} T;\ntypedef {} W;\n#define HISTOGRAM\n",
                     type_text(values), type_text(bins)) +
         std::string(device_text("count.cuh"));
}

namespace {

/// The layout is known to device/count.cuh.
struct CountArgs {
  const void* x = nullptr;
  const void* weights = nullptr;
  void* out = nullptr;
  int64_t rows = 1, n = 0, bins = 0, chunks = 1, chunk = 1;
  int32_t binary = 0, in_shared = 0;
};
struct CountPlan {
  Function function;
  CountArgs args;
  bool weighted = false;
  size_t out_bytes = 0;
  unsigned shared = 0;
  std::shared_ptr<ErrorSite> site;
};

constexpr int64_t kChunk = 8192;
constexpr size_t kShared = 48 << 10;

void cut_work(const Signature& s, CountPlan& p) {
  CountArgs& a = p.args;
  const size_t bins = static_cast<size_t>(a.bins) * dtype_size(s.out().dtype);
  p.out_bytes = static_cast<size_t>(a.rows) * bins;
  // A chunk is worth its bins, which are cleared and added up for each.
  a.in_shared = bins <= kShared && a.bins <= a.n;
  a.chunk = a.in_shared ? std::max(kChunk, 4 * a.bins) : kChunk;
  a.chunks = (a.n + a.chunk - 1) / a.chunk;
  p.shared = a.in_shared ? static_cast<unsigned>(bins) : 0;
}
Grid count_grid(const CountPlan& p) {
  Grid grid = grid_for(p.function, p.args.rows * p.args.chunks * 256);
  grid.shared = p.shared;
  return grid;
}

CountPlan prepare_bincount(const Signature& s) {
  const Shape& x = s.in(0).shape;
  CountPlan p;
  p.args.rows = x.rank() == 2 ? x[0] : 1;
  p.args.n = x.rank() == 2 ? x[1] : x.num_elements();
  p.args.bins = s.out().shape.dim(-1);
  p.args.binary = s.attrs.as<BincountAttrs>().binary_output;
  p.weighted = s.in(2).shape.num_elements() > 0;
  cut_work(s, p);
  p.function = find_function(s.device, s.op->name,
                             bincount_text(s.in(0).dtype, s.out().dtype), "bincount");
  p.site = std::make_shared<ErrorSite>([](const Report&) {
    return std::string("DenseBincount: Input arr must be non-negative!");
  });
  return p;
}
/// Blocks add fractions in any order.
bool any_order(const Signature& s) {
  return !(s.deterministic && is_floating(s.out().dtype) &&
           s.in(2).shape.num_elements() > 0);
}
void launch_bincount(const CountPlan& p, const LaunchArgs& a) {
  fill_zeros(*a.stream, a.outputs[0], p.out_bytes);
  if (p.args.rows * p.args.n == 0) return;
  CountArgs args = p.args;
  args.x = a.inputs[0];
  if (p.weighted) args.weights = a.inputs[2];
  args.out = a.outputs[0];
  launch(p.function, *a.stream, count_grid(p), args, flags_of(a), p.site->id());
}

std::string range_words(DType dtype, const Report& r) {
  if (r.code == 2) return "HistogramFixedWidth: Histogram values must not contain NaN";
  const auto low = std::bit_cast<double>(r.value), high = std::bit_cast<double>(r.extra);
  const auto words = [](auto a, auto b) {
    return fmt::format(
        "HistogramFixedWidth: value_range should satisfy value_range[0] < "
        "value_range[1], but got '[{}, {}]'",
        a, b);
  };
  if (is_integer(dtype)) {
    return words(static_cast<int64_t>(low), static_cast<int64_t>(high));
  }
  if (dtype == DType::kFloat32) {
    return words(static_cast<float>(low), static_cast<float>(high));
  }
  return words(low, high);
}
CountPlan prepare_histogram(const Signature& s) {
  CountPlan p;
  p.args.n = s.in(0).shape.num_elements();
  p.args.bins = s.out().shape[0];
  cut_work(s, p);
  p.function = find_function(s.device, s.op->name,
                             histogram_text(s.in(0).dtype, s.out().dtype), "histogram");
  p.site = std::make_shared<ErrorSite>(
      [dtype = s.in(0).dtype](const Report& r) { return range_words(dtype, r); });
  return p;
}
void launch_histogram(const CountPlan& p, const LaunchArgs& a) {
  fill_zeros(*a.stream, a.outputs[0], p.out_bytes);
  CountArgs args = p.args;
  args.x = a.inputs[0];
  args.out = a.outputs[0];
  // Without values too: the range may be wrong.
  launch(p.function, *a.stream, count_grid(p), args, a.inputs[1], flags_of(a),
         p.site->id());
}

}  // namespace

void register_count(Kernels& kernels) {
  kernels.add(make_kernel<prepare_bincount, launch_bincount>(
      "DenseBincount", "cuda.bincount", 0, any_order));
  kernels.add(make_kernel<prepare_histogram, launch_histogram>("HistogramFixedWidth",
                                                               "cuda.histogram"));
}

}  // namespace tandem::cuda
