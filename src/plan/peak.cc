#include "plan/peak.h"

#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "base/idx.h"
#include "device/out_of_memory.h"
#include "graph/source_of.h"

namespace tandem {

namespace {

struct Life {
  PeakValue value;
  int64_t offset = 0;
  int32_t begin = 0;
  int32_t end = 0;  // last step that reads it
};

std::vector<Life> lives_of(const PlannedGraph& planned, int32_t space) {
  const Graph& g = *planned.graph;
  const Plan& plan = planned.plan;
  std::vector<Life> lives;
  std::map<std::pair<int32_t, int32_t>, size_t> of;  // by node and output
  for (int32_t k = 0; k < static_cast<int32_t>(plan.steps.size()); ++k) {
    const PlanStep& step = plan.steps[idx(k)];
    const Node& n = g.node(step.node);
    for (ValueRef v : n.inputs) {
      // A view is no step: what it looks at is its first input.
      while (v.defined() && !of.contains({v.node, v.output}) &&
             !g.node(v.node).inputs.empty() &&
             plan.places[idx(v.node)][idx(v.output)].storage == Place::Storage::kArena) {
        v = g.node(v.node).inputs[0];
      }
      const auto found = of.find({v.node, v.output});
      if (found != of.end()) lives[found->second].end = k;
    }
    for (int32_t o = 0; o < static_cast<int32_t>(n.outputs.size()); ++o) {
      const Place& p = plan.places[idx(step.node)][idx(o)];
      if (p.storage != Place::Storage::kArena || p.space != space) continue;
      of[{step.node, o}] = lives.size();
      lives.push_back({{step.node, o, p.bytes}, p.offset, k, k});
    }
    const bool prepared = idx(k) < planned.prepared.size() &&
                          planned.prepared[idx(k)].prepared && step.workspace >= 0;
    if (prepared && plan.lanes[idx(step.lane)].device == plan.spaces[idx(space)].device) {
      const auto bytes =
          static_cast<int64_t>(planned.prepared[idx(k)].prepared->workspace_bytes);
      lives.push_back({{step.node, -1, bytes}, step.workspace, k, k});
    }
  }
  return lives;
}

// A value that is written over the one it is made of takes no memory of its own.
void end_replaced(std::vector<Life>& lives) {
  std::map<int64_t, size_t> last;  // by offset
  for (size_t i = 0; i < lives.size(); ++i) {
    const auto [found, fresh] = last.try_emplace(lives[i].offset, i);
    if (fresh) continue;
    Life& before = lives[found->second];
    before.end = std::min(before.end, lives[i].begin - 1);
    found->second = i;
  }
}

}  // namespace

Peak find_peak(const PlannedGraph& planned, int32_t space) {
  std::vector<Life> lives = lives_of(planned, space);
  end_replaced(lives);
  std::vector<int64_t> change(planned.plan.steps.size() + 1);
  for (const Life& life : lives) {
    if (life.end < life.begin) continue;
    change[idx(life.begin)] += life.value.bytes;
    change[idx(life.end) + 1] -= life.value.bytes;
  }
  Peak peak;
  int64_t now = 0;
  for (size_t k = 0; k < planned.plan.steps.size(); ++k) {
    now += change[k];
    if (now <= peak.bytes) continue;
    peak.bytes = now;
    peak.step = static_cast<int32_t>(k);
  }
  for (const Life& life : lives) {
    if (life.begin <= peak.step && peak.step <= life.end && life.value.bytes > 0) {
      peak.values.push_back(life.value);
    }
  }
  std::stable_sort(
      peak.values.begin(), peak.values.end(),
      [](const PeakValue& a, const PeakValue& b) { return a.bytes > b.bytes; });
  return peak;
}

std::string peak_text(const PlannedGraph& planned, int32_t space, size_t most) {
  const Peak peak = find_peak(planned, space);
  std::string text;
  for (size_t i = 0; i < std::min(most, peak.values.size()); ++i) {
    const PeakValue& v = peak.values[i];
    const Node& n = planned.graph->node(v.node);
    text += fmt::format("\n  {}: ", format_bytes(v.bytes));
    if (v.output < 0) {
      text += "workspace of " + n.name;
    } else {
      const ValueInfo& info = n.outputs[idx(v.output)];
      text += fmt::format("{}, {} {}", n.name, dtype_name(info.dtype),
                          info.shape.debug_str());
    }
    if (const SourceLocation* line = source_of(n)) text += ", at " + site_text(*line);
  }
  return text;
}

}  // namespace tandem
