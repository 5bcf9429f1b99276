// The hostile mode of the op harness: calls of every op of the table with wrong ranks,
// sizes, dtypes, counts, values and attributes. A call may return or throw an Error;
// whatever else it does is a defect. With TANDEM_GUARD_PAGES=1 a touch past the end of
// a tensor faults, and results that depend on memory that nobody wrote are found.
#pragma once

#include <cstdint>
#include <vector>

#include "ops/case.h"

namespace tandem::testing {

/// One test per op, each of a few calls.
void register_hostile_tests(const std::vector<OpCase>& cases, uint64_t seed);

/// `op_test --hostile [--op NAME] [--seed N] [--calls N] [--from N] [--seconds N]`: many
/// calls per op in processes of their own, so that a crash hides nothing. Prints what was
/// found, with what calls it again; 1 when there was something.
int run_hostile(const std::vector<OpCase>& cases, int argc, char** argv);

}  // namespace tandem::testing
