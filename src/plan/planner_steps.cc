// Planner: steps, their lanes and kernels, the plans of sub-graphs, and what waits for
// what.
#include <algorithm>

#include "device/runtime.h"
#include "op/host_function.h"
#include "plan/planner.h"
#include "tandem/device.h"

namespace tandem {

void Planner::find_steps() {
  is_step_.assign(graph_.nodes().size(), 0);
  for (int32_t i = 0; i < graph_.size(); ++i) {
    const Node& n = graph_.node(i);
    const bool leaf = n.kind == Node::Kind::kParameter ||
                      n.kind == Node::Kind::kConstant || n.kind == Node::Kind::kVariable;
    is_step_[index(i)] = !leaf && view_[index(i)] < 0;
  }
}

int Planner::host_threads(Device& device) const {
  if (options_.threads) return options_.threads;
  return device.team() ? device.team()->threads() : 1;
}

void Planner::choose_branches() {
  Device& cpu = Runtime::get().cpu();
  side_ = choose_side_lanes(graph_, assignment_, order_, options_, host_threads(cpu));
  order_.nodes = side_.nodes;
  for (size_t i = 0; i < side_.lane.size(); ++i) {
    if (side_.lane[i]) assignment_.reasons[i] += "; " + side_.why;
  }
  lane(cpu, PlanLane::Kind::kHost);
  for (int l = 1; l <= side_.lanes; ++l) {
    plan_.lanes.push_back({PlanLane::Kind::kHost, cpu.full_name(),
                           fmt::format("{}/{}", cpu.short_name(), l)});
  }
}

int32_t Planner::lane(Device& device, PlanLane::Kind kind) {
  const auto key = std::pair(device.ordinal(), kind);
  const auto found = lanes_.find(key);
  if (found != lanes_.end()) return found->second;
  static constexpr const char* kSuffix[] = {"", "", "/copy-in", "/copy-out",
                                            "/collective"};
  plan_.lanes.push_back(
      {kind, device.full_name(), device.short_name() + kSuffix[static_cast<int>(kind)]});
  return lanes_[key] = static_cast<int32_t>(plan_.lanes.size() - 1);
}

int32_t Planner::lane_of(int32_t i) {
  if (side_.lane[index(i)]) return side_.lane[index(i)];  // they follow lane 0
  const Node& n = graph_.node(i);
  Device& device = *assignment_.devices[index(i)];
  if (n.kind == Node::Kind::kCopy) {
    Device* from = assignment_.of(n.inputs[0]);
    const bool from_host = !from || from->is_host();
    if (from_host && device.is_host()) return lane(device, PlanLane::Kind::kHost);
    // Constants are where they are read; inside a conditional node there is no host.
    if (from == &device || (!from && options_.inside)) {
      return lane(device, PlanLane::Kind::kCompute);
    }
    return device.is_host() ? lane(*from, PlanLane::Kind::kCopyOut)
                            : lane(device, PlanLane::Kind::kCopyIn);
  }
  return lane(device,
              device.is_host() ? PlanLane::Kind::kHost : PlanLane::Kind::kCompute);
}

void Planner::make_lanes() {
  step_of_.assign(graph_.nodes().size(), -1);
  for (int32_t i : order_.nodes) {
    PlanStep step;
    step.node = i;
    step.lane = lane_of(i);
    const Node& n = graph_.node(i);
    if (n.kind == Node::Kind::kCopy && assignment_.of(n.inputs[0]) &&
        assignment_.of(n.inputs[0]) != assignment_.devices[index(i)]) {
      ++plan_.copies;
      plan_.copy_bytes += bytes_of({i, 0});
    }
    step_of_[index(i)] = static_cast<int32_t>(plan_.steps.size());
    plan_.steps.push_back(std::move(step));
  }
}

void Planner::plan_children(PlannedGraph& made) {
  made.subplans.resize(graph_.nodes().size());
  for (int32_t i : order_.nodes) {
    const Node& n = graph_.node(i);
    if (!n.has_subgraphs()) continue;
    const size_t first = n.kind == Node::Kind::kIf || n.kind == Node::Kind::kCase ? 1 : 0;
    Device* const decides = assignment_.devices[index(i)];
    PlanOptions options = options_;
    options.inside = decides->is_host() ? nullptr : decides;
    std::vector<Device*> operands;
    for (size_t k = first; k < n.inputs.size(); ++k) {
      const ValueRef v = n.inputs[k];
      Device* d = graph_.info(v).state ? nullptr : assignment_.of(v);
      if (!d && !graph_.info(v).state) {
        const bool carried =
            n.kind == Node::Kind::kWhile && k < static_cast<size_t>(n.carried);
        d = carried ? assignment_.outputs[index(i)][k] : decides;
      }
      operands.push_back(d);
    }
    for (size_t g = 0; g < n.subgraphs.size(); ++g) {
      std::vector<Device*> results = assignment_.outputs[index(i)];
      const bool condition = n.kind == Node::Kind::kWhile && g == 0;
      if (condition || results.empty()) results = {decides};
      made.subplans[index(i)].push_back(
          make_plan(*n.subgraphs[g], operands, options, results));
      for (const PlanSpace& s : made.subplans[index(i)].back()->plan.spaces) {
        space(Runtime::get().named(s.device));
      }
    }
  }
}

Device& Planner::describe(PlanStep& step, NodeSignature& s) {
  Device& device = *assignment_.devices[index(step.node)];
  node_signature(graph_, graph_.node(step.node), &device, s);
  s.signature.deterministic = options_.deterministic;
  step.threads = plan_.lanes[index(step.lane)].side() ? side_.threads
                 : device.is_host()                   ? host_threads(device)
                 : device.team()                      ? device.team()->threads()
                                                      : 1;
  s.signature.threads = step.threads;
  return device;
}

// Everything is prepared before anything is timed: a device compiles its kernels side by
// side.
void Planner::prepare_kernels(PlannedGraph& made) {
  made.prepared.resize(plan_.steps.size());
  trials_.resize(plan_.steps.size());
  std::set<std::string> asked;
  NodeSignature s;
  for (size_t k = 0; k < plan_.steps.size(); ++k) {
    const Node& n = graph_.node(plan_.steps[k].node);
    if (n.kind != Node::Kind::kOp || host_function(*n.op)) continue;
    Device& device = describe(plan_.steps[k], s);
    trials_[k] = prepare_trials(s.signature, device, options_.measure_kernels, asked);
    if (trials_[k].empty()) choose_kernel_of(k, made);
  }
}

void Planner::find_unmeasured(PlannedGraph& made, const KernelBuilds& builds) {
  measure_ = options_.wait_for_kernels || !builds.must_compile();
  made.unmeasured =
      !measure_ && std::any_of(trials_.begin(), trials_.end(),
                               [](const KernelTrials& t) { return !t.empty(); });
  for (const auto& list : made.subplans) {
    for (const auto& sub : list) made.unmeasured |= sub->unmeasured;
  }
}

void Planner::choose_kernel_of(size_t k, PlannedGraph& made) {
  PlanStep& step = plan_.steps[k];
  NodeSignature s;
  Device& device = describe(step, s);
  KernelChoice choice = choose_kernel(s.signature, device,
                                      options_.measure_kernels && measure_, trials_[k]);
  trials_[k].clear();
  step.kernel = choice.kernel->id;
  step.why_kernel = choice.why;
  made.prepared[k] = {choice.kernel, choice.prepared};
}

void Planner::choose_kernels(PlannedGraph& made) {
  for (size_t k = 0; k < plan_.steps.size(); ++k) {
    if (!trials_[k].empty()) choose_kernel_of(k, made);
    if (!made.prepared[k].kernel) continue;
    workspaces_.push_back(
        static_cast<int64_t>(made.prepared[k].prepared->workspace_bytes));
    workspace_step_.push_back(static_cast<int32_t>(k));
  }
}

const std::vector<int32_t>& Planner::steps_before(int32_t i) {
  auto& memo = steps_before_[index(i)];
  if (known_[index(i)]) return memo;
  known_[index(i)] = 1;
  for (int32_t p : order_.before[index(i)]) {
    if (step_of_[index(p)] >= 0) {
      memo.push_back(step_of_[index(p)]);
    } else {
      const auto inherited = steps_before(p);
      memo.insert(memo.end(), inherited.begin(), inherited.end());
    }
  }
  std::sort(memo.begin(), memo.end());
  memo.erase(std::unique(memo.begin(), memo.end()), memo.end());
  return memo;
}

void Planner::find_waits() {
  const size_t lanes = plan_.lanes.size();
  steps_before_.resize(graph_.nodes().size());
  known_.assign(graph_.nodes().size(), 0);
  std::vector<std::vector<int32_t>> lane_clock(lanes, std::vector<int32_t>(lanes, 0));
  std::vector<int32_t> host_clock(lanes, 0);
  std::vector<int32_t> length(lanes, 0);
  std::vector<std::vector<int32_t>> end_clock;
  const auto merge = [&](std::vector<int32_t>& into, const std::vector<int32_t>& from) {
    for (size_t l = 0; l < lanes; ++l) into[l] = std::max(into[l], from[l]);
  };
  for (size_t k = 0; k < plan_.steps.size(); ++k) {
    PlanStep& step = plan_.steps[k];
    const auto l = static_cast<size_t>(step.lane);
    const bool host =
        plan_.lanes[l].kind == PlanLane::Kind::kHost && !plan_.lanes[l].side();
    std::vector<int32_t> clock = lane_clock[l];
    merge(clock, host_clock);
    std::vector<int32_t> latest(lanes, -1);
    for (int32_t before : steps_before(step.node)) {
      const auto bl = static_cast<size_t>(plan_.steps[index(before)].lane);
      if (bl != l && position_[index(before)] > clock[bl]) {
        latest[bl] = std::max(latest[bl], before);
      }
    }
    for (size_t bl = 0; bl < lanes; ++bl) {
      if (latest[bl] < 0) continue;
      if (position_[index(latest[bl])] <= clock[bl]) continue;
      step.waits.push_back(latest[bl]);
      merge(clock, end_clock[index(latest[bl])]);
    }
    clock_.push_back(clock);
    position_.push_back(++length[l]);
    clock[l] = length[l];
    end_clock.push_back(clock);
    lane_clock[l] = clock;
    if (host) merge(host_clock, clock);
  }
}

}  // namespace tandem
