// Which nodes have no path between them: nodes of one text are sorted by how many of them
// lie on the longest way to each; nodes with the same number are independent, and this
// makes the fewest groups. Grouping independent nodes closes no cycle by itself, and
// later texts look at the graph as it is then, with the groups made before as single
// nodes.
//
// Large tensors gain nothing from sharing a launch, and waiting for each other ties them
// to one device and may keep them in memory longer. They are grouped when they update
// variables (whose gradients wait for nothing else), or when there are many of them and
// none holds back more memory than it gives: what it reads is kept anyway (gradients
// whose norms decide about their use), or what it makes is as large (gradients that are
// unscaled). Sums of activations' gradients, a vector out of a large matrix each, stay
// where they are.
#include "graph/passes/fusion_groups.h"

#include <algorithm>
#include <map>

namespace tandem {

namespace {

bool is_whole_reduction(const FusedProgram& p, int32_t value) {
  return value >= p.num_inputs &&
         p.instructions[static_cast<size_t>(value - p.num_inputs)].kind ==
             FusedInstruction::Kind::kAllReduce;
}

// The text of a program with its whole reductions left out; empty when it has none.
std::string without_whole_reductions(const std::string& text) {
  if (text.find("=all ") == std::string::npos) return {};
  FusedProgram p = FusedProgram::parse(text);
  std::vector<FusedInstruction> kept;
  std::vector<int32_t> value;  // old number → new one
  for (int32_t i = 0; i < p.num_inputs; ++i) value.push_back(i);
  for (FusedInstruction& i : p.instructions) {
    for (int32_t& a : i.arguments) a = value[static_cast<size_t>(a)];
    if (i.kind == FusedInstruction::Kind::kAllReduce) {
      value.push_back(i.arguments[0]);
      continue;
    }
    value.push_back(p.num_inputs + static_cast<int32_t>(kept.size()));
    kept.push_back(std::move(i));
  }
  p.instructions = std::move(kept);
  for (int32_t& o : p.outputs) {
    o = value[static_cast<size_t>(o)];
    if (o < p.num_inputs) return {};
  }
  return p.text();
}

class Grouping {
 public:
  Grouping(const FusionGraph& graph, FusionPlanner& planner)
      : graph_(graph), planner_(planner), target_(planner.target()) {}

  std::vector<FusionLevel> run() {
    find_candidates();
    move_single_numbers();
    start_units();
    std::vector<std::pair<const std::string*, std::vector<const FusionGroup*>>> classes;
    for (const std::string& key : keys_) {
      std::vector<const FusionGroup*> members;
      for (const FusionGroup& c : classes_.at(key)) members.push_back(&c);
      if (members.size() > 1) classes.emplace_back(&key, std::move(members));
    }
    // The largest first: what is grouped early is never kept apart by other groups.
    std::stable_sort(classes.begin(), classes.end(), [](const auto& a, const auto& b) {
      return a.second.size() > b.second.size();
    });
    std::vector<FusionLevel> levels;
    for (const auto& [key, members] : classes) split(*key, members, levels);
    return levels;
  }

 private:
  bool updates_variable(ValueRef v) const {
    for (int32_t user : graph_.users(v)) {
      if (graph_.is_free(user) ? updates_variable({user, 0})
                               : graph_.graph().node(user).is_op("AssignVariableOp")) {
        return true;
      }
    }
    return false;
  }

  void add(FusionGroup c, const std::string& program) {
    for (const auto& in : c.inputs) {
      c.elements = std::max(c.elements, in.shape.num_elements());
    }
    for (const auto& out : c.outputs) {
      c.elements = std::max(c.elements, out.shape.num_elements());
      c.updates = c.updates || updates_variable(out.values[0]);
    }
    const std::string key = program + "@" + graph_.graph().node(c.node).device;
    auto [entry, fresh] = classes_.try_emplace(key);
    if (fresh) keys_.push_back(key);
    entry->second.push_back(std::move(c));
  }

