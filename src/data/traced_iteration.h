// An iterator as a tensor, for the op IteratorNext inside traced functions. Any thread.
#pragma once

#include <functional>

#include "tandem/data.h"

namespace tandem::data {

using NextFunction = std::function<bool(Element&)>;

/// A scalar of dtype kVariant that the op IteratorNext takes elements from.
Tensor iterator_tensor(NextFunction next);

}  // namespace tandem::data
