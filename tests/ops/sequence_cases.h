// Cases of sequences; see case.h.
#pragma once

#include "ops/case.h"

namespace tandem::testing {

void add_sequence_cases(CaseList& cases);

}  // namespace tandem::testing
