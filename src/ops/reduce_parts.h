// What the files of the reduce family share.
#pragma once

#include "op/emitter.h"
#include "op/op_def.h"
#include "tandem/ops/reduce.h"

namespace tandem {

// Parts of the family; register_reduce_ops() calls them all.
void register_arg_ops(OpTable& table);
void register_scan_ops(OpTable& table);
void register_segment_ops(OpTable& table);
void register_count_ops(OpTable& table);

/// A result of reducing x, with the reduced axes back as dimensions of size 1.
Tensor with_reduced_axes(const Tensor& result, const Tensor& x, const ReduceAttrs& attrs);

}  // namespace tandem
