// The part of a strided copy that turns planes: one dimension is contiguous where it is
// read, another one where it is written. Such copies go through tiles in shared memory.
// Pure; any thread.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "kernels/common/copy_layout.h"

namespace tandem::cuda {

/// How a tile is made.
struct TileShape {
  int vector = 1;            // elements read and written at once
  int rows = 32, cols = 32;  // of a tile, in elements
};

/// A copy as planes: out[c * col_out + r] = in[r * row_in + c].
struct PlaneCopy {
  int64_t rows = 0, cols = 0, row_in = 0, col_out = 0;
  std::vector<CopyDim> batch;
  TileShape tile;
  int64_t tiles() const;
};

/// The planes of a copy whose dimensions are merged; nothing where tiles do not pay.
/// `vectors`: whether addresses and offsets are multiples of the vector.
std::optional<PlaneCopy> find_planes(size_t element, std::span<const CopyDim> dims,
                                     bool vectors);
/// Elements in a vector of tiles.
int tile_vector(size_t element);

/// The text of the kernel `transpose`; `prefix` has E, I and moved().
std::string transpose_text(const std::string& prefix, int batch_rank,
                           const TileShape& tile);

}  // namespace tandem::cuda
