// How SpaceToDepth and DepthToSpace move elements, and the sizes of SpaceToBatchND and
// BatchToSpaceND. Shared by the kernels of all platforms. Pure; any thread.
#pragma once

#include "kernels/common/copy_layout.h"
#include "tandem/ops/array_layout.h"

namespace tandem {

CopyLayouts space_to_depth_layout(const Signature& s);
CopyLayouts depth_to_space_layout(const Signature& s);

/// The tensor with whole spatial dimensions [n, space…, inner] and the one with blocks
/// [n · all blocks, rest…, inner].
struct SpaceBatch {
  Shape space, batch;
  Ints block, edges;  // edges: before and after for each spatial dimension
  bool to_batch = true;
};
SpaceBatch space_to_batch_sizes(const Signature& s);
SpaceBatch batch_to_space_sizes(const Signature& s);

}  // namespace tandem
