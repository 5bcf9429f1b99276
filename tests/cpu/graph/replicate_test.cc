// replicate: one graph for several replicas, with hand-computed answers.
#include "graph/replicate.h"

#include <gtest/gtest.h>

#include "graph/passes/passes.h"
#include "graph/verify.h"
#include "run/graph_interpreter.h"
#include "support/trace_support.h"
#include "tandem/ops/collective.h"
#include "tandem/tandem.h"

namespace tandem::testing {
namespace {

using V = std::vector<float>;

constexpr CollectiveAttrs kTwo{.replicas = 2};

ReplicaSetup two_replicas(const std::vector<std::vector<Variable>>& copies = {}) {
  ReplicaSetup setup{.devices = {"/device:CPU:0", "/device:CPU:0"}};
  for (const auto& list : copies) {
    std::vector<Tensor> handles;
    for (const Variable& v : list) handles.push_back(v.handle());
    setup.copies[handles[0].impl()->id] = handles;
  }
  return setup;
}

Graph joined(const Graph& graph, const ReplicaSetup& setup) {
  Graph made = replicate(graph, setup);
  verify(made);
  return made;
}

TEST(Replicate, ParametersAndResultsStandSideBySide) {
  const Graph g = trace({{float32, {2}}, {float32, {}}},
                        [](const Tensors& x) { return Tensors{x[0] * x[1], x[0]}; });
  const Graph made = joined(g, two_replicas());
  ASSERT_EQ(made.parameters().size(), 4u);
  ASSERT_EQ(made.results().size(), 4u);
  const Tensors out = interpret(made, Tensors{constant({1.f, 2.f}), constant({3.f, 4.f}),
                                              constant(10.f), constant(100.f)});
  EXPECT_EQ(out[0].to_vector<float>(), (V{10, 20}));
  EXPECT_EQ(out[1].to_vector<float>(), (V{300, 400}));
  EXPECT_EQ(out[3].to_vector<float>(), (V{3, 4}));
}

TEST(Replicate, NodesRunOnTheirReplicasDevice) {
  const Graph g = trace({{float32, {2}}}, [](const Tensors& x) {
    const Tensor placed = [&] {
      const DeviceScope scope("/CPU:0");
      return exp(x[0]);
    }();
    return Tensors{sin(x[0]) + placed};
  });
  const Graph made = replicate(g, {.devices = {"/device:GPU:0", "/device:GPU:1"}});
  std::vector<std::string> sines, exponentials;
  for (const Node& n : made.nodes()) {
    if (n.is_op("Sin")) sines.push_back(n.device);
    if (n.is_op("Exp")) exponentials.push_back(n.device);
  }
  EXPECT_EQ(sines, (std::vector<std::string>{"/device:GPU:0", "/device:GPU:1"}));
  ASSERT_EQ(exponentials.size(), 2u);
  EXPECT_EQ(exponentials[0], exponentials[1]);
  EXPECT_NE(exponentials[1], "/device:GPU:1");
}

TEST(Replicate, EachReplicaKnowsItsNumber) {
  const Graph g = trace({}, [](const Tensors&) {
    return Tensors{cond(
        less(replica_id(kTwo), constant(1)), [] { return Tensors{constant(7)}; },
        [] { return Tensors{replica_id(kTwo) + 10}; })[0]};
  });
  const Tensors out = interpret(joined(g, two_replicas()), {});
  EXPECT_EQ(out[0].to_vector<int32_t>(), (std::vector<int32_t>{7}));
  EXPECT_EQ(out[1].to_vector<int32_t>(), (std::vector<int32_t>{11}));
}

TEST(Replicate, CollectivesAreComputedOnce) {
  const Graph g = trace({{float32, {2}}}, [](const Tensors& x) {
    CollectiveAttrs mean = kTwo, max = kTwo, from_second = kTwo;
    mean.reduction = Reduction::kMean;
    max.reduction = Reduction::kMax;
    from_second.root = 1;
    return Tensors{all_reduce(x[0], kTwo),
                   all_reduce(x[0], mean),
                   all_reduce(x[0], max),
                   all_gather(x[0], kTwo),
                   broadcast_from(x[0], from_second),
                   reduce_to(x[0], from_second),
                   reduce_scatter(x[0], kTwo)};
  });
  const Graph made = joined(g, two_replicas());
  EXPECT_FALSE(has_collectives(made));
  EXPECT_EQ(count_ops(made, "Maximum"), 1);
  const Tensors out =
      interpret(made, Tensors{constant({1.f, 8.f}), constant({3.f, 4.f})});
  const std::vector<V> wanted = {{4, 12}, {4, 12},      {2, 6},       {2, 6}, {3, 8},
                                 {3, 8},  {1, 8, 3, 4}, {1, 8, 3, 4}, {3, 4}, {3, 4},
                                 {0, 0},  {4, 12},      {4},          {12}};
  ASSERT_EQ(out.size(), wanted.size());
  for (size_t i = 0; i < out.size(); ++i) {
    EXPECT_EQ(out[i].to_vector<float>(), wanted[i]) << i;
  }
}

TEST(Replicate, VariablesHaveACopyPerReplica) {
  Variable first(constant(1.f)), second(constant(10.f)), shared(constant(100.f));
  const Graph g = trace({{float32, {}}}, [&](const Tensors& x) {
    first.assign_add(x[0]);
    shared.assign_add(x[0]);
    return Tensors{first.read(), all_reduce(first.read(), kTwo)};
  });
  const Graph made = joined(g, two_replicas({{first, second}}));
  EXPECT_EQ(made.final_states().size(), 3u);
  const Tensors out = interpret(made, Tensors{constant(2.f), constant(3.f)});
  EXPECT_EQ(out[0].to_vector<float>(), (V{3}));
  EXPECT_EQ(out[1].to_vector<float>(), (V{13}));
  EXPECT_EQ(out[2].to_vector<float>(), (V{16}));
  EXPECT_EQ(first.read().to_vector<float>(), (V{3}));
  EXPECT_EQ(second.read().to_vector<float>(), (V{13}));
  EXPECT_EQ(shared.read().to_vector<float>(), (V{105}));  // one after the other
}

TEST(Replicate, ABranchThatMeetsIsTakenWhenAllAgree) {
  Variable first(constant(0.f)), second(constant(0.f));
  const Graph g = trace({{float32, {}}}, [&](const Tensors& x) {
    return Tensors{cond(
        is_finite(x[0]),
        [&] {
          const Tensor total = all_reduce(x[0], kTwo);
          first.assign_add(total);
          return Tensors{total};
        },
        [&] { return Tensors{x[0] * 0.f - 1.f}; })[0]};
  });
  const Graph made = joined(g, two_replicas({{first, second}}));
  EXPECT_EQ(count_ops(made, "If"), 1);
  Tensors out = interpret(made, Tensors{constant(2.f), constant(3.f)});
  EXPECT_EQ(out[0].to_vector<float>(), (V{5}));
  EXPECT_EQ(out[1].to_vector<float>(), (V{5}));
  out = interpret(made, Tensors{constant(2.f), constant(INFINITY)});
  EXPECT_EQ(out[0].to_vector<float>(), (V{-1}));
  EXPECT_EQ(first.read().to_vector<float>(), (V{5}));
  EXPECT_EQ(second.read().to_vector<float>(), (V{5}));
}

TEST(Replicate, ACollectiveInALoopIsRefused) {
  const Graph g = trace({{float32, {}}}, [](const Tensors& x) {
    return while_loop([](const Tensors& v) { return less(v[0], constant(9.f)); },
                      [](const Tensors& v) { return Tensors{all_reduce(v[0], kTwo)}; },
                      {x[0]});
  });
  EXPECT_THROW(replicate(g, two_replicas()), UnimplementedError);
}

TEST(Replicate, OptimisedItGivesTheSame) {
  Variable first(constant({1.f, 2.f})), second(constant({1.f, 2.f}));
  const Graph g = trace({{float32, {2}}}, [&](const Tensors& x) {
    const Tensor gradient = all_reduce(x[0] * first.read(), kTwo);
    first.assign_sub(gradient * 0.1f);
    return Tensors{reduce_sum(gradient)};
  });
  const Graph made = joined(g, two_replicas({{first, second}}));
  const Tensors arguments{constant({1.f, 1.f}), constant({2.f, 3.f})};
  interpret(optimize(specialize(made, infos_of(arguments))), arguments);
  EXPECT_EQ(first.read().to_vector<float>(), (V{1.f - 0.1f * 3.f, 2.f - 0.1f * 8.f}));
  EXPECT_EQ(second.read().to_vector<float>(), first.read().to_vector<float>());
}

}  // namespace
}  // namespace tandem::testing
