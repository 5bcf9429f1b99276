// SpaceToDepth, DepthToSpace, SpaceToBatchND, BatchToSpaceND as strided copies. Any
// dtype.
#include "kernels/common/block_layout.h"
#include "kernels/cpu/array_common.h"
#include "ops/array_common.h"

namespace tandem::cpu {

namespace {

template <auto kLayout>
MovePlan prepare_blocks(const Signature& s) {
  MovePlan plan;
  for (const CopyLayout& c : kLayout(s)) {
    plan.copies.emplace_back(s.in(0).dtype, c.dims, c.in_offset, c.out_offset);
  }
  return plan;
}

// Entry `offset` of each block, for those blocks q in which position q·block + offset -
// edge lies inside the space.
MovePlan space_batch(const SpaceBatch& p, DType dtype) {
  const Ints s = row_major(p.space), b = row_major(p.batch);
  const int m = static_cast<int>(p.block.size());
  MovePlan plan;
  std::vector<CopyDim>
      dims;  // `in` steps in the space, `out` in the batch; exchanged at the end
  dims.push_back({p.space[0], s[0], b[0]});
  for (int d = m + 1; d < p.space.rank(); ++d) {
    dims.push_back({p.space[d], s[static_cast<size_t>(d)], b[static_cast<size_t>(d)]});
  }
  const auto add = [&](auto&& self, int i, int64_t entry, int64_t at_space,
                       int64_t at_batch) -> void {
    if (i == m) {
      at_batch += entry * p.space[0] * b[0];
      if (p.to_batch) {
        plan.copies.emplace_back(dtype, dims, at_space, at_batch);
        return;
      }
      std::vector<CopyDim> back = dims;
      for (CopyDim& d : back) std::swap(d.in, d.out);
      plan.copies.emplace_back(dtype, back, at_batch, at_space);
      return;
    }
    const auto k = static_cast<size_t>(i);
    const int64_t block = p.block[k], edge = p.edges[2 * k], n = p.space[i + 1];
    for (int64_t o = 0; o < block; ++o) {
      const int64_t first = edge > o ? (edge - o + block - 1) / block : 0;
      const int64_t past = n - 1 + edge - o;
      const int64_t last = past < 0 ? -1 : std::min(past / block, p.batch[i + 1] - 1);
      if (last < first) continue;
      dims.push_back({last - first + 1, block * s[k + 1], b[k + 1]});
      self(self, i + 1, entry * block + o,
           at_space + (first * block + o - edge) * s[k + 1], at_batch + first * b[k + 1]);
      dims.pop_back();
    }
  };
  add(add, 0, 0, 0, 0);
  return plan;
}
MovePlan prepare_space_to_batch(const Signature& s) {
  const SpaceBatch sizes = space_to_batch_sizes(s);
  MovePlan plan = space_batch(sizes, s.in(0).dtype);
  for (int64_t e : sizes.edges) {
    if (e != 0) plan.zero_bytes = zeroed_bytes(s.out());
  }
  return plan;
}
MovePlan prepare_batch_to_space(const Signature& s) {
  return space_batch(batch_to_space_sizes(s), s.in(0).dtype);
}

}  // namespace

void register_array_block_kernels(KernelRegistry& registry) {
  registry.add(make_kernel<prepare_blocks<space_to_depth_layout>, launch_move>(
      "SpaceToDepth", "cpu.space_to_depth"));
  registry.add(make_kernel<prepare_blocks<depth_to_space_layout>, launch_move>(
      "DepthToSpace", "cpu.depth_to_space"));
  registry.add(make_kernel<prepare_space_to_batch, launch_move>("SpaceToBatchND",
                                                                "cpu.space_to_batch"));
  registry.add(make_kernel<prepare_batch_to_space, launch_move>("BatchToSpaceND",
                                                                "cpu.batch_to_space"));
}

}  // namespace tandem::cpu
