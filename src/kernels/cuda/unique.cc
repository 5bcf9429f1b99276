// Unique, UniqueV2, UniqueWithCounts, UniqueWithCountsV2, ListDiff: any dtype but
// strings.
#include <bit>

#include <fmt/format.h>

#include "kernels/cuda/compact.h"
#include "kernels/cuda/families.h"
#include "kernels/cuda/scatter.h"
#include "tandem/ops/array.h"
#include "tandem/ops/indexing.h"

namespace tandem::cuda {

/// `end`: "unique.cuh" or "list_diff.cuh".
std::string slices_text(DType dtype, DType index, const char* end) {
  const bool by_value = is_floating(dtype) || is_complex(dtype);
  return std::string(device_text("prelude.cuh")) +
         fmt::format("typedef {} T;\ntypedef {} X;\n",
                     by_value ? type_text(dtype) : bits_text(dtype_size(dtype)),
                     type_text(index)) +
         std::string(device_text("slices.cuh")) + std::string(device_text(end)) +
         std::string(device_text("compact.cuh"));
}

namespace {

/// The layouts are known to device/slices.cuh, unique.cuh and list_diff.cuh.
struct Slices {
  const void* x = nullptr;
  int64_t outer = 1, n = 0, inner = 1;
};
struct UniqueArgs {
  Slices s;
  uint64_t* table = nullptr;
  int64_t* first = nullptr;
  int64_t* slot_of = nullptr;
  int64_t* number = nullptr;
  int64_t* places = nullptr;
  int64_t slots = 0;
};
struct ListDiffArgs {
  Slices x, y;
  uint64_t* table = nullptr;
  int64_t slots = 0;
  void* values = nullptr;
  void* places = nullptr;
};

/// Room for n keys, half of it free.
int64_t slots_for(int64_t n) {
  return static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(2 * n + 2)));
}
size_t word_bytes(int64_t n) { return static_cast<size_t>(n) * sizeof(int64_t); }

// ---- Unique
// ----------------------------------------------------------------------------
struct UniquePlan {
  Function find, numbers, slices;
  Compaction compaction;
  UniqueArgs args;
  Shape shape;
  int axis = 0;
  DType index = DType::kInt32;
  bool counts = false;
  size_t workspace_bytes = 0;  // table, first; slots, numbers, places; counts of tiles
};
template <bool kCounts>
UniquePlan prepare_unique(const Signature& s) {
  UniquePlan p;
  p.counts = kCounts;
  p.index = s.attrs.as<UniqueAttrs>().out_idx;
  p.shape = s.in(0).shape;
  if (s.inputs.size() > 1 && !s.in(1).value.empty()) {
    const int64_t axis = s.in(1).value[0];
    p.axis = static_cast<int>(axis < 0 ? axis + p.shape.rank() : axis);
  }
  p.args.s.outer = dim_product(p.shape, 0, p.axis);
  p.args.s.n = p.shape[p.axis];
  p.args.s.inner = dim_product(p.shape, p.axis + 1, p.shape.rank());
  if (p.args.s.inner == 0) p.args.s.outer = 0;  // nothing to compare, however often
  p.args.slots = slots_for(p.args.s.n);
  const std::string text = slices_text(s.in(0).dtype, p.index, "unique.cuh");
  p.find = find_function(s.device, s.op->name, text, "find_slots");
  p.numbers = find_function(s.device, s.op->name, text, "write_numbers");
  p.slices = find_function(s.device, s.op->name, text, "write_slices");
  p.compaction = Compaction(s, text, p.args.s.n);
  p.workspace_bytes =
      word_bytes(2 * p.args.slots + 3 * p.args.s.n) + p.compaction.workspace_bytes();
  return p;
}
void launch_unique(const UniquePlan& p, const LaunchArgs& a, OutputAllocator& outputs) {
  const StreamContext& stream = *a.stream;
  const int64_t n = p.args.s.n;
  UniqueArgs args = p.args;
  args.s.x = a.inputs[0];
  args.table = static_cast<uint64_t*>(a.workspace);
  args.first = static_cast<int64_t*>(a.workspace) + args.slots;
  args.slot_of = args.first + args.slots;
  args.number = args.slot_of + n;
  args.places = args.number + n;
  int64_t* const tiles = args.places + n;
  int64_t distinct = 0;
  if (n > 0) {
    fill_bytes(stream, args.table, 0xff, word_bytes(args.slots));
    fill_bytes(stream, args.first, 0x7f, word_bytes(args.slots));  // above every number
    launch(p.find, stream, grid_for(p.find, n), args);
    distinct = p.compaction.count(stream, args, tiles);
    p.compaction.place(stream, args, tiles);
  }
  Shape shape = p.shape;
  shape.set(p.axis, distinct);
  void* y = outputs.allocate(0, shape);
  void* ids = outputs.allocate(1, {n});
  void* counts = p.counts ? outputs.allocate(2, {distinct}) : nullptr;
  if (n == 0) return;
  if (counts) {
    fill_zeros(stream, counts, static_cast<size_t>(distinct) * dtype_size(p.index));
  }
  launch(p.numbers, stream, grid_for(p.numbers, n), args, ids, counts);
  const int64_t total = shape.num_elements();
  if (total > 0) launch(p.slices, stream, grid_for(p.slices, total), args, y, distinct);
}

