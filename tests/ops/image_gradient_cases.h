// Cases of the gradients of images; see case.h.
#pragma once

#include "ops/case.h"

namespace tandem::testing {

void add_image_gradient_cases(CaseList& cases);

}  // namespace tandem::testing
