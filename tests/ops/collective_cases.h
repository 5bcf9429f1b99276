// The collective ops with one replica; several are in tests/cpu/run/collective_test.cc.
#pragma once

#include "ops/case.h"

namespace tandem::testing {

void add_collective_cases(CaseList& cases);

}  // namespace tandem::testing
