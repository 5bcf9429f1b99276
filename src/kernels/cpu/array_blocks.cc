// SpaceToDepth, DepthToSpace, SpaceToBatchND, BatchToSpaceND as strided copies. Any
// dtype.
#include "kernels/cpu/array_common.h"
#include "ops/array_common.h"
#include "tandem/ops/array_layout.h"

namespace tandem::cpu {

namespace {

// One copy between an image [n, h·b, w·b, c] and its blocks [n, h, w, b·b·c], whichever
// is which.
struct BlockDim {
  int64_t n, image, blocks;
};
std::vector<BlockDim> block_dims(const Shape& image, const Shape& blocks,
                                 const BlockAttrs& attrs) {
  const int64_t b = attrs.block_size;
  const Ints i = row_major(image), o = row_major(blocks);
  if (attrs.data_format == ImageFormat::kNHWC) {
    const int64_t c = image[3];
    return {{image[0], i[0], o[0]},
            {blocks[1], b * i[1], o[1]},
            {blocks[2], b * i[2], o[2]},
            {b, i[1], b * c},
            {b, i[2], c},
            {c, 1, 1}};
  }
  const int64_t c = image[1];
  return {{image[0], i[0], o[0]},      {b, i[2], b * c * o[1]},
          {b, i[3], c * o[1]},         {c, i[1], o[1]},
          {blocks[2], b * i[2], o[2]}, {blocks[3], b * i[3], o[3]}};
}
MovePlan prepare_space_to_depth(const Signature& s) {
  std::vector<CopyDim> dims;
  for (const BlockDim& d :
       block_dims(s.in(0).shape, s.out().shape, s.attrs.as<BlockAttrs>())) {
    dims.push_back({d.n, d.image, d.blocks});
  }
  return {{StridedCopy(s.in(0).dtype, dims)}, 0};
}
MovePlan prepare_depth_to_space(const Signature& s) {
  std::vector<CopyDim> dims;
  for (const BlockDim& d :
       block_dims(s.out().shape, s.in(0).shape, s.attrs.as<BlockAttrs>())) {
    dims.push_back({d.n, d.blocks, d.image});
  }
  return {{StridedCopy(s.in(0).dtype, dims)}, 0};
}

// Entry `offset` of each block, for those blocks q in which position q·block + offset -
// edge lies inside the space.
struct SpaceBatch {
  Shape space,
      batch;  // the tensor with whole spatial dimensions, and the one with blocks
  Ints block, edges;
  bool to_batch;
  DType dtype;
};
MovePlan space_batch(const SpaceBatch& p) {
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
        plan.copies.emplace_back(p.dtype, dims, at_space, at_batch);
        return;
      }
      std::vector<CopyDim> back = dims;
      for (CopyDim& d : back) std::swap(d.in, d.out);
      plan.copies.emplace_back(p.dtype, back, at_batch, at_space);
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
  const auto& a = s.attrs.as<SpaceBatchAttrs>();
  MovePlan plan = space_batch(
      {s.in(0).shape, s.out().shape, a.block_shape, a.paddings, true, s.in(0).dtype});
  for (int64_t e : a.paddings) {
    if (e != 0) plan.zero_bytes = zeroed_bytes(s.out());
  }
  return plan;
}
MovePlan prepare_batch_to_space(const Signature& s) {
  const auto& a = s.attrs.as<BatchSpaceAttrs>();
  return space_batch(
      {s.out().shape, s.in(0).shape, a.block_shape, a.crops, false, s.in(0).dtype});
}

}  // namespace

void register_array_block_kernels(KernelRegistry& registry) {
  registry.add(make_kernel<prepare_space_to_depth, launch_move>("SpaceToDepth",
                                                                "cpu.space_to_depth"));
  registry.add(make_kernel<prepare_depth_to_space, launch_move>("DepthToSpace",
                                                                "cpu.depth_to_space"));
  registry.add(make_kernel<prepare_space_to_batch, launch_move>("SpaceToBatchND",
                                                                "cpu.space_to_batch"));
  registry.add(make_kernel<prepare_batch_to_space, launch_move>("BatchToSpaceND",
                                                                "cpu.batch_to_space"));
}

}  // namespace tandem::cpu
