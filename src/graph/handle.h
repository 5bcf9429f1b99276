// Handles of variables among the tensors that a trace sees. Pure; any thread.
#pragma once

#include "tandem/tensor.h"

namespace tandem {

inline bool is_handle(const Tensor& t) { return t.dtype() == DType::kResource; }

}  // namespace tandem
