// Groups of a fused kernel that may be walked in one loop (FusedJoin). Pure; any thread.
#pragma once

#include <optional>

#include "kernels/cpu/fused_plan.h"

namespace tandem::cpu {

/// For a plan whose groups are known; its code is still to be found. Nothing when no two
/// groups could be joined whatever their addresses.
std::optional<FusedJoin> find_join(const FusedProgram& program,
                                   const Signature& signature, const FusedPlan& plan);

/// The first item in (first, last] that cannot be walked in one loop with those from
/// `first` on. The plan has a join.
size_t joined_items(const FusedPlan& plan, const LaunchArgs& args, size_t first,
                    size_t last);

}  // namespace tandem::cpu
