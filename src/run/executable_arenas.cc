// Which variables of an Executable belong into one arena, in which order, and their way
// there.
#include <map>
#include <numeric>
#include <utility>

#include "op/fused_program.h"
#include "run/executable_frame.h"
#include "tensor/variable_arena.h"

namespace tandem {

void Executable::find_updates() {
  for (const Step& s : steps_) {
    const Node& n = graph_.node(s.node);
    if (!n.is_op("FusedMulti")) continue;
    const auto groups = static_cast<size_t>(n.attrs.ref().as<FusedAttrs>().groups);
    const size_t outputs = n.outputs.size() / groups;
    for (size_t o = 0; o < outputs; ++o) {
      auto& list = updates_.emplace_back();
      for (size_t g = 0; g < groups; ++g) {
        const Place& p = plan_.places[idx(s.node)][g * outputs + o];
        if (p.storage != Place::Storage::kVariable || p.offset) continue;
        list.push_back(idx(p.index));
      }
    }
  }
  for (size_t c = 0; c < children_.size(); ++c) {
    for (const std::vector<size_t>& update : children_[c]->updates_) {
      auto& list = updates_.emplace_back();
      for (size_t i : update) list.push_back(child_variables_[c][i]);
    }
  }
}

// Of what a call writes: variables that one step writes at the same place of its program
// (all weights, all first moments, …) in the order in which the step lists them, steps of
// branches and loops included, then the others. Of one device and dtype each.
void Executable::find_arena_groups() {
  find_updates();
  std::vector<std::vector<size_t>> lists = updates_;
  auto& rest = lists.emplace_back(variables_.size());
  std::iota(rest.begin(), rest.end(), size_t{0});
  std::vector<char> seen(variables_.size(), 0);
  for (const std::vector<size_t>& list : lists) {
    std::map<std::pair<Device*, DType>, std::vector<size_t>> groups;
    for (size_t i : list) {
      const VariableImpl& v = variable_of(variables_[i]);
      if (written_[i] && !seen[i]) groups[{v.device, v.dtype}].push_back(i);
    }
    for (auto& [key, members] : groups) {
      // One alone may still find company further down.
      if (members.size() < 2) continue;
      for (size_t i : members) seen[i] = 1;
      arena_groups_.push_back(std::move(members));
    }
  }
}

// Variables that a call writes are put together once; another plan may have done so.
void Executable::gather_variables() {
  // Where they were before, nobody will ask for memory of just that size again.
  constexpr size_t kGivenBack = size_t{16} << 20;
  for (const std::vector<size_t>& group : arena_groups_) {
    std::vector<VariableImpl*> members;
    for (size_t i : group) members.push_back(variables_[i].impl()->variable.get());
    const auto arena = VariableArena::gather(members);
    if (!arena || arena->memory()->bytes() < kGivenBack) continue;
    Device& device = *members[0]->device;
    if (device.is_host()) device.allocator().trim();
  }
  arena_groups_.clear();
}

}  // namespace tandem
