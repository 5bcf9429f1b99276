// Whether a kernel can serve a call, and calls that need none. Pure; any thread.
#pragma once

#include "op/kernel.h"

namespace tandem {

/// Its dtypes and its supports() accept the signature.
bool kernel_fits(const Kernel& kernel, const Signature& signature);

/// Whether no output has an element, nothing else is done, and no content can be wrong.
bool computes_nothing(const Signature& signature);
/// Serves such calls of every op on every platform: kernels need not think of sizes that
/// are zero, by which they would divide.
const Kernel& kernel_of_nothing();

}  // namespace tandem
