// Tables from keys to values.
#pragma once

namespace tandem {

class OpTable;

void register_lookup_ops(OpTable& table);

}  // namespace tandem
