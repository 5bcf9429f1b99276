// Branches on side lanes: the same results bit for bit, failures, several callers, and
// several plans of one function that are switched while it is called.
#include <atomic>
#include <thread>

#include <gtest/gtest.h>

#include "base/core_set.h"
#include "device/runtime.h"
#include "run/graph_function.h"
#include "support/alone.h"
#include "support/trace_support.h"
#include "tandem/tandem.h"

namespace tandem::testing {
namespace {

using Branches = PlanOptions::Branches;

PlanOptions with(Branches branches, int threads = 0) {
  PlanOptions options;
  options.measure_kernels = false;
  options.branches = branches;
  options.threads = threads;
  return options;
}

std::shared_ptr<const PlannedGraph> plan_of(const Graph& graph,
                                            const PlanOptions& options) {
  const std::vector<Device*> devices(graph.parameters().size(), &Runtime::get().cpu());
  return make_plan(graph, devices, options);
}

int side_lanes(const PlannedGraph& p) {
  return static_cast<int>(std::count_if(p.plan.lanes.begin(), p.plan.lanes.end(),
                                        [](const PlanLane& l) { return l.side(); }));
}

bool equal_bits(const Tensor& a, const Tensor& b) {
  return a.dtype() == b.dtype() && a.shape() == b.shape() &&
         std::memcmp(a.host_data(), b.host_data(), a.impl()->bytes()) == 0;
}
void expect_equal_bits(const Tensors& a, const Tensors& b) {
  ASSERT_EQ(a.size(), b.size());
  for (size_t i = 0; i < a.size(); ++i) EXPECT_TRUE(equal_bits(a[i], b[i])) << i;
}

constexpr int64_t kSize = 96;

// Two towers over one argument and their sum.
Tensors towers_of(const Tensors& x, int layers) {
  const Tensor head = tanh(x[0]);
  Tensor a = head, b = head;
  for (int i = 0; i < layers; ++i) a = tanh(matmul(a, x[0]));
  for (int i = 0; i < layers; ++i) b = sin(matmul(x[0], b));
  const Tensor sum = a + b;
  return {sum, reduce_sum(sum)};
}
Tensors towers(const Tensors& x) { return towers_of(x, 3); }

Tensor numbers(int seed) {
  return random::stateless_normal({kSize, kSize}, {seed, 7}) * 0.1f;
}

TEST(SideLanes, TwoBranchesGetThemAndAChainDoesNot) {
  const Graph two = trace({{DType::kFloat32, {kSize, kSize}}}, towers);
  const auto p = plan_of(two, with(Branches::kAlways, 4));
  ASSERT_EQ(side_lanes(*p), 2) << explain(*p);
  EXPECT_EQ(p->plan.lanes[1].name, "CPU:0/1");
  EXPECT_EQ(p->plan.lanes[2].name, "CPU:0/2");
  for (const PlanStep& s : p->plan.steps) {
    EXPECT_EQ(s.threads, p->plan.lanes[static_cast<size_t>(s.lane)].side() ? 2 : 4);
  }
  EXPECT_NE(explain(*p).find("lane CPU:0/1: 6 steps on 2 threads"), std::string::npos)
      << explain(*p);
  EXPECT_EQ(side_lanes(*plan_of(two, with(Branches::kOff, 4))), 0);
  EXPECT_TRUE(plan_from_json(to_json(p->plan)) == p->plan);

  const Graph chain = trace({{DType::kFloat32, {kSize, kSize}}}, [](const Tensors& x) {
    Tensor y = x[0];
    for (int i = 0; i < 5; ++i) y = tanh(matmul(y, x[0]));
    return Tensors{y};
  });
  EXPECT_EQ(side_lanes(*plan_of(chain, with(Branches::kAlways, 4))), 0);
}

TEST(SideLanes, OnlyWhereItPays) {
  // Too little work for a thread of its own.
  const Graph small = trace({{DType::kFloat32, {8, 8}}}, towers);
  EXPECT_EQ(side_lanes(*plan_of(small, with(Branches::kWhereFaster, 16))), 0);
  // More threads than such products have work for.
  const Graph large = trace({{DType::kFloat32, {160, 160}}},
                            [](const Tensors& x) { return towers_of(x, 6); });
  EXPECT_GE(side_lanes(*plan_of(large, with(Branches::kWhereFaster, 16))), 2);
  EXPECT_EQ(side_lanes(*plan_of(large, with(Branches::kWhereFaster, 1))), 0);
  // A large update of a variable has to stay, and would use the whole team meanwhile.
  Variable big(zeros({1 << 20}));
  const Graph update =
      trace({{DType::kFloat32, {160, 160}}, {DType::kFloat32, {1 << 20}}},
            [&](const Tensors& x) {
              big.assign_add(x[1]);
              return towers_of(x, 6);
            });
  EXPECT_EQ(side_lanes(*plan_of(update, with(Branches::kWhereFaster, 16))), 0);
  // Libraries may sum in another order with other threads.
  PlanOptions deterministic = with(Branches::kAlways, 16);
  deterministic.deterministic = true;
  const auto p = plan_of(large, deterministic);
  for (const PlanStep& s : p->plan.steps) {
    if (p->graph->node(s.node).is_op("MatMul")) {
      EXPECT_EQ(s.lane, 0);
    }
  }
}

// The runtime takes its thread counts once: processes of their own.
ALONE_TEST(SideLanes, OneInterOpThreadSwitchesThemOff, {}) {
  config::set_inter_op_parallelism_threads(1);
  const Graph graph = trace({{DType::kFloat32, {kSize, kSize}}}, towers);
  EXPECT_EQ(side_lanes(*plan_of(graph, with(Branches::kAlways, 8))), 0);
}
ALONE_TEST(SideLanes, ThreadCountsFollowTheConfiguration, {}) {
  config::set_inter_op_parallelism_threads(3);
  config::set_intra_op_parallelism_threads(6);
  const Graph graph = trace({{DType::kFloat32, {kSize, kSize}}}, [](const Tensors& x) {
    Tensors y;
    for (int i = 0; i < 9; ++i) y.push_back(tanh(x[0] * static_cast<float>(i + 2)));
    return Tensors{add_n(y)};
  });
  const auto p = plan_of(graph, with(Branches::kAlways));
  ASSERT_EQ(side_lanes(*p), 3) << explain(*p);
  for (const PlanStep& s : p->plan.steps) {
    EXPECT_EQ(s.threads, p->plan.lanes[static_cast<size_t>(s.lane)].side() ? 2 : 6);
  }
  Executable one(plan_of(graph, with(Branches::kOff))), three(p);
  const Tensor x = numbers(1);
  expect_equal_bits(three.run({&x, 1}), one.run({&x, 1}));
}

TEST(SideLanes, GiveTheSameBits) {
  const Graph graph = trace({{DType::kFloat32, {kSize, kSize}}}, towers);
  for (const int threads : {0, 1, 2, 4}) {
    Executable one(plan_of(graph, with(Branches::kOff, threads)));
    Executable both(plan_of(graph, with(Branches::kAlways, threads)));
    for (int call = 0; call < 3; ++call) {
      const Tensor x = numbers(call);
      expect_equal_bits(both.run({&x, 1}), one.run({&x, 1}));
    }
  }
}

TEST(SideLanes, HaveCoresOfTheirOwn) {
  const Graph graph = trace({{DType::kFloat32, {kSize, kSize}}}, towers);
  Executable both(plan_of(graph, with(Branches::kAlways)));
  std::vector<CoreClaim> claims;
  for (const CoreClaim& c : core_claims()) {
    if (c.owner.starts_with("CPU:0/") && c.owner.ends_with(" of 2")) claims.push_back(c);
  }
  ASSERT_GE(claims.size(), 2u);
  const auto find = [&](const std::string& owner) {
    for (const CoreClaim& c : claims) {
      if (c.owner == owner) return c.cores.cores;
    }
    return std::vector<int>();
  };
  const auto first = find("CPU:0/1 of 2"), second = find("CPU:0/2 of 2");
  EXPECT_FALSE(first.empty());
  EXPECT_FALSE(second.empty());
  if (available_cores().size() < 2 || Runtime::get().devices().size() > 1) return;
  for (int core : first) {
    EXPECT_EQ(std::count(second.begin(), second.end(), core), 0) << core;
  }
}

// By the recorder: a step of one lane begins before one of the other has ended.
TEST(SideLanes, RunAtTheSameTime) {
  constexpr int64_t kLarge = 256;
  const Graph graph = trace({{DType::kFloat32, {kLarge, kLarge}}},
                            [](const Tensors& x) { return towers_of(x, 8); });
  Executable both(plan_of(graph, with(Branches::kAlways)));
  const Tensor x = random::stateless_normal({kLarge, kLarge}, {1, 2}) * 0.1f;
  both.run({&x, 1});
  bool together = false;
  // Another program may hold the second core for the time of a call.
  for (int call = 0; call < 200 && !together; ++call) {
    start_recording();
    both.run({&x, 1});
    std::vector<RecordedEvent> lanes[2];
    for (RecordedEvent& e : stop_recording()) {
      if (e.kind != "op") continue;
      if (e.lane.starts_with("CPU:0/1"))
        lanes[0].push_back(std::move(e));
      else if (e.lane.starts_with("CPU:0/2"))
        lanes[1].push_back(std::move(e));
    }
    ASSERT_FALSE(lanes[0].empty());
    ASSERT_FALSE(lanes[1].empty());
    for (const RecordedEvent& a : lanes[0]) {
      for (const RecordedEvent& b : lanes[1]) {
        together |= a.begin < b.end && b.begin < a.end;
      }
    }
  }
  EXPECT_TRUE(together);
}

TEST(SideLanes, AFailureInOneBranchIsTheCallsAndLeavesVariablesAlone) {
  Variable v(zeros({kSize, kSize}));
  const Graph graph = trace({{DType::kFloat32, {kSize, kSize}}, {DType::kInt32, {2}}},
                            [&](const Tensors& x) {
                              const Tensor a = tanh(matmul(x[0], x[0]));
                              const Tensor b = gather(sin(matmul(x[0], x[0])), x[1]);
                              v.assign(a);
                              return Tensors{reduce_sum(a) + reduce_sum(b)};
                            });
  const auto planned = plan_of(graph, with(Branches::kAlways));
  ASSERT_EQ(side_lanes(*planned), 2) << explain(*planned);
  Executable e(planned);
  const Tensor x = numbers(3);
  const Tensors good = {x, constant({1, 2})};
  const Tensors bad = {x, constant({1, 1000})};
  const Tensors expected = e.run(good);
  const Tensor assigned = v.read();
  for (int i = 0; i < 5; ++i) {
    v.assign(zeros({kSize, kSize}));
    EXPECT_THROW(e.run(bad), InvalidArgumentError);
    EXPECT_TRUE(equal_bits(v.read(), zeros({kSize, kSize})));
    expect_equal_bits(e.run(good), expected);
    EXPECT_TRUE(equal_bits(v.read(), assigned));
  }
}

TEST(SideLanes, AreDoneWhenTheCallFailsElsewhere) {
  const Graph graph = trace({{DType::kFloat32, {kSize, kSize}}}, [](const Tensors& x) {
    const Tensors sums = towers(x);
    Assert(reduce_sum(x[0]) < 1e6f, {});
    return sums;
  });
  const auto planned = plan_of(graph, with(Branches::kAlways));
  ASSERT_EQ(side_lanes(*planned), 2) << explain(*planned);
  Executable e(planned);
  const Tensor good = numbers(4), bad = ones({kSize, kSize}) * 1e3f;
  const Tensors expected = e.run({&good, 1});
  for (int i = 0; i < 10; ++i) {
    EXPECT_THROW(e.run({&bad, 1}), InvalidArgumentError);
    // The frame is used again at once: nothing of the failed call writes to it.
    expect_equal_bits(e.run({&good, 1}), expected);
  }
}

TEST(SideLanes, ServeLoopsAndSeveralCallers) {
  const Graph graph = trace({{DType::kFloat32, {kSize, kSize}}}, [](const Tensors& x) {
    return trace_while(
        [](const Tensors& s) { return s[1] < 4; },
        [](const Tensors& s) { return Tensors{towers({s[0]})[0], s[1] + 1}; },
        {x[0], constant(0)});
  });
  Executable one(plan_of(graph, with(Branches::kOff)));
  const auto planned = plan_of(graph, with(Branches::kAlways));
  Executable both(planned);
  bool inner = false;
  for (const auto& list : planned->subplans) {
    for (const auto& sub : list) inner = inner || side_lanes(*sub) > 0;
  }
  EXPECT_TRUE(inner) << explain(*planned);
  std::atomic<int> wrong{0};
  std::vector<std::jthread> callers;
  for (int t = 0; t < 4; ++t) {
    callers.emplace_back([&, t] {
      for (int i = 0; i < 5; ++i) {
        const Tensor x = numbers(10 * t + i);
        if (!equal_bits(both.run({&x, 1})[0], one.run({&x, 1})[0])) ++wrong;
      }
    });
  }
  callers.clear();
  EXPECT_EQ(wrong, 0);
}

// ---- Several plans of one function

TEST(InstalledPlans, AreSwitchedBetweenCalls) {
  GraphFunction f(
      std::make_shared<const Graph>(trace({{DType::kFloat32, {kSize, kSize}}}, towers)),
      {.optimize = false, .measure_kernels = false});
  const Tensor x = numbers(1);
  const Tensors expected = f.run({&x, 1});
  EXPECT_EQ(f.installed({&x, 1}), 1u);
  const size_t both = f.install({&x, 1}, f.plan({&x, 1}, with(Branches::kAlways)));
  EXPECT_EQ(both, 1u);
  EXPECT_EQ(f.installed({&x, 1}), 2u);
  // Installed is not yet used.
  EXPECT_EQ(f.explain().find("CPU:0/1"), std::string::npos);
  f.use({&x, 1}, both);
  EXPECT_NE(f.explain().find("CPU:0/1"), std::string::npos);
  expect_equal_bits(f.run({&x, 1}), expected);
  f.use({&x, 1}, 0);
  EXPECT_EQ(f.explain().find("CPU:0/1"), std::string::npos);
  EXPECT_THROW(f.use({&x, 1}, 2), OutOfRangeError);
  // Arguments of another kind have plans of their own.
  const Tensor y = ones({kSize, kSize}, DType::kFloat32);
  EXPECT_EQ(f.installed({&y, 1}), 2u);
}

TEST(InstalledPlans, MustFit) {
  GraphFunction f(
      std::make_shared<const Graph>(trace({{DType::kFloat32, {kSize, kSize}}}, towers)),
      {.optimize = false, .measure_kernels = false});
  const Tensor x = numbers(1);
  const auto other = [&](const Function& body) {
    return plan_of(trace({{DType::kFloat32, {kSize, kSize}}}, body),
                   with(Branches::kOff));
  };
  EXPECT_THROW(f.install({&x, 1}, other([](const Tensors& a) { return a; })),
               InvalidArgumentError);
  Variable v(ones({kSize, kSize}));
  EXPECT_THROW(f.install({&x, 1}, other([&](const Tensors& a) {
                           return Tensors{a[0] + v, reduce_sum(a[0])};
                         })),
               InvalidArgumentError);
  EXPECT_EQ(f.install({&x, 1}, other([](const Tensors& a) {
                        return Tensors{a[0] + a[0], reduce_sum(a[0])};
                      })),
            1u);
  EXPECT_THROW(f.installed({}), InvalidArgumentError);
}

TEST(InstalledPlans, AreSwitchedWhileOthersCall) {
  Variable calls(zeros({}));
  GraphFunction f(std::make_shared<const Graph>(trace({{DType::kFloat32, {kSize, kSize}}},
                                                      [&](const Tensors& x) {
                                                        calls.assign_add(constant(1.f));
                                                        return towers(x);
                                                      })),
                  {.optimize = false, .measure_kernels = false});
  const Tensor x = numbers(5);
  const Tensors expected = f.run({&x, 1});
  f.install({&x, 1}, f.plan({&x, 1}, with(Branches::kAlways)));
  std::atomic<int> wrong{0};
  std::atomic<bool> done{false};
  std::jthread switching([&] {
    for (size_t i = 0; !done; ++i) f.use({&x, 1}, i % 2);
  });
  constexpr int kCallers = 3, kCalls = 15;
  {
    std::vector<std::jthread> callers;
    for (int t = 0; t < kCallers; ++t) {
      callers.emplace_back([&] {
        for (int i = 0; i < kCalls; ++i) {
          const Tensors r = f.run({&x, 1});
          for (size_t k = 0; k < r.size(); ++k) wrong += !equal_bits(r[k], expected[k]);
        }
      });
    }
  }
  done = true;
  switching.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(calls.read().item<float>(), 1 + kCallers * kCalls);
}

}  // namespace
}  // namespace tandem::testing
