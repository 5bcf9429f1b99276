// The families of strings, files and messages, registered by their own files.
#pragma once

#include "op/op_def.h"

namespace tandem {

class OpTable;

inline constexpr DTypeMask kText = mask(DType::kString);

void register_string_ops(OpTable& table);
void register_file_ops(OpTable& table);

}  // namespace tandem
