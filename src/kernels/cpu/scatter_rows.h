// The one driver behind every scatter: combines rows of updates into rows of a
// destination. Updates of one row are applied in the order of their indices whatever the
// thread count, so that results are those of a plain loop.
#pragma once

#include <cstdint>

#include "tandem/dtype.h"

namespace tandem::cpu {

enum class ScatterOp { kUpdate, kAdd, kSub, kMul, kDiv, kMin, kMax };

/// What the destination holds before: contents that stay, zeros, or a copy of another
/// tensor.
enum class ScatterInit { kKeep, kZero, kCopy };

/// Rows `rows[i]` of `out` take `updates` row i. Several independent groups of the same
/// form lie behind each other; `groups_per_index` consecutive ones use the same indices.
struct ScatterCall {
  void* out = nullptr;
  const void* updates = nullptr;
  const int64_t* rows = nullptr;  // in range
  const void* initial = nullptr;  // with kCopy
  int64_t groups = 1;
  int64_t groups_per_index = 1;
  int64_t count = 0;     // updates of a group
  int64_t num_rows = 0;  // rows of a group in `out`
  int64_t row = 1;       // elements of a row
  int64_t stride =
      1;  // elements between rows of updates: `row`, or 0 for one row used by all
  ScatterInit init = ScatterInit::kKeep;
};

/// Inner loop for one op and dtype: destination rows [low, high) and columns [from, to)
/// of one group.
using ScatterLoop = void (*)(const ScatterCall& group, int64_t low, int64_t high,
                             int64_t from, int64_t to);
/// Throws UnimplementedError for combinations without meaning (minimum of complex
/// numbers).
ScatterLoop scatter_loop(ScatterOp op, DType dtype);

void scatter_rows(ScatterLoop loop, DType dtype, const ScatterCall& call);

}  // namespace tandem::cpu
