// Collective ops: definitions (collective.cc) and what they do when the replicas are
// threads of one process (collective_run.cc).
#pragma once

namespace tandem {

class OpTable;
void register_collective_ops(OpTable& table);
void register_collective_functions();

}  // namespace tandem
