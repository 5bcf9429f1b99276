// Random programs through specialisation, passes, plan and executor give what eager
// execution gives; on several devices too when there are some (the emulated variant).
#include <cctype>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <random>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/hash.h"
#include "base/interrupt.h"
#include "device/runtime.h"
#include "graph/equal.h"
#include "plan/stored_plan.h"
#include "run/executable.h"
#include "run/graph_function.h"
#include "support/random_graph.h"
#include "support/traced.h"
#include "tandem/device.h"

namespace tandem::testing {
namespace {

uint64_t first_seed() {
  const char* seed = std::getenv("TANDEM_TEST_SEED");
  return seed ? std::strtoull(seed, nullptr, 10) : 1;
}

// Copies between devices take their time: fewer programs where there are several.
uint64_t programs(uint64_t many) {
  return Runtime::get().devices().size() > 1 ? many / 4 : many;
}

void check(uint64_t seed, const RandomGraphOptions& options) {
  SCOPED_TRACE("seed " + std::to_string(seed));
  RandomGraph program(seed, options);
  std::mt19937_64 random(seed);
  for (const bool optimize : {false, true}) {
    for (int scatter = 0; scatter < 2; ++scatter) {
      const Graph graph = scatter ? scattered(program.graph(), random) : program.graph();
      GraphFunction function(std::make_shared<const Graph>(graph),
                             {.optimize = optimize, .measure_kernels = false});
      // A second call finds the plan, and nothing of the first in it.
      for (int call = 0; call < 2; ++call) {
        const auto run = [&](const Graph&, const Tensors& arguments) {
          return function.run(arguments);
        };
        ASSERT_EQ(difference_of(program.run(graph, run), program.expected()), "")
            << "optimize " << optimize << " scatter " << scatter << " call " << call
            << "\n"
            << graph.dump() << function.explain();
      }
      EXPECT_EQ(function.plans(), 1);
    }
  }
}

// Compares peaks of all devices on which the plan needs memory; returns how many.
int expect_peaks(const std::shared_ptr<const PlannedGraph>& planned,
                 const Tensors& arguments) {
  Executable(planned).run(arguments);  // what is made once is there afterwards
  synchronize();
  std::vector<int64_t> before;
  for (Device* d : Runtime::get().devices()) {
    config::reset_memory_stats(d->short_name());
    before.push_back(config::get_memory_info(d->short_name()).current);
  }
  Executable executable(planned);
  const Tensors results = executable.run(arguments);
  synchronize();
  int compared = 0;
  size_t number = 0;
  for (Device* d : Runtime::get().devices()) {
    const int64_t taken =
        config::get_memory_info(d->short_name()).peak - before[number++];
    const int64_t said = planned->plan.peak_bytes(d->full_name());
    // A real GPU hands out large buffers in whole pages.
    const double page = d->type() == "CPU" || d->emulated() ? 0 : 2 << 20;
    EXPECT_NEAR(static_cast<double>(taken), static_cast<double>(said),
                0.05 * static_cast<double>(said) + page)
        << d->full_name() << "\n"
        << explain(*planned);
    compared += said > 0;
  }
  return compared;
}

TEST(PlannedGraphs, Straight) {
  for (uint64_t s = 0; s < programs(30); ++s) {
    check(first_seed() + s, {.variables = false, .control_flow = false});
    if (HasFailure()) return;
  }
}
TEST(PlannedGraphs, Variables) {
  for (uint64_t s = 0; s < programs(30); ++s) {
    check(first_seed() + 1000 + s, {.control_flow = false});
    if (HasFailure()) return;
  }
}
TEST(PlannedGraphs, ControlFlow) {
  for (uint64_t s = 0; s < programs(40); ++s) {
    check(first_seed() + 2000 + s, {});
    if (HasFailure()) return;
  }
}
TEST(PlannedGraphs, UnknownBatch) {
  for (uint64_t s = 0; s < programs(30); ++s) {
    check(first_seed() + 3000 + s, {.unknown_batch = true});
    if (HasFailure()) return;
  }
}

void expect_equal(const PlannedGraph& a, const PlannedGraph& b) {
  EXPECT_TRUE(a.plan == b.plan);
  EXPECT_TRUE(equal(*a.graph, *b.graph)) << a.graph->dump() << b.graph->dump();
  EXPECT_EQ(a.parameter_strips, b.parameter_strips);
  ASSERT_EQ(a.variables.size(), b.variables.size());
  for (size_t i = 0; i < a.variables.size(); ++i) {
    EXPECT_TRUE(a.variables[i].is(b.variables[i]));
  }
  ASSERT_EQ(a.subplans.size(), b.subplans.size());
  for (size_t i = 0; i < a.subplans.size(); ++i) {
    ASSERT_EQ(a.subplans[i].size(), b.subplans[i].size());
    for (size_t k = 0; k < a.subplans[i].size(); ++k) {
      expect_equal(*a.subplans[i][k], *b.subplans[i][k]);
    }
  }
}

// Whole plans, with copies, branches, loops and variables: loaded back equal, and run.
TEST(PlannedGraphs, StoredAndLoaded) {
  int nested = 0;
  for (uint64_t seed = first_seed() + 4000; seed < first_seed() + 4010; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    RandomGraph program(seed, {});
    std::mt19937_64 random(seed);
    const Graph graph = scattered(program.graph(), random);
    GraphFunction function(std::make_shared<const Graph>(graph),
                           {.measure_kernels = false});
    const auto planned = function.plan(program.arguments(), {.measure_kernels = false});
    const std::string bytes = to_bytes(*planned);
    Tensors variables;
    to_bytes(*planned->graph, &variables);
    const auto loaded = planned_from_bytes(bytes, [&](const StoredVariable& v) {
      return variables.at(static_cast<size_t>(v.index));
    });
    expect_equal(*planned, *loaded);
    EXPECT_EQ(to_bytes(*loaded), bytes);
    for (const auto& list : planned->subplans) nested += !list.empty();
    const auto run = [&](const Graph&, const Tensors& arguments) {
      return Executable(loaded).run(arguments);
    };
    EXPECT_EQ(difference_of(program.run(graph, run), program.expected()), "")
        << explain(*loaded);
    if (HasFailure()) return;
  }
  EXPECT_GT(nested, 0);
}

TEST(PlannedGraphs, DamagedBytesAreRefused) {
  const Tensor x = ones({4, 4});
  const auto graph = testing::trace(
      [](const Tensors& in) { return Tensors{matmul(exp(in[0]), in[0])}; }, {x});
  GraphFunction function(graph, {.measure_kernels = false});
  const std::string bytes = to_bytes(*function.plan({&x, 1}, {.measure_kernels = false}));
  EXPECT_TRUE(planned_from_bytes(bytes));
  for (size_t size = 0; size < bytes.size(); size += 37) {
    EXPECT_THROW(planned_from_bytes(bytes.substr(0, size)), DataLossError) << size;
  }
  for (size_t at = 0; at < bytes.size(); at += 23) {
    std::string flipped = bytes;
    flipped[at] = static_cast<char>(flipped[at] ^ 4);
    EXPECT_THROW(planned_from_bytes(flipped), DataLossError) << at;
  }
}

// What random changes found: a plan must fit its graph before it runs.
TEST(PlannedGraphs, PlansOfOtherGraphsAreRefused) {
  const Tensor x = ones({4, 4});
  Variable v(x);
  const auto graph = testing::trace(
      [&](const Tensors& in) {
        const Tensor read = v.read();
        v.assign_add(in[0]);
        return Tensors{matmul(exp(in[0]), read)};
      },
      {x});
  GraphFunction function(graph, {.optimize = false, .measure_kernels = false});
  const auto planned = function.plan({&x, 1}, {.measure_kernels = false});
  Tensors variables;
  to_bytes(*planned->graph, &variables);
  const auto load = [&](const Plan& plan) {
    PlannedGraph other(*planned);
    other.plan = plan;
    return planned_from_bytes(to_bytes(other), [&](const StoredVariable& stored) {
      return variables[static_cast<size_t>(stored.index)];
    });
  };
  EXPECT_TRUE(load(planned->plan));
  Plan plan = planned->plan;
  for (PlanStep& step : plan.steps) step.kernel.clear();  // an op that is no list's
  EXPECT_THROW(load(plan), DataLossError);
  plan = planned->plan;
  for (auto& places : plan.places) {
    for (Place& p : places) {
      if (p.storage == Place::Storage::kArena) p.bytes -= 4;
    }
  }
  EXPECT_THROW(load(plan), DataLossError);
  plan = planned->plan;
  plan.places.back().clear();  // others may refer to it
  EXPECT_THROW(load(plan), DataLossError);
  for (ValueRef r : planned->graph->results()) {
    plan = planned->plan;
    Place& p = plan.places[static_cast<size_t>(r.node)][static_cast<size_t>(r.output)];
    p.storage = Place::Storage::kArena;
    EXPECT_THROW(load(plan), DataLossError);
  }
  // Kernels for other dtypes, or made for other sizes.
  int refused = 0;
  for (size_t k = 0; k < planned->plan.steps.size(); ++k) {
    const PlanStep& step = planned->plan.steps[k];
    if (step.kernel.empty()) continue;
    const Device& device =
        Runtime::get().named(planned->plan.devices[static_cast<size_t>(step.node)]);
    const OpDef& op = *planned->graph->node(step.node).op;
    for (const Kernel* other : KernelRegistry::get().find(op, device.platform())) {
      plan = planned->plan;
      plan.steps[k].kernel = other->id;
      try {
        Executable(load(plan)).run({&x, 1});
      } catch (const DataLossError&) {
        ++refused;
      }
    }
  }
  EXPECT_GT(refused, 0);
  plan = planned->plan;
  plan.steps.clear();  // nothing touches the variable that the graph writes
  EXPECT_EQ(Executable(load(plan)).run({&x, 1}).size(), 1u);
}

/// Bytes of a plan with the checksum that they should have.
std::string sealed(std::string bytes) {
  constexpr size_t kPrefix = 32;  // magic, two sizes, checksum
  uint64_t text = 0;
  std::memcpy(&text, bytes.data() + 8, sizeof text);
  const uint64_t binary = bytes.size() - kPrefix - text;
  std::memcpy(bytes.data() + 16, &binary, sizeof binary);
  const std::string_view all = bytes;
  const uint64_t sum =
      hash_bytes(all.substr(kPrefix + text), hash_bytes(all.substr(kPrefix, text)));
  std::memcpy(bytes.data() + 24, &sum, sizeof sum);
  return bytes;
}

/// One change to the description of a plan, which stays of the same length: a digit, a
/// letter of a name, or any bit.
std::string changed(std::string bytes, std::mt19937_64& random) {
  uint64_t text = 0;
  std::memcpy(&text, bytes.data() + 8, sizeof text);
  for (;;) {
    char& c = bytes[32 + random() % text];
    const char before = c;
    if (std::isdigit(c)) {
      c = static_cast<char>('0' + random() % 10);
    } else if (random() % 16 == 0) {
      c = static_cast<char>(c ^ (1 << random() % 7));
    }
    if (c != before) return sealed(std::move(bytes));
  }
}

/// Where a plan expects its arguments.
std::vector<std::string> parameter_devices(const PlannedGraph& p) {
  std::vector<std::string> names;
  for (int32_t node : p.graph->parameters()) {
    const int32_t space = p.plan.places[static_cast<size_t>(node)][0].space;
    names.push_back(space < 0 ? "" : p.plan.spaces[static_cast<size_t>(space)].device);
  }
  return names;
}

// Whatever is changed, and the checksum made to agree: an error, or a plan that runs.
// What it then computes is another matter.
TEST(PlannedGraphs, ChangedBytesAreRefusedOrRun) {
  // A plan that waits for less than it must races with itself, and may send a real GPU to
  // addresses that only a GPU minds: there it is only made ready.
#if defined(__SANITIZE_THREAD__)
  const bool may_run = false;
#else
  const auto devices = Runtime::get().devices();
  const bool may_run = std::all_of(devices.begin(), devices.end(), [](const Device* d) {
    return d->platform() == kHostPlatform;
  });
#endif
  int refused = 0, ran = 0, failed = 0;
  for (uint64_t seed = first_seed() + 5000; seed < first_seed() + 5012; ++seed) {
    RandomGraph program(seed, {});
    std::mt19937_64 random(seed);
    const Graph graph = scattered(program.graph(), random);
    GraphFunction function(std::make_shared<const Graph>(graph),
                           {.measure_kernels = false});
    auto planned = std::make_unique<PlannedGraph>(
        *function.plan(program.arguments(), {.measure_kernels = false}));
    planned->plan.plan_ms = 0;  // a seed makes the same changes in every run
    const std::string bytes = to_bytes(*planned);
    ASSERT_EQ(sealed(bytes), bytes);
    Tensors variables;
    to_bytes(*planned->graph, &variables);
    const auto loader = [&](const StoredVariable& v) {
      const auto i = static_cast<size_t>(v.index);
      if (i >= variables.size()) throw NotFoundError("no such variable");
      return variables[i];
    };
    for (uint64_t change = 0; change < programs(150); ++change) {
      SCOPED_TRACE(fmt::format("seed {} change {}", seed, change));
      const std::string other = changed(bytes, random);
      std::shared_ptr<const PlannedGraph> loaded;
      try {
        loaded = planned_from_bytes(other, loader);
      } catch (const DataLossError&) {
        ++refused;
        continue;
      } catch (const NotFoundError&) {
        continue;  // the loader's
      }
      // That arguments are where the plan wants them is up to the caller.
      if (parameter_devices(*loaded) != parameter_devices(*planned)) continue;
      try {
        // A loop whose counter was moved may never end.
        auto end = std::chrono::steady_clock::now() + std::chrono::seconds(2);
        const InterruptScope limit(
            [](void* data) {
              using Time = std::chrono::steady_clock::time_point;
              if (std::chrono::steady_clock::now() > *static_cast<Time*>(data)) {
                throw CancelledError("it takes too long");
              }
            },
            &end);
        const auto run = [&](const Graph&, const Tensors& arguments) {
          Executable made(loaded);
          return may_run ? made.run(arguments) : Tensors{};
        };
        program.run(graph, run);
        ++ran;
      } catch (const Error&) {
        ++failed;  // a kernel or a device that is not there
      }
    }
  }
  EXPECT_GT(refused, 0);
  EXPECT_GT(ran, 0);
  RecordProperty("refused", refused);
  RecordProperty("ran", ran);
  RecordProperty("failed", failed);
}

// Products, sums and elementwise ops of matrices, on any of the devices.
Tensors large_program(std::mt19937_64& random, const Tensors& arguments) {
  Tensors values = arguments;
  const auto any = [&] { return values[random() % values.size()]; };
  const auto devices = Runtime::get().devices();
  for (int i = 0; i < 14; ++i) {
    const DeviceScope scope(devices[random() % devices.size()]->full_name());
    switch (random() % 4) {
      case 0:
        values.push_back(matmul(any(), any()));
        break;
      case 1:
        values.push_back(transpose(any()));
        break;
      case 2:
        values.push_back(any() + any());
        break;
      default:
        values.push_back(reverse(any(), {.axis = {0}}));
    }
  }
  return {values.back(), values[values.size() / 2]};
}

// What a plan says about its memory is what a run takes, on every device, within 5 %.
TEST(PlannedGraphs, PeakIsWhatARunTakes) {
  int checked = 0;
  for (uint64_t s = 0; s < programs(24); ++s) {
    const uint64_t seed = first_seed() + 4000 + s;
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937_64 random(seed);
    const auto n = static_cast<int64_t>(200 + random() % 200);
    const Tensors arguments = {ones({n, n}) * 0.01f, ones({n, n})};
    const auto graph =
        trace([&](const Tensors& x) { return large_program(random, x); }, arguments);
    GraphFunction function(graph, {.measure_kernels = false});
    const auto planned = function.plan(arguments, {.measure_kernels = false});
    checked += expect_peaks(planned, arguments);
    if (HasFailure()) return;
  }
  EXPECT_GT(checked, 0);
}

}  // namespace
}  // namespace tandem::testing
