// ClusterDag: joins that close no cycle are made, others are refused; compared with a
// search of the whole graph.
#include "graph/passes/cluster_dag.h"

#include <algorithm>
#include <random>

#include <gtest/gtest.h>

namespace tandem {
namespace {

using Edges = std::vector<std::pair<int32_t, int32_t>>;

ClusterDag make(int32_t nodes, const Edges& edges) {
  ClusterDag::Lists before(static_cast<size_t>(nodes)), after(static_cast<size_t>(nodes));
  for (auto [from, to] : edges) {
    before[static_cast<size_t>(to)].push_back(from);
    after[static_cast<size_t>(from)].push_back(to);
  }
  return {before, after};
}

TEST(ClusterDag, AnEdgeMayBeJoined) {
  ClusterDag dag = make(3, {{0, 1}, {1, 2}});
  EXPECT_TRUE(dag.join(0, 1));
  EXPECT_EQ(dag.find(0), dag.find(1));
  EXPECT_NE(dag.find(0), dag.find(2));
  EXPECT_EQ(dag.members(dag.find(0)), (std::vector<int32_t>{0, 1}));
}

TEST(ClusterDag, AWayThroughAThirdForbidsIt) {
  ClusterDag dag = make(3, {{0, 1}, {1, 2}, {0, 2}});
  EXPECT_FALSE(dag.join(0, 2));
  EXPECT_TRUE(dag.join(1, 2));  // now the third is inside
  EXPECT_TRUE(dag.join(0, 2));
}

// 0 → 1 and 2 → 3: either {0, 3} or {1, 2}, not both.
TEST(ClusterDag, JoinsForbidOthers) {
  ClusterDag dag = make(4, {{0, 1}, {2, 3}});
  EXPECT_TRUE(dag.join(0, 3));
  EXPECT_FALSE(dag.join(1, 2));
}

// Whether the clusters of a graph have a cycle, by taking away what nothing leads to.
bool has_cycle(int32_t nodes, const Edges& edges, const std::vector<int32_t>& cluster) {
  std::vector<int> waits(static_cast<size_t>(nodes), 0);
  for (auto [from, to] : edges) {
    const int32_t a = cluster[static_cast<size_t>(from)],
                  b = cluster[static_cast<size_t>(to)];
    waits[static_cast<size_t>(b)] += a != b;
  }
  std::vector<int32_t> ready;
  std::vector<bool> done(static_cast<size_t>(nodes), false);
  for (bool any = true; any;) {
    any = false;
    for (int32_t c = 0; c < nodes; ++c) {
      const auto i = static_cast<size_t>(c);
      if (done[i] || waits[i] != 0) continue;
      done[i] = any = true;
      for (auto [from, to] : edges) {
        const int32_t b = cluster[static_cast<size_t>(to)];
        if (cluster[static_cast<size_t>(from)] == c && b != c) {
          --waits[static_cast<size_t>(b)];
        }
      }
    }
  }
  return std::find(done.begin(), done.end(), false) != done.end();
}

TEST(ClusterDag, RandomJoinsAgreeWithASearch) {
  std::mt19937 random(7);
  int joined = 0, refused = 0;
  for (int round = 0; round < 60; ++round) {
    const int32_t nodes = 24;
    Edges edges;
    std::uniform_int_distribution<int32_t> any(0, nodes - 1);
    for (int i = 0; i < 30; ++i) {
      const int32_t a = any(random), b = any(random);
      if (a != b) edges.emplace_back(std::min(a, b), std::max(a, b));
    }
    ClusterDag dag = make(nodes, edges);
    std::vector<int32_t> cluster(nodes);
    for (int32_t i = 0; i < nodes; ++i) cluster[static_cast<size_t>(i)] = i;
    for (int i = 0; i < 40; ++i) {
      const int32_t a = any(random), b = any(random);
      std::vector<int32_t> after = cluster;
      const int32_t ca = cluster[static_cast<size_t>(a)],
                    cb = cluster[static_cast<size_t>(b)];
      std::replace(after.begin(), after.end(), cb, ca);
      const bool good = !has_cycle(nodes, edges, after);
      ASSERT_EQ(dag.join(a, b), good) << "round " << round << " step " << i;
      if (good) cluster = after;
      ++(good ? joined : refused);
    }
  }
  EXPECT_GT(joined, 200);
  EXPECT_GT(refused, 200);
}

}  // namespace
}  // namespace tandem
