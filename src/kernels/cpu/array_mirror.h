// The pieces of a mirrored padding: how ranges of the padded tensor map to the inner one.
#pragma once

#include <vector>

#include "kernels/cpu/strided_copy.h"
#include "op/kernel.h"
#include "tandem/ops/array_layout.h"

namespace tandem::cpu {

/// `n` and steps of one box: `in` in the inner tensor (may be negative), `out` in the
/// padded one.
struct MirrorPiece {
  std::vector<CopyDim> dims;
  int64_t in_offset = 0, out_offset = 0;
  bool is_center = false;
};

/// All pieces, the center first.
std::vector<MirrorPiece> mirror_pieces(const Shape& inner, const Shape& padded,
                                       const Ints& paddings, MirrorMode mode);

}  // namespace tandem::cpu
