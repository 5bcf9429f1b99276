// Whether a kernel can serve a call. Pure; any thread.
#pragma once

#include "op/kernel.h"

namespace tandem {

/// Its dtypes and its supports() accept the signature.
bool kernel_fits(const Kernel& kernel, const Signature& signature);

}  // namespace tandem
