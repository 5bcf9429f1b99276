// Branches: which steps of one CPU run beside one another on side lanes, each lane with a
// share of the cores, because their operators would not use the whole team well one after
// the other. Heavy steps that everything else is before or after cut the plan into
// regions; a region goes to the lanes as a whole, each step where it is done soonest, if
// that is clearly faster. Pure; any thread.
#pragma once

#include <cstdint>
#include <vector>

#include "base/fn_ref.h"

namespace tandem {

/// A step as the search sees it; steps come after those they wait for.
struct BranchStep {
  std::vector<int32_t> before;  // steps that must have finished
  double work_us = 0;           // rough, on one thread: what is worth a thought at all
  bool movable = false;         // may run on a thread of the runtime
};

struct BranchOptions {
  int max_lanes = 1;    // below 2: no side lanes
  int threads = 1;      // of the whole team, shared by the lanes
  bool always = false;  // wherever there are branches, whatever it costs
};

struct Branches {
  int lanes = 0;              // 0: everything stays on the main lane
  int threads = 0;            // of each side lane
  std::vector<int32_t> lane;  // by step: 0 is the main lane
  int regions = 0;
  double alone_us = 0;   // the regions with the whole team, one step after the other
  double beside_us = 0;  // the regions on side lanes, handing over included
};

/// Microseconds of a step on that many threads while the other lanes are busy too; asked
/// only for steps that could move.
using StepTime = FnRef<double(int32_t step, int threads)>;

Branches find_branches(const std::vector<BranchStep>& steps, const BranchOptions& options,
                       StepTime time);

/// The steps again, those of one lane as close together as what they wait for allows, and
/// lanes fed before the main lane goes on. `lane`: below 0 for devices, which come first.
std::vector<int32_t> group_by_lane(const std::vector<BranchStep>& steps,
                                   const std::vector<int32_t>& lane);

}  // namespace tandem
