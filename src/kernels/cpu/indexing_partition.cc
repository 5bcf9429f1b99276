// DynamicPartition and DynamicStitch. dtypes: all, by element size.
#include <algorithm>
#include <vector>

#include <fmt/format.h>

#include "base/parallel.h"
#include "kernels/cpu/indexing_common.h"
#include "kernels/cpu/indexing_families.h"
#include "tandem/error.h"
#include "tandem/ops/indexing.h"

namespace tandem::cpu {

namespace {

// ---- DynamicPartition
// -------------------------------------------------------------------------
struct PartitionPlan {
  IndexCheck check;
  DType dtype = DType::kInvalid;
  Shape slice;
  int64_t n = 0, row = 0, lists = 0;
  size_t workspace_bytes = 0;  // positions, then the start of each list
};

PartitionPlan prepare_partition(const Signature& s) {
  PartitionPlan p;
  const Shape& data = s.in(0).shape;
  const Shape& partitions = s.in(1).shape;
  p.lists = s.attrs.as<DynamicPartitionAttrs>().num_partitions;
  p.check = {.op = s.op->name.c_str(),
             .name = "partitions",
             .dtype = s.in(1).dtype,
             .shape = partitions,
             .limit = p.lists};
  p.dtype = s.in(0).dtype;
  p.slice = data.slice(partitions.rank(), data.rank());
  p.n = partitions.num_elements();
  p.row = p.slice.num_elements();
  p.workspace_bytes = static_cast<size_t>(p.n + p.lists + 1) * sizeof(int64_t);
  return p;
}

void launch_partition(const PartitionPlan& p, const LaunchArgs& a,
                      OutputAllocator& outputs) {
  check_indices(p.check, a.in<void>(1));
  const auto* partitions = a.in<int32_t>(1);
  // Positions sorted by list, stably; then every list is a gather.
  auto* positions = static_cast<int64_t*>(a.workspace);
  int64_t* first = positions + p.n;
  std::fill_n(first, p.lists + 1, 0);
  for (int64_t i = 0; i < p.n; ++i) ++first[partitions[i] + 1];
  for (int64_t k = 0; k < p.lists; ++k) first[k + 1] += first[k];
  // first[k] moves to the end of list k while it is filled, which is where list k + 1
  // starts.
  for (int64_t i = 0; i < p.n; ++i) positions[first[partitions[i]]++] = i;
  for (int64_t k = 0; k < p.lists; ++k) {
    const int64_t begin = k == 0 ? 0 : first[k - 1];
    const int64_t count = first[k] - begin;
    Shape shape = p.slice;
    shape.insert(0, count);
    void* out = outputs.allocate(static_cast<int>(k), shape);
    if (count) gather_rows(p.dtype, out, a.in<void>(0), positions + begin, count, p.row);
  }
}

// ---- DynamicStitch
// ----------------------------------------------------------------------------
struct StitchPlan {
  const char* op = "";
  DType dtype = DType::kInvalid;
  Shape slice;
  int64_t row = 0;
  std::vector<int64_t> counts;  // indices of each list
};

StitchPlan prepare_stitch(const Signature& s) {
  StitchPlan p;
  const int lists = static_cast<int>(s.inputs.size()) / 2;
  const Shape& data = s.in(lists).shape;
  p.op = s.op->name.c_str();
  p.dtype = s.in(lists).dtype;
  p.slice = data.slice(s.in(0).shape.rank(), data.rank());
  p.row = p.slice.num_elements();
  for (int i = 0; i < lists; ++i) p.counts.push_back(s.in(i).shape.num_elements());
  return p;
}

void launch_stitch(const StitchPlan& p, const LaunchArgs& a, OutputAllocator& outputs) {
  const int lists = static_cast<int>(p.counts.size());
  int64_t rows = 0;
  for (int k = 0; k < lists; ++k) {
    const auto* indices = a.in<int32_t>(k);
    for (int64_t i = 0; i < p.counts[static_cast<size_t>(k)]; ++i) {
      if (indices[i] < 0) {
        throw InvalidArgumentError(fmt::format(
            "{}: indices[{}] is out of range: it holds {}", p.op, k, indices[i]));
      }
      rows = std::max<int64_t>(rows, indices[i] + int64_t{1});
    }
  }
  Shape shape = p.slice;
  shape.insert(0, rows);
  void* out = outputs.allocate(0, shape);
  if (rows * p.row == 0) return;
  by_element(p.dtype, [&]<class E>(std::type_identity<E>) {
    auto* to = static_cast<E*>(out);
    // Columns are independent, so that the last of equal indices wins with any number of
    // threads.
    const auto stitch = [&](int64_t from, int64_t end) {
      for (int64_t r = 0; r < rows; ++r)
        std::fill(to + r * p.row + from, to + r * p.row + end, E{});
      for (int k = 0; k < lists; ++k) {
        const auto* indices = a.in<int32_t>(k);
        const auto* data = a.in<E>(lists + k);
        for (int64_t i = 0; i < p.counts[static_cast<size_t>(k)]; ++i) {
          std::copy(data + i * p.row + from, data + i * p.row + end,
                    to + indices[i] * p.row + from);
        }
      }
    };
    parallel_for(
        p.row, std::max<int64_t>(16, copy_grain(rows * static_cast<int64_t>(sizeof(E)))),
        stitch);
  });
}

}  // namespace

void register_partition_kernels(KernelRegistry& r) {
  r.add(make_kernel<prepare_partition, launch_partition>("DynamicPartition",
                                                         "cpu.dynamic_partition"));
  r.add(
      make_kernel<prepare_stitch, launch_stitch>("DynamicStitch", "cpu.dynamic_stitch"));
}

}  // namespace tandem::cpu