  void find_candidates() {
    const Graph& graph = graph_.graph();
    for (int32_t i = 0; i < graph.size(); ++i) {
      const Node& n = graph.node(i);
      FusionGroup c;
      c.node = i;
      if (n.is_op("Fused")) {
        for (ValueRef v : n.inputs) c.inputs.push_back({v, graph_.shape(v)});
        for (int32_t o = 0; o < static_cast<int32_t>(n.outputs.size()); ++o) {
          const ValueInfo& info = n.outputs[static_cast<size_t>(o)];
          c.outputs.push_back({{{i, o}}, info.dtype, info.shape});
        }
        add(std::move(c), n.attrs.ref().as<FusedAttrs>().program);
      } else if (planner_.op(i)) {
        const int32_t alone[] = {i};
        const std::optional<FusionLayout> layout = planner_.layout(alone);
        if (!layout) continue;
        for (const auto& in : layout->inputs) c.inputs.push_back({in.value, in.shape});
        for (const auto& out : layout->outputs) {
          c.outputs.push_back({{{i, 0}}, n.outputs[0].dtype, out.shape});
        }
        add(std::move(c), planner_.program(alone, *layout).text());
      }
    }
  }

  // The sum of one number is the number, and simplification leaves the sum out: such a
  // node does what the others do without their last reductions, and may do it with them.
  void move_single_numbers() {
    for (const std::string& key : keys_) {
      const size_t end = key.rfind('@');
      const std::string without = without_whole_reductions(key.substr(0, end));
      if (without.empty()) continue;
      const auto found = classes_.find(without + key.substr(end));
      if (found == classes_.end()) continue;
      const FusedProgram program = FusedProgram::parse(key.substr(0, end));
      std::vector<FusionGroup>&from = found->second, &to = classes_.at(key);
      const auto stay = std::stable_partition(
          from.begin(), from.end(), [](const FusionGroup& c) { return c.elements > 1; });
      for (auto c = stay; c != from.end(); ++c) {
        for (size_t o = 0; o < c->outputs.size(); ++o) {
          if (is_whole_reduction(program, program.outputs[o])) c->outputs[o].shape = {};
        }
        to.push_back(std::move(*c));
      }
      from.erase(stay, from.end());
      std::sort(to.begin(), to.end(), [](const FusionGroup& a, const FusionGroup& b) {
        return a.node < b.node;
      });
    }
  }

  void start_units() {
    const size_t n = graph_.graph().nodes().size();
    for (size_t i = 0; i < n; ++i) {
      unit_.push_back(static_cast<int32_t>(i));
      members_.push_back({static_cast<int32_t>(i)});
    }
  }

  // For every unit: how many of the marked ones lie on the longest way to it.
  std::vector<int32_t> depths(const std::vector<bool>& marked) const {
    const size_t n = unit_.size();
    std::vector<int32_t> waits(n, 0), depth(n, 0), queue;
    queue.reserve(n);
    for (size_t to = 0; to < n; ++to) {
      for (int32_t from : graph_.before()[to]) {
        if (unit_[static_cast<size_t>(from)] != unit_[to]) {
          ++waits[static_cast<size_t>(unit_[to])];
        }
      }
    }
    for (size_t u = 0; u < n; ++u) {
      if (!members_[u].empty() && waits[u] == 0) queue.push_back(static_cast<int32_t>(u));
    }
    for (size_t q = 0; q < queue.size(); ++q) {
      const auto u = static_cast<size_t>(queue[q]);
      const int32_t here = depth[u] + (marked[u] ? 1 : 0);
      for (int32_t node : members_[u]) {
        for (int32_t next : graph_.after()[static_cast<size_t>(node)]) {
          const auto v = static_cast<size_t>(unit_[static_cast<size_t>(next)]);
          if (v == u) continue;
          depth[v] = std::max(depth[v], here);
          if (--waits[v] == 0) queue.push_back(static_cast<int32_t>(v));
        }
      }
    }
    return depth;
  }

