// Branches and loops that a real GPU decides by itself, as conditional nodes of the one
// graph that a step is: against the CPU, and without a word to the host.
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>

#include "gpu/gpu.h"
#include "support/device_loops.h"
#include "support/random_device_program.h"
#include "tandem/error.h"
#include "tandem/function.h"
#include "tandem/profile.h"
#include "tandem/record.h"

namespace tandem::testing {
namespace {

using CudaConditional = GpuTest;
using Tensors = std::vector<Tensor>;
using Clock = std::chrono::steady_clock;

// Asked for when a plan is made.
struct SwitchedOff {
  SwitchedOff() { setenv("TANDEM_CONDITIONAL_NODES", "0", 1); }
  ~SwitchedOff() { unsetenv("TANDEM_CONDITIONAL_NODES"); }
};

Tensor given(const Floats& values) {
  return on("/GPU:0", [&] { return identity(constant(values)); });
}

void expect_close_results(const Tensors& got, const Tensors& wanted,
                          const std::string& what) {
  ASSERT_EQ(got.size(), wanted.size()) << what;
  for (size_t i = 0; i < got.size(); ++i) {
    const auto a = cast(got[i], DType::kFloat64).to_vector<double>();
    const auto b = cast(wanted[i], DType::kFloat64).to_vector<double>();
    ASSERT_EQ(a.size(), b.size()) << what;
    for (size_t k = 0; k < a.size(); ++k) {
      EXPECT_NEAR(a[k], b[k], 1e-5 * std::max(1.0, std::abs(b[k])))
          << what << ", result " << i << ", element " << k;
    }
  }
}

// Arguments at other addresses in every call, so that the graph is told new ones.
TEST_F(CudaConditional, ProgramsGiveTheCpusResults) {
  for (const auto& program : device_programs()) {
    SCOPED_TRACE(program.name);
    auto decided = function([&](Tensor x) { return program.run(x); });
    Tensors kept;
    for (int round = 0; round < 3; ++round) {
      for (const Floats& values : program.arguments) {
        kept.push_back(given(values));
        const Tensors wanted =
            on("/CPU:0", [&] { return program.run(identity(constant(values))); });
        expect_close_results(decided(kept.back()), wanted, program.name);
      }
    }
    EXPECT_NE(decided.explain().find("as a conditional node"), std::string::npos)
        << decided.explain();
  }
}

TEST_F(CudaConditional, RandomProgramsGiveTheCpusResults) {
  for (uint64_t seed = 1; seed <= 10; ++seed) {
    Variable on_gpu = on("/GPU:0", [] { return Variable(zeros({4})); });
    Variable on_cpu = on("/CPU:0", [] { return Variable(zeros({4})); });
    RandomDeviceProgram eager(seed, on_cpu), traced(seed, on_gpu);
    auto f = function([&](Tensor x) { return traced(x); });
    for (const Floats& values : {Floats{1, 2, 3, 4}, Floats{9, 0, 7, 2}, Floats(4, 0)}) {
      const Tensors wanted =
          on("/CPU:0", [&] { return eager(identity(constant(values))); });
      expect_close_results(f(given(values)), wanted, "seed " + std::to_string(seed));
    }
  }
}

TEST_F(CudaConditional, ALoopOverDeviceDataCopiesNothing) {
  auto f = function([](Tensor x, Tensor limit) {
    return while_loop([&](const Tensors& s) { return reduce_sum(s[0]) < limit; },
                      [](const Tensors& s) { return Tensors{s[0] + constant(1.f)}; },
                      {x})[0];
  });
  const Tensor x = given({0, 0, 0, 0});
  const Tensor limit = on("/GPU:0", [] { return identity(constant(4000.f)); });
  f(x, limit).wait();
  const int64_t before = copy_stats().count;
  const Tensor y = f(x, limit);
  y.wait();
  EXPECT_EQ(copy_stats().count, before) << f.explain();
  EXPECT_EQ(floats(y), Floats(4, 1000));
}

TEST_F(CudaConditional, AnErrorEndsTheLoopAndLeavesVariablesAlone) {
  Variable v = on("/GPU:0", [] { return Variable(zeros({1})); });
  auto f = function([&](Tensor x, Tensor table) {
    return while_loop([](const Tensors& s) { return reduce_all(s[0] < constant(4096)); },
                      [&](const Tensors& s) {
                        const Tensor found = gather(table, s[0]);
                        v.assign_add(found);
                        return Tensors{s[0] + constant(1), s[1] + found};
                      },
                      {x, zeros({1})})[1];
  });
  const Tensor table = given({1, 2, 3, 4});
  const Tensor x = on(
      "/GPU:0", [] { return identity(reshape(constant(std::vector<int32_t>{0}), {1})); });
  try {
    floats(f(x, table));
    ADD_FAILURE() << "no error";
  } catch (const InvalidArgumentError& e) {
    const std::string text = e.what();
    EXPECT_NE(text.find("= 4 is not in [0, 4)"), std::string::npos) << text;
    EXPECT_NE(text.find("GatherV2"), std::string::npos) << text;
    EXPECT_NE(text.find("{{node GatherV2}}"), std::string::npos) << text;
  }
  EXPECT_NE(f.explain().find("While as a conditional node"), std::string::npos)
      << f.explain();
  // The turns before the bad one were whole; the device goes on.
  EXPECT_EQ(floats(v.read()), Floats{10});
  EXPECT_EQ(floats(given({1, 2}) + given({1, 2})), (Floats{2, 4}));
}

TEST_F(CudaConditional, VariablesAreWrittenInTheLoop) {
  Variable v = on("/GPU:0", [] { return Variable(zeros({2})); });
  auto f = function([&](Tensor x) {
    return while_loop(
        [&](const Tensors&) { return reduce_sum(v.read()) < constant(20.f); },
        [&](const Tensors& s) {
          v.assign_add(x);
          return Tensors{s[0] + v.read()};
        },
        {x})[0];
  });
  for (int round = 0; round < 3; ++round) {
    EXPECT_EQ(floats(f(given({1, 2}))), (Floats{29, 58}));
    EXPECT_EQ(floats(v.read()), (Floats{7, 14}));
    const Tensor snapshot = v.read();  // the next call finds the variable elsewhere
    v.assign(given({0, 0}));
    EXPECT_EQ(floats(snapshot), (Floats{7, 14}));
  }
  EXPECT_NE(f.explain().find("While as a conditional node"), std::string::npos)
      << f.explain();
}

TEST_F(CudaConditional, RandomNumbersAreTheSameAsByTheHost) {
  const auto draw = [] {
    const DeviceScope scope("/GPU:0");
    const Tensors made =
        while_loop([](const Tensors& s) { return reduce_sum(s[0]) < constant(5.f); },
                   [](const Tensors& s) {
                     return Tensors{s[0] + random::uniform({3}), s[1] + constant(1)};
                   },
                   {zeros({3}), constant(0)});
    return std::pair(made[0], made[1]);
  };
  const auto take = [&](const auto& f) {
    random::set_seed(11);
    Floats all;
    for (int i = 0; i < 4; ++i) {
      const auto [sum, turns] = f();
      for (float value : floats(sum)) all.push_back(value);
      all.push_back(static_cast<float>(turns.template item<int32_t>()));
    }
    return all;
  };
  auto decided = function(draw);
  const Floats got = take(decided);
  EXPECT_NE(decided.explain().find("While as a conditional node"), std::string::npos)
      << decided.explain();
  const SwitchedOff off;
  auto looked = function(draw);
  EXPECT_EQ(take(looked), got);
  EXPECT_EQ(looked.explain().find("as a conditional node"), std::string::npos);
}

// Who records what the GPU does has the graph made again, with names for its nodes.
TEST_F(CudaConditional, CanBeRecorded) {
  auto f = function([](Tensor x) {
    return while_loop([](const Tensors& s) { return reduce_sum(s[0]) < constant(40.f); },
                      [](const Tensors& s) { return Tensors{s[0] + constant(1.f)}; },
                      {x})[0];
  });
  EXPECT_EQ(floats(f(given({1, 2, 3, 4}))), (Floats{9, 10, 11, 12}));
  start_recording();
  EXPECT_EQ(floats(f(given({9, 9, 0, 0}))), (Floats{15, 15, 6, 6}));
  stop_recording();
  EXPECT_EQ(floats(f(given({0, 0, 0, 0}))), (Floats{10, 10, 10, 10}));
}

// A loop of a thousand turns in each way; how long a turn takes is printed.
TEST_F(CudaConditional, EveryWayGivesTheSame) {
  const auto run = [](const Tensor& x) {
    return while_loop(
        [](const Tensors& s) { return reduce_max(s[1]) < constant(1000.f); },
        [](const Tensors& s) {
          return Tensors{tanh(matmul(s[0], s[0])) + constant(0.01f),
                         s[1] + constant(1.f)};
        },
        {x, zeros({4})})[0];
  };
  const Tensor x =
      on("/GPU:0", [] { return identity(eye(16) * constant(0.5f) + constant(0.01f)); });
  const auto take = [&](const char* what) {
    Floats values;
    try {
      auto f = function([&](Tensor t) { return run(t); });
      values = floats(f(x));
      double best = 1e9;
      for (int i = 0; i < 5; ++i) {
        const auto begin = Clock::now();
        f(x).wait();
        best =
            std::min(best, std::chrono::duration<double>(Clock::now() - begin).count());
      }
      std::printf("a turn %s: %.2f us\n", what, best * 1e3);
    } catch (const Error& e) {
      std::printf("a turn %s: %s\n", what, e.what());
    }
    return values;
  };
  const Floats decided = take("as a conditional node");
  EXPECT_FALSE(decided.empty());
  setenv("TANDEM_PROGRAMMATIC_BODIES", "1", 1);
  EXPECT_EQ(take("as a conditional node with early starts"), decided);
  unsetenv("TANDEM_PROGRAMMATIC_BODIES");
  const SwitchedOff off;
  EXPECT_EQ(take("decided by the host"), decided);
}

// Products and reductions of libraries and of our own inside a body.
TEST_F(CudaConditional, PowerIterationConverges) {
  const auto run = [](const Tensor& m) {
    const Tensors made = while_loop(
        [](const Tensors& s) { return s[1] > constant(1e-6f); },
        [&](const Tensors& s) {
          const Tensor y = matmul(m, s[0]);
          const Tensor unit = y / sqrt(reduce_sum(y * y));
          return Tensors{unit, reduce_max(abs(unit - s[0]))};
        },
        {ones({64, 1}) * constant(0.125f), constant(1.f)}, {.maximum_iterations = 500});
    return Tensors{made[0]};
  };
  Floats values(64 * 64);
  for (size_t i = 0; i < values.size(); ++i) {
    values[i] = 0.01f * static_cast<float>((i / 64 * (i % 64)) % 17) +
                (i / 64 == i % 64 ? 1 + 0.05f * static_cast<float>(i / 64) : 0.f);
  }
  auto f = function([&](Tensor m) { return run(m); });
  const Tensor m =
      on("/GPU:0", [&] { return reshape(identity(constant(values)), {64, 64}); });
  const Tensors got = f(m);
  EXPECT_NE(f.explain().find("While as a conditional node"), std::string::npos)
      << f.explain();
  const Floats x = floats(got[0]);
  const Floats y =
      floats(on("/CPU:0", [&] { return run(reshape(constant(values), {64, 64})); })[0]);
  for (size_t i = 0; i < x.size(); ++i) EXPECT_NEAR(x[i], y[i], 1e-3f) << i;
}

}  // namespace
}  // namespace tandem::testing
