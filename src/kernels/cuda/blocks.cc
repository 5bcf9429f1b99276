// SpaceToDepth, DepthToSpace, SpaceToBatchND, BatchToSpaceND. Any dtype but strings, by
// element size.
#include <array>

#include <fmt/format.h>

#include "kernels/common/block_layout.h"
#include "kernels/cuda/move_plan.h"
#include "kernels/cuda/scatter.h"
#include "kernels/cuda/wide_elements.h"

namespace tandem::cuda {

std::string blocks_text(size_t element, int spatial, bool wide_index) {
  return copy_prefix(element, wide_index) + fmt::format("#define M {}\n", spatial) +
         std::string(device_text("blocks.cuh"));
}

namespace {

template <auto kLayout>
MovePlan prepare_depth(const Signature& s) {
  MovePlan plan;
  for (const CopyLayout& c : kLayout(s)) {
    plan.copies.emplace_back(s.device, element_of(s.in(0)), c.dims, c.in_offset,
                             c.out_offset);
  }
  return plan;
}

struct BatchPlan {
  WideFunction function;
  int64_t n = 0, inner = 1;
  std::array<uint64_t, 5 + 4 * kMaxRank> word{};
};
template <auto kSizes>
BatchPlan prepare_space_batch(const Signature& s) {
  const SpaceBatch sizes = kSizes(s);
  const auto spatial = static_cast<int>(sizes.block.size());
  BatchPlan p;
  p.n = s.out().shape.num_elements();
  if (p.n == 0) return p;
  p.inner = dim_product(sizes.space, spatial + 1, sizes.space.rank());
  p.word[4] = static_cast<uint64_t>(sizes.space[0]);
  const auto m = static_cast<size_t>(spatial);
  for (size_t d = 0; d < m; ++d) {
    const int dim = static_cast<int>(d) + 1;
    p.word[5 + d] = static_cast<uint64_t>(sizes.space[dim]);
    p.word[5 + m + d] = static_cast<uint64_t>(sizes.batch[dim]);
    p.word[5 + 2 * m + d] = static_cast<uint64_t>(sizes.block[d]);
    p.word[5 + 3 * m + d] = static_cast<uint64_t>(sizes.edges[2 * d]);
  }
  const bool wide_index = p.n > UINT32_MAX || s.in(0).shape.num_elements() > UINT32_MAX;
  p.function = WideFunction::find(
      s, element_of(s.in(0)), p.inner,
      sizes.to_batch ? "space_to_batch" : "batch_to_space",
      [&](size_t bytes) { return blocks_text(bytes, spatial, wide_index); });
  return p;
}
void launch_space_batch(const BatchPlan& p, const LaunchArgs& a) {
  if (p.n == 0) return;
  const bool wide = p.function.fits(a.inputs[0], a.outputs[0]);
  const int64_t times = wide ? p.function.times : 1;
  const Function& f = wide ? p.function.wide : p.function.narrow;
  auto words = p.word;
  words[0] = reinterpret_cast<uint64_t>(a.inputs[0]);
  words[1] = reinterpret_cast<uint64_t>(a.outputs[0]);
  words[2] = static_cast<uint64_t>(p.n / times);
  words[3] = static_cast<uint64_t>(p.inner / times);
  void* arguments[] = {words.data()};
  launch_raw(f, *a.stream, grid_for(f, p.n / times), arguments);
}

}  // namespace

void register_blocks(Kernels& kernels) {
  kernels.add(make_kernel<prepare_depth<space_to_depth_layout>, launch_move>(
      "SpaceToDepth", "cuda.space_to_depth", kPlain));
  kernels.add(make_kernel<prepare_depth<depth_to_space_layout>, launch_move>(
      "DepthToSpace", "cuda.depth_to_space", kPlain));
  kernels.add(make_kernel<prepare_space_batch<space_to_batch_sizes>, launch_space_batch>(
      "SpaceToBatchND", "cuda.space_to_batch", kPlain));
  kernels.add(make_kernel<prepare_space_batch<batch_to_space_sizes>, launch_space_batch>(
      "BatchToSpaceND", "cuda.batch_to_space", kPlain));
}

}  // namespace tandem::cuda
