// Plans of small graphs, by hand: order, places, kernels, memory, storing and loading.
#include "plan/plan.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "device/runtime.h"
#include "graph/trace.h"
#include "plan/cost_store.h"
#include "plan/peak.h"
#include "run/executable.h"
#include "tandem/tandem.h"

namespace tandem {
namespace {

using Tensors = std::vector<Tensor>;

struct Traced {
  Graph graph{"test"};
  Tracer tracer{graph, nullptr};
};

// The plan of a body over parameters of the given shapes, all on CPU:0.
template <class Body>
std::shared_ptr<const PlannedGraph> plan_of(const std::vector<Shape>& shapes, Body body,
                                            PlanOptions options = {}) {
  Traced t;
  {
    const EmitterScope scope(&t.tracer);
    Tensors parameters;
    for (const Shape& s : shapes) {
      parameters.push_back(t.tracer.parameter(DType::kFloat32, s, "x"));
    }
    for (const Tensor& r : body(parameters)) {
      t.graph.results().push_back(t.tracer.value_of(r));
    }
  }
  t.tracer.finish();
  const std::vector<Device*> devices(shapes.size(), &Runtime::get().cpu());
  options.measure_kernels = false;
  return make_plan(t.graph, devices, options);
}

std::vector<std::string> step_names(const PlannedGraph& p) {
  std::vector<std::string> names;
  for (const PlanStep& s : p.plan.steps) {
    const Node& n = p.graph->node(s.node);
    names.push_back(n.op ? n.op->name : "Copy");
  }
  return names;
}

TEST(Plan, ViewsAndReadsAreNoSteps) {
  Variable v(ones({4}));
  const auto p = plan_of(
      {{2, 2}}, [&](const Tensors& x) { return Tensors{exp(reshape(x[0], {4}) * v)}; });
  EXPECT_EQ(step_names(*p), std::vector<std::string>({"Mul", "Exp"}));
  // One buffer between the two; the result has memory of its own.
  EXPECT_EQ(p->plan.spaces[0].bytes, 64);
  EXPECT_EQ(p->plan.spaces[0].result_bytes, 16);
}

TEST(Peak, IsWhereMostIsAliveAtOnce) {
  // a (4 KiB) and b (16 KiB) are both needed for c (16 KiB); d needs only c.
  const auto p = plan_of({{32, 32}, {32, 128}}, [](const Tensors& x) {
    const Tensor a = matmul(x[0], x[0]), b = matmul(a, x[1]), c = matmul(a, b);
    return Tensors{matmul(c, c, {.transpose_b = true})};
  });
  const Peak peak = find_peak(*p, 0);
  EXPECT_EQ(peak.step, 2);
  EXPECT_EQ(peak.bytes, 4096 + 2 * 16384);
  ASSERT_EQ(peak.values.size(), 3u);
  EXPECT_EQ(peak.values[0].bytes, 16384);
  EXPECT_EQ(peak.values[1].bytes, 16384);
  EXPECT_EQ(peak.values[2].node, p->plan.steps[0].node);
  const std::string text = peak_text(*p, 0, 2);
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 2) << text;
  EXPECT_NE(text.find("16.00KiB: "), std::string::npos) << text;
  EXPECT_NE(text.find(", float32 [32,128]"), std::string::npos) << text;
}

TEST(Peak, AValueWrittenOverAnotherIsNotCountedTwice) {
  const auto p = plan_of({{1024}}, [](const Tensors& x) {
    Tensor y = x[0];
    for (int i = 0; i < 10; ++i) y = exp(y);
    return Tensors{reduce_sum(y)};
  });
  EXPECT_EQ(find_peak(*p, 0).bytes, 4096);
  EXPECT_EQ(find_peak(*p, 0).values.size(), 1u);
}

TEST(Peak, AViewKeepsWhatItLooksAt) {
  const auto p = plan_of({{32, 32}}, [](const Tensors& x) {
    const Tensor a = matmul(x[0], x[0]), view = reshape(a, {16, 64});
    const Tensor b = matmul(x[0], x[0] + 1.f);
    return Tensors{matmul(view, reshape(b, {64, 16}))};
  });
  const Peak peak = find_peak(*p, 0);
  EXPECT_EQ(peak.bytes, 3 * 4096);  // a, x + 1 and b
}

TEST(Peak, OfAnEmptyArena) {
  const auto p = plan_of({{4}}, [](const Tensors& x) { return Tensors{exp(x[0])}; });
  EXPECT_EQ(find_peak(*p, 0).step, -1);
  EXPECT_EQ(peak_text(*p, 0, 8), "");
}

TEST(Plan, ChainsRunInOneBuffer) {
  const auto p = plan_of({{1024}}, [](const Tensors& x) {
    Tensor y = x[0];
    for (int i = 0; i < 10; ++i) y = exp(y);
    return Tensors{reduce_sum(y)};
  });
  EXPECT_EQ(p->plan.spaces[0].bytes, 4096);
  EXPECT_EQ(p->plan.spaces[0].unshared_bytes, 10 * 4096);
  const auto q = plan_of({{1024}},
                         [](const Tensors& x) {
                           Tensor y = x[0];
                           for (int i = 0; i < 10; ++i) y = exp(y);
                           return Tensors{reduce_sum(y)};
                         },
                         {.inplace = false});
  EXPECT_EQ(q->plan.spaces[0].bytes, 2 * 4096);
}

TEST(Plan, AssignedValuesAreComputedInTheVariable) {
  Variable v(ones({8}));
  const auto p = plan_of({{8}}, [&](const Tensors& x) {
    v.assign(v * x[0]);
    return Tensors{};
  });
  EXPECT_EQ(step_names(*p), std::vector<std::string>({"Mul"}));
  EXPECT_EQ(p->plan.spaces.empty() ? 0 : p->plan.spaces[0].bytes, 0);
}

TEST(Plan, AValueThatIsReadElsewhereIsAssignedByACopy) {
  Variable w(ones({4, 4}));
  // A product cannot be computed over its own operand.
  const auto p = plan_of({{4, 4}}, [&](const Tensors& x) {
    w.assign(matmul(w, x[0]));
    return Tensors{};
  });
  EXPECT_EQ(step_names(*p), std::vector<std::string>({"MatMul", "AssignVariableOp"}));
}

TEST(Plan, WritesComeAfterReadersAndAfterWhatMayFail) {
  Variable v(ones({3}));
  const auto p = plan_of({{3}}, [&](const Tensors& x) {
    const Tensor old = v.read();
    v.assign(x[0] * 2.f);
    return Tensors{exp(old), gather(x[0], constant({1}))};
  });
  const std::vector<std::string> names = step_names(*p);
  EXPECT_EQ(names.back(), "Mul");
  EXPECT_EQ(names.size(), 3u);
}

TEST(Plan, PeakIsWhatARunTakes) {
  const auto p = plan_of({{256, 256}}, [](const Tensors& x) {
    const Tensor a = matmul(x[0], x[0]);
    const Tensor b = matmul(a, x[0]);
    return Tensors{matmul(exp(a), exp(b))};
  });
  const std::string cpu = Runtime::get().cpu().full_name();
  Executable executable(p);
  const Tensor x = ones({256, 256});
  executable.run({&x, 1});
  config::reset_memory_stats("CPU:0");
  const int64_t before = config::get_memory_info("CPU:0").current;
  Executable again(p);
  const Tensors r = again.run({&x, 1});
  const int64_t taken = config::get_memory_info("CPU:0").peak - before;
  const int64_t planned = p->plan.peak_bytes(cpu);
  EXPECT_NEAR(static_cast<double>(taken), static_cast<double>(planned),
              0.05 * static_cast<double>(planned));
}

TEST(Plan, SaysByHowMuchALimitIsExceeded) {
  const auto p =
      plan_of({{64, 64}}, [](const Tensors& x) { return Tensors{matmul(x[0], x[0])}; });
  EXPECT_EQ(p->plan.over_limit, 0);
}

TEST(Plan, IsStoredAndLoadedEqual) {
  Variable v(ones({8}));
  const auto p = plan_of({{8}}, [&](const Tensors& x) {
    v.assign(v + exp(x[0]));
    return Tensors{reduce_sum(exp(x[0]) * v)};
  });
  const std::string text = to_json(p->plan);
  EXPECT_TRUE(plan_from_json(text) == p->plan);
  EXPECT_EQ(to_json(plan_from_json(text)), text);
  EXPECT_THROW(plan_from_json("{"), InvalidArgumentError);
  EXPECT_THROW(plan_from_json("{\"lanes\": 3}"), InvalidArgumentError);
  // A loaded plan runs: kernels are found by their names.
  auto loaded = std::make_shared<PlannedGraph>(*p);
  loaded->plan = plan_from_json(text);
  loaded->prepared.clear();
  Executable executable(loaded);
  const Tensor x = zeros({8});
  EXPECT_EQ(executable.run({&x, 1})[0].item<float>(), 16);
}

TEST(CostStore, RemembersAcrossOpenings) {
  const std::string path = ::testing::TempDir() + "tandem_costs_test.sqlite";
  std::remove(path.c_str());
  {
    CostStore store(path);
    EXPECT_FALSE(store.find("a").has_value());
    store.put("a", {.us = 12.5, .spread = 0.1, .runs = 5});
    EXPECT_EQ(store.find("a"), 12.5);
  }
  {
    CostStore store(path);
    EXPECT_EQ(store.find("a"), 12.5);
    EXPECT_FALSE(store.find("b").has_value());
  }
  std::remove(path.c_str());
}

/// A store on disk of its own, opened anew for each question: as another process would
/// ask.
class Rows : public ::testing::Test {
 protected:
  Rows() {
    remove();
    CostStore store(path);
    store.put("a", {.us = 10, .spread = 0.1, .runs = 5});
    row = *store.row("a");
  }
  ~Rows() override { remove(); }

