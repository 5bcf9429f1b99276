// Random ops with parameters for every element.
#pragma once

namespace tandem {

class OpTable;

void register_random_parameter_ops(OpTable& table);

}  // namespace tandem
