// Horizontal fusion: the same program over many tensors becomes one kernel. Optimizers
// write the same update for every variable; one launch per variable costs more than the
// work of most of them. Programs are equal when their text is (shapes do not matter), and
// may be grouped when no path leads from one to another.
#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "graph/passes/fusion_groups.h"

namespace tandem {

namespace {

// Groups with the same inputs are computed once.
FusionReplacement multi_replacement(const FusionLevel& level) {
  const FusedProgram program = FusedProgram::parse(level.program);
  FusionReplacement r;
  std::map<std::vector<std::pair<int32_t, int32_t>>, size_t> known;
  int64_t groups = 0, elements = 0;
  for (const FusionGroup& c : level.groups) {
    r.members.push_back(c.node);
    std::vector<std::pair<int32_t, int32_t>> key;
    for (const auto& in : c.inputs) key.emplace_back(in.value.node, in.value.output);
    const auto [entry, fresh] = known.try_emplace(std::move(key), r.outputs.size());
    if (!fresh) {
      for (size_t o = 0; o < c.outputs.size(); ++o) {
        r.outputs[entry->second + o].values.push_back(c.outputs[o].values[0]);
      }
      continue;
    }
    ++groups;
    elements += c.elements;
    r.inputs.insert(r.inputs.end(), c.inputs.begin(), c.inputs.end());
    r.outputs.insert(r.outputs.end(), c.outputs.begin(), c.outputs.end());
  }
  std::sort(r.members.begin(), r.members.end());
  r.op = &OpTable::get().at(groups > 1 ? "FusedMulti" : "Fused");
  r.attrs = Attrs(attrs_ref(FusedAttrs{.program = level.program, .groups = groups}));
  std::string ops;
  for (size_t i = 0; i < std::min<size_t>(program.instructions.size(), 4); ++i) {
    ops += (i ? "_" : "") + program.instructions[i].op;
  }
  r.name = fmt::format("multi/{}{}({} ops x {})", ops,
                       program.instructions.size() > 4 ? "_etc" : "",
                       program.instructions.size(), groups);
  r.note = fmt::format(
      "{} kernels with one program of {} ops over {} elements in all are one launch",
      level.groups.size(), program.instructions.size(), elements);
  return r;
}

}  // namespace

Graph fuse_horizontal(const Graph& graph, const FusionTarget& target,
                      FusionNotes* notes) {
  const FusionGraph fusion(graph);
  FusionPlanner planner(fusion, target);
  std::vector<FusionReplacement> replacements;
  for (const FusionLevel& level : find_fusion_levels(fusion, planner)) {
    replacements.push_back(multi_replacement(level));
  }
  return rewrite_fused(
      fusion, replacements,
      [&](const Graph& g) { return fuse_horizontal(g, target, notes); }, notes);
}

}  // namespace tandem
