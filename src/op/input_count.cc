#include "op/input_count.h"

#include <fmt/format.h>

#include "op/op_def.h"
#include "tandem/error.h"

namespace tandem {

void check_input_count(const OpDef& op, size_t given) {
  const size_t fixed = op.inputs.size() - (op.variadic() ? 1 : 0);
  if (given < fixed || (!op.variadic() && given > fixed)) {
    throw InvalidArgumentError(fmt::format("{}: expected {}{} input{}, got {}", op.name,
                                           op.variadic() ? "at least " : "", fixed,
                                           fixed == 1 ? "" : "s", given));
  }
}

}  // namespace tandem