  void remove() {
    for (const char* end : {"", "-wal", "-shm"}) std::remove((path + end).c_str());
  }
  /// What another process finds when the row is `changed`.
  std::optional<double> find(const CostStore::Row& changed) {
    CostStore(path).put_row("a", changed);
    return CostStore(path).find("a");
  }

  const std::string path =
      ::testing::TempDir() + fmt::format("tandem_rows_{}.sqlite", getpid());
  CostStore::Row row;
};

TEST_F(Rows, SayHowTheyWereMeasured) {
  EXPECT_EQ(row.time.runs, 5);
  EXPECT_EQ(row.time.spread, 0.1);
  EXPECT_GT(row.cores, 0);
  EXPECT_NE(row.versions.find("oneDNN"), std::string::npos) << row.versions;
  EXPECT_EQ(find(row), 10);
}

TEST_F(Rows, OfOtherLibrariesCoresOrOldAreMeasuredAgain) {
  CostStore::Row changed = row;
  changed.versions = "oneDNN of yesterday";
  EXPECT_FALSE(find(changed));
  changed = row;
  changed.cores += 1;
  EXPECT_FALSE(find(changed));
  changed = row;
  changed.hour -= CostStore::kDays * 24 + 1;
  EXPECT_FALSE(find(changed));
  changed = row;
  changed.hour += 48;  // the clock was wrong
  EXPECT_FALSE(find(changed));
}

TEST_F(Rows, OfABusyMachineDoNotStay) {
  CostStore::Row changed = row;
  changed.time.busy = true;
  EXPECT_EQ(find(changed), 10);
  changed.hour -= CostStore::kBusyHours;
  EXPECT_FALSE(find(changed));
}

TEST_F(Rows, AreReplacedWhereTheyDisagree) {
  CostStore store(path);
  store.put("a", {.us = 10.5, .spread = 0.1, .runs = 5});
  EXPECT_EQ(store.row("a")->time.us, 10);
  EXPECT_EQ(store.row("a")->time.runs, 10);
  store.put("a", {.us = 30, .spread = 0.1, .runs = 5});
  EXPECT_EQ(store.row("a")->time.us, 30);
  EXPECT_EQ(store.row("a")->time.runs, 5);
}

TEST_F(Rows, AreLookedAtAgainAfterADay) {
  row.hour -= 24;
  {
    CostStore store(path);
    for (int i = 0; i < 20; ++i) store.put_row(fmt::format("b{}", i), row);
  }
  CostStore store(path);
  const auto found = [&](int from, int to) {
    int count = 0;
    for (int i = from; i < to; ++i)
      count += store.find(fmt::format("b{}", i)).has_value();
    return count;
  };
  EXPECT_EQ(found(0, 10), 10 - CostStore::kChecks);
  store.put("b0",
            {.us = 10, .spread = 0.1, .runs = 5});  // agrees: the others are believed
  EXPECT_EQ(found(10, 12), 2);
  store.put("b1", {.us = 100, .spread = 0.1, .runs = 5});
  EXPECT_EQ(found(12, 20), 8 - CostStore::kChecks);
}

TEST_F(Rows, AreBounded) {
  CostStore store(path);
  for (int i = 0; i < CostStore::kMostRows + 600; ++i)
    store.put_row(fmt::format("c{}", i), row);
  EXPECT_LE(store.rows(), CostStore::kMostRows + 256);
}

TEST_F(Rows, InMemoryAreBoundedAndTheLastUsedStay) {
  CostStore store("");
  constexpr int kMost = CostStore::kMostInMemory;
  for (int i = 0; i < 3 * kMost; ++i) {
    store.put(fmt::format("c{}", i), {.us = 1.0 + i, .runs = 5});
    ASSERT_EQ(store.find("c0"), 1.0) << i;
    ASSERT_LE(store.rows(), kMost);
  }
  EXPECT_FALSE(store.find("c1"));
  EXPECT_EQ(store.find(fmt::format("c{}", 2 * kMost + kMost / 2)),
            1.0 + 2 * kMost + kMost / 2);
}

TEST_F(Rows, OfAFileThatOthersMayWriteAreNotUsed) {
  chmod(path.c_str(), 0666);
  CostStore store(path);
  EXPECT_EQ(store.path(), "");
  EXPECT_FALSE(store.find("a"));
}

TEST(CostStore, ADamagedFileIsNotUsed) {
  const std::string path = ::testing::TempDir() + "tandem_damaged_costs_test.sqlite";
  if (FILE* f = std::fopen(path.c_str(), "w")) {
    for (int i = 0; i < 1000; ++i) std::fputs("not a database ", f);
    std::fclose(f);
  }
  CostStore store(path);
  EXPECT_EQ(store.path(), "");
  store.put("a", {.us = 1.5, .runs = 5});
  EXPECT_EQ(store.find("a"), 1.5);
  std::remove(path.c_str());
}

}  // namespace
}  // namespace tandem