  bool worthwhile(const FusionGroup& c, size_t level,
                  const std::vector<int32_t>& depth) const {
    if (c.updates || c.elements <= target_.small_group) return true;
    return level >= static_cast<size_t>(target_.many_groups) && !holds_back(c, depth);
  }

  // Whether the memory that the node could free at once is more than what it fills.
  bool holds_back(const FusionGroup& c, const std::vector<int32_t>& depth) const {
    const auto bytes = [](DType dtype, const Shape& shape) {
      return shape.num_elements() * static_cast<int64_t>(dtype_size(dtype));
    };
    int64_t freed = 0, filled = 0;
    for (const auto& in : c.inputs) {
      const ValueRef source = graph_.source(in.value);
      if (!outlives(source, depth[static_cast<size_t>(c.node)], depth)) {
        freed += bytes(graph_.graph().info(source).dtype, graph_.shape(source));
      }
    }
    for (const auto& out : c.outputs) filled += bytes(out.dtype, out.shape);
    return freed > filled;
  }
  // The value is there for the whole call, or somebody reads it after the group.
  bool outlives(ValueRef v, int32_t level, const std::vector<int32_t>& depth) const {
    const Node& maker = graph_.graph().node(v.node);
    if (maker.kind != Node::Kind::kOp || maker.is_op("ReadVariableOp")) return true;
    if (graph_.is_returned(v)) return true;
    const auto users = graph_.users(v);
    return std::any_of(users.begin(), users.end(), [&](int32_t user) {
      return graph_.is_free(user) ? outlives({user, 0}, level, depth)
                                  : depth[unit_of(user)] > level;
    });
  }
  size_t unit_of(int32_t node) const {
    return static_cast<size_t>(unit_[static_cast<size_t>(node)]);
  }

  void split(const std::string& key, const std::vector<const FusionGroup*>& members,
             std::vector<FusionLevel>& levels) {
    std::vector<bool> marked(unit_.size(), false);
    for (const FusionGroup* c : members) marked[static_cast<size_t>(c->node)] = true;
    const std::vector<int32_t> depth = depths(marked);
    std::map<int32_t, std::vector<const FusionGroup*>> by_depth;
    for (const FusionGroup* c : members) {
      by_depth[depth[static_cast<size_t>(c->node)]].push_back(c);
    }
    const std::string program = key.substr(0, key.rfind('@'));
    for (auto& [number, all] : by_depth) {
      std::vector<const FusionGroup*> kept;
      for (const FusionGroup* c : all) {
        if (worthwhile(*c, all.size(), depth)) kept.push_back(c);
      }
      const auto most = static_cast<size_t>(std::max(target_.max_groups, 2));
      for (size_t begin = 0; begin + 1 < kept.size(); begin += most) {
        const size_t end = std::min(kept.size(), begin + most);
        if (end - begin < 2) break;
        levels.push_back({program, {}});
        for (size_t k = begin; k < end; ++k) levels.back().groups.push_back(*kept[k]);
        join(levels.back());
      }
    }
  }

  void join(const FusionLevel& level) {
    const int32_t unit = level.groups[0].node;
    for (size_t i = 1; i < level.groups.size(); ++i) {
      const int32_t node = level.groups[i].node;
      unit_[static_cast<size_t>(node)] = unit;
      members_[static_cast<size_t>(node)].clear();
      members_[static_cast<size_t>(unit)].push_back(node);
    }
  }

  const FusionGraph& graph_;
  FusionPlanner& planner_;
  const FusionTarget& target_;
  std::map<std::string, std::vector<FusionGroup>> classes_;  // by program and device
  std::vector<std::string> keys_;                            // by first appearance
  std::vector<int32_t> unit_;                                // node → unit
  std::vector<std::vector<int32_t>> members_;                // unit → nodes
};

}  // namespace

std::vector<FusionLevel> find_fusion_levels(const FusionGraph& graph,
                                            FusionPlanner& planner) {
  return Grouping(graph, planner).run();
}

}  // namespace tandem
