// tf.debugging.enable_check_numerics: while it is on, floating results of every op are
// checked, eager ones at once, traced ones by nodes of the graph. Any thread.
#pragma once

#include <vector>

#include "op/emitter.h"

namespace tandem {

void set_check_numerics(bool on);
bool checks_numerics();

/// Puts checked tensors in place of the floating ones that an op gave, by this emitter.
void check_outputs(const OpDef& op, Emitter& by, std::vector<Tensor>& outputs);

/// The eager emitter with checks.
Emitter& checking_emitter(Emitter& eager);

}  // namespace tandem
