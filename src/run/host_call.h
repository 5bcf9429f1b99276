// Eager calls of ops that are host functions (op/host_function.h): checked by inference,
// run at once on the calling thread, recorded like any other op.
#pragma once

#include "op/emitter.h"

namespace tandem {

std::vector<Tensor> run_host_call(const OpDef& op, AttrsRef attrs,
                                  std::span<const TensorArg> inputs);

}  // namespace tandem
