// Eager dispatch: checks, places and launches one op at once (design, decision 2). On the
// CPU the kernel runs inline in the caller; on other devices it is enqueued and the call
// returns. Any thread; calls of one thread on one device run in order.
#pragma once

#include "op/emitter.h"

namespace tandem {

class EagerEmitter final : public Emitter {
 public:
  void emit(const OpDef& op, AttrsRef attrs, std::span<const TensorArg> inputs,
            std::vector<Tensor>& outputs) override;
  Tensor emit_one(const OpDef& op, AttrsRef attrs,
                  std::span<const TensorArg> inputs) override;
};

/// Runs `op` now, whatever the thread's emitter is.
EagerEmitter& eager_emitter();

/// Ops that ran since the start of the process, for summaries. Approximate across
/// threads.
int64_t eager_op_count();

}  // namespace tandem
