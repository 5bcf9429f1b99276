// What the host's fused kernels can run: fusion passes ask before they make an op an
// instruction of a program (op/fused_program.h). Any thread.
#pragma once

#include <span>
#include <string_view>

#include "op/op_def.h"

namespace tandem::cpu {

/// Whether a call of an elementwise op may become an instruction: there are block
/// functions for its dtypes, they know its attributes, and they cannot fail (integer
/// division by zero throws, which a fused kernel must not do in the middle of its
/// outputs). Fused real numbers have the bits of the unfused op; products of complex ones
/// may differ in the last bit, because their blocks round differently at the end of a
/// block.
bool can_fuse(const OpDef& op, AttrsRef attrs, std::span<const DType> inputs,
              DType output);

/// Whether a reduction ("Sum", "Max", "Min", "Prod", "Mean") of that dtype may become
/// one.
bool can_fuse_reduction(std::string_view op, DType dtype);

}  // namespace tandem::cpu
