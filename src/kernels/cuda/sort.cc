// Sort, ArgSort, TopKV2, NthElement, LowerBound, UpperBound: real numbers. InTopKV2:
// float32.
#include "tandem/ops/sort.h"

#include <bit>

#include <fmt/format.h>

#include "kernels/cuda/families.h"
#include "kernels/cuda/scatter.h"
#include "tandem/error.h"

namespace tandem::cuda {

std::string sort_text(DType dtype, DType index) {
  std::string kind;
  if (is_floating(dtype)) {
    const char* infinite = dtype == DType::kFloat16    ? "0x7c00"
                           : dtype == DType::kBFloat16 ? "0x7f80"
                           : dtype == DType::kFloat32  ? "0x7f800000"
                                                       : "0x7ff0000000000000ull";
    kind = fmt::format("#define FLOATING\n#define INFINITE {}\n", infinite);
  } else if (!is_unsigned(dtype)) {
    kind = "#define SIGNED\n";
  }
  return std::string(device_text("prelude.cuh")) +
         fmt::format("typedef {} T;\ntypedef {} X;\ntypedef {} K;\n{}", type_text(dtype),
                     type_text(index), bits_text(dtype_size(dtype)), kind) +
         std::string(device_text("sort.cuh"));
}

std::string search_text(DType dtype, DType index) {
  return std::string(device_text("prelude.cuh")) +
         fmt::format("typedef {} T;\ntypedef {} X;\n", type_text(dtype),
                     type_text(index)) +
         std::string(device_text("search.cuh"));
}

namespace {

// ---- Sorting
// --------------------------------------------------------------------------
/// The layout is known to device/sort.cuh.
struct SortArgs {
  const void* x = nullptr;
  void* items = nullptr;
  void* values = nullptr;
  void* indices = nullptr;
  int64_t rows = 0, n = 0, inner = 1, padded = 1, kept = 0, first = 0;
  int32_t descending = 0, zeros_differ = 0;
};
struct SortPlan {
  Function load, shared, step, store;
  SortArgs args;
  size_t item = 8;
  bool writes_values = true, writes_indices = false;
  size_t workspace_bytes = 0;
};

constexpr int64_t kSpan = 2048;  // items that a block sorts in shared memory

void finish_plan(const Signature& s, DType index, SortPlan& p) {
  SortArgs& a = p.args;
  if (a.n > INT32_MAX) {
    throw InvalidArgumentError(fmt::format(
        "{}: {} elements along the axis are more than int32 can count", s.op->name, a.n));
  }
  a.padded = static_cast<int64_t>(
      std::bit_ceil(static_cast<uint64_t>(std::max<int64_t>(a.n, 2))));
  p.item = dtype_size(s.in(0).dtype) <= 4 ? 8 : 16;
  p.workspace_bytes = static_cast<size_t>(a.rows * a.padded) * p.item;
  if (a.rows * a.kept == 0) return;
  const std::string text = sort_text(s.in(0).dtype, index);
  p.load = find_function(s.device, s.op->name, text, "sort_load");
  p.shared = find_function(s.device, s.op->name, text, "sort_shared");
  p.step = find_function(s.device, s.op->name, text, "sort_step");
  p.store = find_function(s.device, s.op->name, text, "sort_store");
}

template <bool kIndices>
SortPlan prepare_sort(const Signature& s) {
  const auto& attrs = s.attrs.as<SortAttrs>();
  const Shape& x = s.in(0).shape;
  const auto axis = static_cast<int>(attrs.axis < 0 ? attrs.axis + x.rank() : attrs.axis);
  SortPlan p;
  p.args.n = p.args.kept = x[axis];
  p.args.inner = dim_product(x, axis + 1, x.rank());
  p.args.rows = dim_product(x, 0, axis) * p.args.inner;
  p.args.descending = attrs.direction == Direction::kDescending;
  p.args.zeros_differ = !kIndices;
  p.writes_values = !kIndices;
  p.writes_indices = kIndices;
  finish_plan(s, DType::kInt32, p);
  return p;
}
SortPlan prepare_top_k(const Signature& s) {
  const Shape& x = s.in(0).shape;
  SortPlan p;
  p.args.n = x.dim(-1);
  p.args.kept = s.out(0).shape.dim(-1);
  p.args.rows = dim_product(x, 0, x.rank() - 1);
  p.args.descending = 1;
  p.writes_indices = true;
  finish_plan(s, s.out(1).dtype, p);
  return p;
}

SortPlan prepare_nth(const Signature& s) {
  const Shape& x = s.in(0).shape;
  const int64_t at = s.in(1).value[0];
  SortPlan p;
  p.args.n = x.dim(-1);
  p.args.kept = 1;
  p.args.first = s.attrs.as<NthElementAttrs>().reverse ? p.args.n - 1 - at : at;
  p.args.rows = dim_product(x, 0, x.rank() - 1);
  finish_plan(s, DType::kInt32, p);
  return p;
}

void launch_sort(const SortPlan& p, const LaunchArgs& a) {
  SortArgs args = p.args;
  if (args.rows * args.kept == 0) return;
  args.x = a.inputs[0];
  args.items = a.workspace;
  if (p.writes_values) args.values = a.outputs[0];
  if (p.writes_indices) args.indices = a.outputs[p.writes_values ? 1 : 0];
  const int64_t total = args.rows * args.padded;
  launch(p.load, *a.stream, grid_for(p.load, total), args);
  // Sizes up to a span at once; above it, wide steps one by one and narrow ones at once.
  const int64_t span =
      std::min(kSpan, static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(total))));
  const Grid blocks{
      .x = static_cast<unsigned>((total + span - 1) / span),
      .threads = static_cast<unsigned>(std::clamp<int64_t>(span / 2, 32, 1024)),
      .shared = static_cast<unsigned>(static_cast<size_t>(span) * p.item)};
  launch(p.shared, *a.stream, blocks, args.items, total, args.padded, span, int64_t{2},
         std::min(span, args.padded));
  for (int64_t size = 2 * span; size <= args.padded; size *= 2) {
    for (int64_t step = size / 2; step >= span; step /= 2) {
      launch(p.step, *a.stream, grid_for(p.step, total / 2), args.items, total,
             args.padded, size, step);
    }
    launch(p.shared, *a.stream, blocks, args.items, total, args.padded, span, size, size);
  }
  launch(p.store, *a.stream, grid_for(p.store, args.rows * args.kept), args);
}

