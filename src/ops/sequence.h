// Functions of sequences: their definitions, registered by sequence.cc.
#pragma once

namespace tandem {

class OpTable;

void register_sequence_ops(OpTable& table);

}  // namespace tandem
