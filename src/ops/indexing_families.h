// The parts of the indexing family, one file each.
#pragma once

namespace tandem {

class OpTable;

void register_gather_ops(OpTable& table);
void register_scatter_ops(OpTable& table);
void register_select_ops(OpTable& table);
void register_partition_ops(OpTable& table);

}  // namespace tandem
