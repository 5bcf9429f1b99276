// Ops with effects besides variables: printing and asserting.
#pragma once

namespace tandem {

class OpTable;
void register_effect_ops(OpTable& table);

}  // namespace tandem
