#include "ops/indexing_families.h"
#include "ops/register.h"

namespace tandem {

void register_indexing_ops(OpTable& table) {
  register_gather_ops(table);
  register_scatter_ops(table);
  register_select_ops(table);
  register_partition_ops(table);
}

}  // namespace tandem
