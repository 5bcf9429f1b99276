// Device text of one elementwise instruction: the op's expression from the table with
// its operands, attributes and types put in. Pure functions; any thread.
#pragma once

#include <string>
#include <vector>

#include "op/fused_program.h"

namespace tandem::cuda {

/// An operand: the name of a value in the text and the dtype it was read or rounded as.
struct Operand {
  std::string name;
  DType dtype;
};

/// Text of an expression that computes the op, in the type its result is computed in,
/// rounded to `result`. Functions that may fail take the variable `fail`. Throws
/// InternalError for an op without an expression.
std::string instruction_text(const OpDef& op, AttrsRef attrs,
                             const std::vector<Operand>& operands, DType result);

/// Whether the op's text calls functions of special_names.cuh.
bool needs_special_functions(const OpDef& op);

/// What the text of a program starts with; `special`: with the special functions.
std::string text_prefix(bool special);

}  // namespace tandem::cuda
