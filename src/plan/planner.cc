// make_plan(): devices, copies, order, kernels, memory, put together.
#include "plan/planner.h"

#include <algorithm>

#include "base/recorder.h"

namespace tandem {

Planner::Planner(const Graph& graph, const std::vector<Device*>& parameter_devices,
                 const PlanOptions& options, const std::vector<Device*>& result_devices)
    : options_(options), nested_(!result_devices.empty()) {
  assignment_ = assign_devices(graph, parameter_devices,
                               {.nested = nested_, .inside = options.inside});
  graph_ = insert_copies(graph, assignment_, options.copies,
                         /*fixed=*/options.inside != nullptr);
  find_views();
  separate_results(result_devices);
}

std::shared_ptr<const PlannedGraph> Planner::run() {
  const int64_t begin = recorder::now_ns();
  auto made = std::make_shared<PlannedGraph>();
  find_steps();
  order_ = order_nodes(graph_, assignment_, is_step_, options_.inside != nullptr);
  while (!order_.reads_to_copy.empty()) {
    copy_reads(order_.reads_to_copy);
    find_steps();
    order_ = order_nodes(graph_, assignment_, is_step_, options_.inside != nullptr);
  }
  for (int32_t i = 0; i < graph_.size(); ++i) {
    if (order_.assign_in_place[index(i)]) is_step_[index(i)] = 0;
  }
  std::erase_if(order_.nodes, [&](int32_t i) { return !is_step_[index(i)]; });
  choose_branches();
  make_lanes();
  const CollectBuilds collected;
  prepare_kernels(*made);
  plan_children(*made);
  find_unmeasured(*made, collected.builds());
  choose_kernels(*made);
  bind_operands(*made);
  made->builds = collected.builds();
  find_waits();
  place_values();
  find_strips(*made);
  plan_spaces();
  for (int32_t i = 0; i < graph_.size(); ++i) {
    Device* d = assignment_.devices[index(i)];
    plan_.devices.push_back(d ? d->full_name() : "");
    plan_.reasons.push_back(assignment_.reasons[index(i)]);
  }
  plan_.plan_ms = static_cast<double>(recorder::now_ns() - begin) / 1e6;
  made->graph = std::make_shared<const Graph>(std::move(graph_));
  made->plan = std::move(plan_);
  made->variables = std::move(plan_variables_);
  made->parameter_strips = std::move(parameter_strips_);
  return made;
}

std::shared_ptr<const PlannedGraph> make_plan(
    const Graph& graph, const std::vector<Device*>& parameter_devices,
    const PlanOptions& options, const std::vector<Device*>& result_devices) {
  return Planner(graph, parameter_devices, options, result_devices).run();
}

int64_t Plan::peak_bytes(const std::string& device) const {
  for (const PlanSpace& s : spaces) {
    if (s.device == device) return s.bytes + s.constant_bytes + s.result_bytes;
  }
  return 0;
}

}  // namespace tandem