// ---- ListDiff
// --------------------------------------------------------------------------
struct ListDiffPlan {
  Function fill;
  Compaction compaction;
  ListDiffArgs args;
  size_t workspace_bytes = 0;  // table; counts of tiles
};
ListDiffPlan prepare_list_diff(const Signature& s) {
  ListDiffPlan p;
  p.args.x.n = s.in(0).shape.num_elements();
  p.args.y.n = s.in(1).shape.num_elements();
  p.args.slots = slots_for(p.args.y.n);
  const std::string text =
      slices_text(s.in(0).dtype, s.attrs.as<ListDiffAttrs>().out_idx, "list_diff.cuh");
  p.fill = find_function(s.device, s.op->name, text, "fill_table");
  p.compaction = Compaction(s, text, p.args.x.n);
  p.workspace_bytes = word_bytes(p.args.slots) + p.compaction.workspace_bytes();
  return p;
}
void launch_list_diff(const ListDiffPlan& p, const LaunchArgs& a,
                      OutputAllocator& outputs) {
  ListDiffArgs args = p.args;
  args.x.x = a.inputs[0];
  args.y.x = a.inputs[1];
  args.table = static_cast<uint64_t*>(a.workspace);
  int64_t* const tiles = static_cast<int64_t*>(a.workspace) + args.slots;
  fill_bytes(*a.stream, args.table, 0xff, word_bytes(args.slots));
  if (args.y.n > 0) launch(p.fill, *a.stream, grid_for(p.fill, args.y.n), args);
  const int64_t total = p.compaction.count(*a.stream, args, tiles);
  args.values = outputs.allocate(0, {total});
  args.places = outputs.allocate(1, {total});
  if (total > 0) p.compaction.place(*a.stream, args, tiles);
}

}  // namespace

void register_unique(Kernels& kernels) {
  for (const char* name : {"Unique", "UniqueV2"}) {
    kernels.add(make_kernel<prepare_unique<false>, launch_unique>(
        name, std::string("cuda.") + name, kPlain));
  }
  for (const char* name : {"UniqueWithCounts", "UniqueWithCountsV2"}) {
    kernels.add(make_kernel<prepare_unique<true>, launch_unique>(
        name, std::string("cuda.") + name, kPlain));
  }
  kernels.add(make_kernel<prepare_list_diff, launch_list_diff>("ListDiff",
                                                               "cuda.list_diff", kPlain));
}

}  // namespace tandem::cuda
