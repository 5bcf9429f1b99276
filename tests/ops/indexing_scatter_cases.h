#pragma once

#include "ops/case.h"

namespace tandem::testing {

void add_scatter_cases(CaseList& cases);

}  // namespace tandem::testing
