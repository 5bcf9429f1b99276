// The text of batch normalisation, and of layer normalisation of long rows; see
// device/norm.cuh. Pure; any thread.
#pragma once

#include <string>

#include "tandem/dtype.h"

namespace tandem::cuda {

std::string norm_text(DType dtype);

}  // namespace tandem::cuda
