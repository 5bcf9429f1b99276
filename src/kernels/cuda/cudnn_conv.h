// The text that turns filters around for cuDNN; see device/filter_layout.cuh. Pure; any
// thread.
#pragma once

#include <string>

#include "tandem/dtype.h"

namespace tandem::cuda {

std::string filter_layout_text(DType dtype);

}  // namespace tandem::cuda
