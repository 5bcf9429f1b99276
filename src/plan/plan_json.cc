// Plans as JSON: stored, looked at, loaded back equal.

#include "base/json.h"
#include "plan/plan.h"
#include "tandem/error.h"

namespace tandem {

using nlohmann::json;

NLOHMANN_JSON_SERIALIZE_ENUM(PlanLane::Kind,
                             {{PlanLane::Kind::kHost, "host"},
                              {PlanLane::Kind::kCompute, "compute"},
                              {PlanLane::Kind::kCopyIn, "copy_in"},
                              {PlanLane::Kind::kCopyOut, "copy_out"},
                              {PlanLane::Kind::kCollective, "collective"}})
NLOHMANN_JSON_SERIALIZE_ENUM(Place::Storage, {{Place::Storage::kNone, "none"},
                                              {Place::Storage::kArena, "arena"},
                                              {Place::Storage::kParameter, "parameter"},
                                              {Place::Storage::kConstant, "constant"},
                                              {Place::Storage::kVariable, "variable"},
                                              {Place::Storage::kResult, "result"},
                                              {Place::Storage::kHandle, "handle"}})
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(PlanLane, kind, device, name)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(PlanStep, node, lane, waits, kernel, why_kernel,
                                   threads, workspace)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Place, storage, index, space, offset, bytes)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(PlanSpace, device, bytes, constant_bytes, result_bytes,
                                   variable_bytes, unshared_bytes, strip_bytes)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Plan, lanes, steps, places, spaces, reasons, devices,
                                   num_handles, copies, copy_bytes, over_limit,
                                   over_device, plan_ms)

std::string to_json(const Plan& plan) { return json(plan).dump(); }

Plan plan_from_json(const std::string& text) {
  try {
    Plan plan = parse_json(text).get<Plan>();
    const auto lanes = static_cast<int32_t>(plan.lanes.size());
    const auto nodes = static_cast<int32_t>(plan.places.size());
    for (size_t i = 0; i < plan.steps.size(); ++i) {
      const PlanStep& s = plan.steps[i];
      bool good = s.lane >= 0 && s.lane < lanes && s.node >= 0 && s.node < nodes;
      for (int32_t w : s.waits) good = good && w >= 0 && w < static_cast<int32_t>(i);
      if (!good)
        throw InvalidArgumentError(
            "plan: a step names a lane, node or step that is not there");
    }
    return plan;
  } catch (const json::exception& e) {
    throw InvalidArgumentError(std::string("plan: this text is not a stored plan: ") +
                               e.what());
  }
}

}  // namespace tandem
