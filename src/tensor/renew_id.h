// A tensor that nobody else holds any more becomes another one: tapes that knew the old
// one by its id do not take it for that. The thread that holds it.
#pragma once

#include "tensor/tensor_impl.h"

namespace tandem {

void renew_id(TensorImpl& tensor);

}  // namespace tandem
