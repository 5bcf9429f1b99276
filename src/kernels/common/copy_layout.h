// The strided copies that ops which only move elements consist of. Shared by the kernels
// of all platforms, which run them in their own way. Pure; any thread.
#pragma once

#include <cstdint>
#include <vector>

#include "op/op_def.h"

namespace tandem {

/// One dimension of a copy: elements, and steps between them (in elements).
struct CopyDim {
  int64_t n;
  int64_t in;
  int64_t out;
};

struct CopyLayout {
  std::vector<CopyDim> dims;
  int64_t in_offset = 0;
  int64_t out_offset = 0;
};
using CopyLayouts = std::vector<CopyLayout>;

CopyLayouts transpose_layout(const Signature& s);
CopyLayouts broadcast_layout(const Signature& s);
CopyLayouts tile_layout(const Signature& s);
CopyLayouts reverse_layout(const Signature& s);
/// Each rolled axis falls into two pieces; the copies are all combinations.
CopyLayouts roll_layout(const Signature& s);

}  // namespace tandem
