// DynamicPartition: any dtype but strings, by element size. Places are sorted by list,
// stably; then every list is a gather.
#include <fmt/format.h>

#include "kernels/cuda/families.h"
#include "kernels/cuda/host_read.h"
#include "kernels/cuda/running.h"
#include "kernels/cuda/scatter.h"
#include "kernels/cuda/wide_elements.h"
#include "tandem/ops/indexing.h"

namespace tandem::cuda {

std::string gather_text(size_t element, DType index);

std::string partition_text() {
  return std::string(device_text("prelude.cuh")) +
         std::string(device_text("partition.cuh"));
}

namespace {

constexpr int64_t kPartitionTile = 2048;  // as in device/partition.cuh
constexpr int kDigits = 256, kDigitBits = 8;

struct PartitionPlan {
  Function load, count, move, starts;
  WideFunction gather;
  RunningTotals totals;
  std::shared_ptr<ErrorSite> site;
  Shape slice;
  int64_t n = 0, row = 0, lists = 0, tiles = 0;
  int passes = 1;
  size_t element = 0;
  // Running totals; starts; places and keys, each twice.
  size_t workspace_bytes = 0;
};

PartitionPlan prepare_partition(const Signature& s) {
  PartitionPlan p;
  const Shape &data = s.in(0).shape, &partitions = s.in(1).shape;
  p.lists = s.attrs.as<DynamicPartitionAttrs>().num_partitions;
  p.slice = data.slice(partitions.rank(), data.rank());
  p.n = partitions.num_elements();
  p.row = p.slice.num_elements();
  p.tiles = (p.n + kPartitionTile - 1) / kPartitionTile;
  while (p.lists > int64_t{1} << (kDigitBits * p.passes)) ++p.passes;
  p.element = dtype_size(s.in(0).dtype);
  if (p.n == 0) return p;
  const auto find = [&](const char* entry) {
    return find_function(s.device, s.op->name, partition_text(), entry);
  };
  p.load = find("load_lists");
  p.count = find("count_digits");
  p.move = find("move_digits");
  p.starts = find("list_starts");
  p.gather = WideFunction::find(s, p.element, p.row, "gather_rows", [](size_t bytes) {
    return gather_text(bytes, DType::kInt64);
  });
  p.totals = RunningTotals(s.device, kDigits * p.tiles);
  p.site = std::make_shared<ErrorSite>([op = s.op->name, partitions](const Report& r) {
    return fmt::format("{}: partitions{} = {} is not in [0, {})", op,
                       place_of(partitions, r.position), r.value, r.extra);
  });
  const auto n = static_cast<size_t>(p.n);
  p.workspace_bytes = p.totals.bytes() +
                      static_cast<size_t>(p.lists + 1) * sizeof(int64_t) +
                      2 * n * (sizeof(int64_t) + sizeof(uint32_t));
  return p;
}

/// Sorts the places; they and the starts of lists are in the workspace afterwards.
struct Sorted {
  const int64_t* places;
  std::vector<int64_t> starts;
};
Sorted sort_places(const PartitionPlan& p, const LaunchArgs& a) {
  const StreamContext& stream = *a.stream;
  auto* totals = static_cast<int64_t*>(a.workspace);
  auto* starts =
      reinterpret_cast<int64_t*>(static_cast<std::byte*>(a.workspace) + p.totals.bytes());
  int64_t* places = starts + p.lists + 1;
  int64_t* new_places = places + p.n;
  auto* keys = reinterpret_cast<uint32_t*>(new_places + p.n);
  uint32_t* new_keys = keys + p.n;
  launch(p.load, stream, grid_for(p.load, p.n), a.inputs[1], keys, places, p.n, p.lists,
         flags_of(a), p.site->id());
  const Grid grid = grid_for(p.count, p.tiles * 256);
  for (int pass = 0; pass < p.passes; ++pass) {
    const int shift = pass * kDigitBits;
    launch(p.count, stream, grid, keys, p.n, shift, p.tiles, totals);
    p.totals.run(stream, totals, kDigits * p.tiles);
    launch(p.move, stream, grid, keys, places, new_keys, new_places, p.n, shift, p.tiles,
           totals);
    std::swap(keys, new_keys);
    std::swap(places, new_places);
  }
  launch(p.starts, stream, grid_for(p.starts, p.lists + 1), keys, p.n, starts, p.lists);
  Sorted sorted{places, std::vector<int64_t>(static_cast<size_t>(p.lists) + 1)};
  read_words(stream, starts, sorted.starts);
  return sorted;
}

void launch_partition(const PartitionPlan& p, const LaunchArgs& a,
                      OutputAllocator& outputs) {
  Sorted sorted;
  if (p.n > 0) {
    sorted = sort_places(p, a);
  } else {
    sorted = {nullptr, std::vector<int64_t>(static_cast<size_t>(p.lists) + 1)};
  }
  for (int64_t k = 0; k < p.lists; ++k) {
    const int64_t begin = sorted.starts[static_cast<size_t>(k)];
    const int64_t count = sorted.starts[static_cast<size_t>(k) + 1] - begin;
    Shape shape = p.slice;
    shape.insert(0, count);
    void* out = outputs.allocate(static_cast<int>(k), shape);
    if (count * p.row == 0) continue;
    const bool wide = p.gather.fits(a.inputs[0], out);
    const Function& f = wide ? p.gather.wide : p.gather.narrow;
    const int64_t row = p.row / (wide ? p.gather.times : 1);
    const int64_t* places = sorted.places + begin;
    launch(f, *a.stream, grid_for(f, count * row), a.inputs[0], places, out, count * row,
           row);
  }
}

}  // namespace

void register_partition(Kernels& kernels) {
  kernels.add(make_kernel<prepare_partition, launch_partition>(
      "DynamicPartition", "cuda.dynamic_partition", kPlain));
}

}  // namespace tandem::cuda
