// Random programs with every independent part on a side lane: results as in eager
// execution, and in every plan what a step reads has been made, and what it overwrites
// nobody wants any more, whatever the lanes do.
#include <cstdlib>

#include <gtest/gtest.h>

#include "device/runtime.h"
#include "run/graph_function.h"
#include "support/random_graph.h"

namespace tandem::testing {
namespace {

PlanOptions everywhere() {
  PlanOptions options;
  options.measure_kernels = false;
  options.branches = PlanOptions::Branches::kAlways;
  return options;
}

size_t idx(int32_t i) { return static_cast<size_t>(i); }

/// What is certain about the order of a plan's steps, from its lanes and waits alone.
class Certain {
 public:
  explicit Certain(const Plan& plan) : plan_(plan), before_(plan.steps.size()) {
    const size_t n = plan.steps.size();
    std::vector<int32_t> last(plan.lanes.size(), -1);
    std::vector<char> issued(n, 0);  // finished before the next step is given out
    for (size_t k = 0; k < n; ++k) {
      const PlanStep& s = plan.steps[k];
      before_[k] = issued;
      if (last[idx(s.lane)] >= 0) add(k, idx(last[idx(s.lane)]));
      for (int32_t w : s.waits) add(k, idx(w));
      last[idx(s.lane)] = static_cast<int32_t>(k);
      const PlanLane& lane = plan.lanes[idx(s.lane)];
      if (lane.kind == PlanLane::Kind::kHost && !lane.side()) {
        issued = before_[k];
        issued[k] = 1;
      }
    }
  }
  bool over(int32_t step, int32_t when) const { return before_[idx(when)][idx(step)]; }

 private:
  void add(size_t k, size_t from) {
    for (size_t j = 0; j < before_[from].size(); ++j) before_[k][j] |= before_[from][j];
    before_[k][from] = 1;
  }
  const Plan& plan_;
  std::vector<std::vector<char>> before_;
};

struct Value {
  Place place;
  int32_t made = -1;
  std::vector<int32_t> read;
};

// Values in the arenas with their steps; views count as what they show.
std::vector<Value> values_of(const PlannedGraph& p, const Certain& certain) {
  const Graph& g = *p.graph;
  std::vector<int32_t> step_of(g.nodes().size(), -1);
  for (size_t k = 0; k < p.plan.steps.size(); ++k) {
    step_of[idx(p.plan.steps[k].node)] = static_cast<int32_t>(k);
  }
  std::map<std::pair<int32_t, int32_t>, Value> values;
  for (size_t k = 0; k < p.plan.steps.size(); ++k) {
    const Node& n = g.node(p.plan.steps[k].node);
    for (ValueRef v : n.inputs) {
      while (v.defined() && step_of[idx(v.node)] < 0 &&
             g.node(v.node).kind == Node::Kind::kOp && !g.node(v.node).inputs.empty() &&
             !g.info(v).state) {
        v = g.node(v.node).inputs[0];
      }
      if (!v.defined() || step_of[idx(v.node)] < 0) continue;
      EXPECT_TRUE(certain.over(step_of[idx(v.node)], static_cast<int32_t>(k)))
          << "step " << k << " may read before step " << step_of[idx(v.node)]
          << " has written\n"
          << explain(p);
      values[{v.node, v.output}].read.push_back(static_cast<int32_t>(k));
    }
    for (int32_t o = 0; o < static_cast<int32_t>(n.outputs.size()); ++o) {
      Value& made = values[{p.plan.steps[k].node, o}];
      made.place = p.plan.places[idx(p.plan.steps[k].node)][idx(o)];
      made.made = static_cast<int32_t>(k);
    }
  }
  std::vector<Value> list;
  for (auto& [key, value] : values) {
    if (value.place.storage == Place::Storage::kArena && value.place.bytes > 0) {
      list.push_back(std::move(value));
    }
  }
  return list;
}

// Returns the number of side lanes, in sub-graphs too.
int check_memory(const PlannedGraph& p) {
  const Certain certain(p.plan);
  const std::vector<Value> values = values_of(p, certain);
  // `a` is over when `b` is written, but for a step that reads one and writes the other.
  const auto over = [&](const Value& a, const Value& b) {
    if (a.made == b.made || !certain.over(a.made, b.made)) return false;
    return std::all_of(a.read.begin(), a.read.end(),
                       [&](int32_t r) { return r == b.made || certain.over(r, b.made); });
  };
  for (size_t i = 0; i < values.size(); ++i) {
    for (size_t j = 0; j < i; ++j) {
      const Place &x = values[i].place, &y = values[j].place;
      const bool shared = x.space == y.space && x.offset < y.offset + y.bytes &&
                          y.offset < x.offset + x.bytes;
      EXPECT_TRUE(!shared || over(values[i], values[j]) || over(values[j], values[i]))
          << "steps " << values[i].made << " and " << values[j].made
          << " write the same memory\n"
          << explain(p);
    }
  }
  int sides = 0;
  for (const PlanLane& l : p.plan.lanes) sides += l.side();
  for (const auto& list : p.subplans) {
    for (const auto& sub : list) sides += check_memory(*sub);
  }
  return sides;
}

// Returns whether there were side lanes.
bool check(uint64_t seed, const RandomGraphOptions& options) {
  SCOPED_TRACE("seed " + std::to_string(seed));
  RandomGraph program(seed, options);
  std::mt19937_64 random(seed);
  const Graph graph = scattered(program.graph(), random);
  GraphFunction function(std::make_shared<const Graph>(graph),
                         {.optimize = false, .measure_kernels = false});
  const auto planned = function.plan(program.arguments(), everywhere());
  const int sides = check_memory(*planned);
  function.use(program.arguments(), function.install(program.arguments(), planned));
  for (int call = 0; call < 3; ++call) {
    const auto run = [&](const Graph&, const Tensors& arguments) {
      return function.run(arguments);
    };
    EXPECT_EQ(difference_of(program.run(graph, run), program.expected()), "")
        << "call " << call << "\n"
        << graph.dump() << function.explain();
  }
  return sides > 0;
}

uint64_t first_seed() {
  const char* seed = std::getenv("TANDEM_TEST_SEED");
  return seed ? std::strtoull(seed, nullptr, 10) : 1;
}

bool several_devices() { return Runtime::get().devices().size() > 1; }

// Returns how many programs had side lanes.
int check_many(uint64_t offset, const RandomGraphOptions& options) {
  // Copies between devices take their time: fewer programs where there are several.
  const uint64_t programs = several_devices() ? 10 : 40;
  int with_sides = 0;
  for (uint64_t s = 0; s < programs && !::testing::Test::HasFailure(); ++s) {
    with_sides += check(first_seed() + offset + s, options);
  }
  return with_sides;
}

TEST(RandomBranches, Straight) {
  EXPECT_GT(check_many(0, {.variables = false, .control_flow = false}), 0);
}
TEST(RandomBranches, Variables) {
  EXPECT_GT(check_many(1000, {.control_flow = false}), 0);
}
// Branches and loops stay on the main lane and keep what is beside them there: with half
// of the ops elsewhere, few programs have anything left to move.
TEST(RandomBranches, ControlFlow) {
  const int with_sides = check_many(2000, {});
  EXPECT_TRUE(with_sides > 0 || several_devices());
}

}  // namespace
}  // namespace tandem::testing
