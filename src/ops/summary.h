// Ops behind tf.summary: what TensorBoard shows of a tensor, and writing it. They are
// host functions; docs/profiling.md says what is stored.
#pragma once

namespace tandem {

class OpTable;
void register_summary_ops(OpTable& table);

}  // namespace tandem
