// Host functions: the third table beside op definitions and kernels, for ops whose values
// are more than memory (lists of tensors) or whose work is not a computation (printing,
// asserting). Such an op is a function from tensors to tensors that runs on the calling
// thread; its inputs may live on any device. It has no kernel, is never placed, and its
// OpDef says `dynamic`, because outputs are known only when it has run. Eager dispatch
// and executors ask host_function() for dynamic ops before they look for a kernel. Filled
// with the op table, frozen afterwards; any thread may read.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "op/attrs.h"
#include "tandem/tensor.h"

namespace tandem {

struct OpDef;

/// Inputs have been checked by inference; absent optional inputs are undefined. Runs
/// with the eager emitter and without recording, and may call op functions.
using HostFunction = std::vector<Tensor> (*)(AttrsRef attrs,
                                             std::span<const Tensor> inputs);

/// Only while the op table is being built.
void add_host_function(const std::string& op, HostFunction function);

/// Null: the op has kernels.
HostFunction host_function(const OpDef& op);

}  // namespace tandem