// ---- Searching
// ------------------------------------------------------------------------
struct SearchPlan {
  Function function;
  int64_t total = 0, n = 0, per_row = 0;
  int32_t upper = 0;
};
SearchPlan prepare_bound(const Signature& s) {
  return {find_function(s.device, s.op->name, search_text(s.in(0).dtype, s.out().dtype),
                        "bound"),
          s.in(1).shape.num_elements(), s.in(0).shape[1], s.in(1).shape[1],
          s.op->name == "UpperBound"};
}
void launch_bound(const SearchPlan& p, const LaunchArgs& a) {
  if (p.total == 0) return;
  launch(p.function, *a.stream, grid_for(p.function, p.total), a.inputs[0], a.inputs[1],
         a.outputs[0], p.total, p.n, p.per_row, p.upper);
}

struct InTopKPlan {
  Function function;
  int64_t rows = 0, classes = 0, k = 0;
};
InTopKPlan prepare_in_top_k(const Signature& s) {
  return {find_function(s.device, s.op->name, search_text(DType::kFloat32, s.in(1).dtype),
                        "in_top_k"),
          s.in(0).shape[0], s.in(0).shape[1], s.in(2).value[0]};
}
void launch_in_top_k(const InTopKPlan& p, const LaunchArgs& a) {
  if (p.rows == 0) return;
  launch(p.function, *a.stream, grid_for(p.function, p.rows * 32), a.inputs[0],
         a.inputs[1], a.outputs[0], p.rows, p.classes, p.k);
}

}  // namespace

void register_sort(Kernels& kernels) {
  kernels.add(make_kernel<prepare_sort<false>, launch_sort>("Sort", "cuda.sort", kReals));
  kernels.add(
      make_kernel<prepare_sort<true>, launch_sort>("ArgSort", "cuda.argsort", kReals));
  kernels.add(make_kernel<prepare_top_k, launch_sort>("TopKV2", "cuda.top_k", kReals));
  kernels.add(
      make_kernel<prepare_nth, launch_sort>("NthElement", "cuda.nth_element", kReals));
  kernels.add(
      make_kernel<prepare_bound, launch_bound>("LowerBound", "cuda.lower_bound", kReals));
  kernels.add(
      make_kernel<prepare_bound, launch_bound>("UpperBound", "cuda.upper_bound", kReals));
  kernels.add(
      make_kernel<prepare_in_top_k, launch_in_top_k>("InTopKV2", "cuda.in_top_k"));
}

}  // namespace tandem::cuda
