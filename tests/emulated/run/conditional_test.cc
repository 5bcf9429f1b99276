// Branches and loops over values of a device: it decides by itself, as part of one
// recorded step, and gives what the host's way gives.
#include <cstdlib>

#include "base/interrupt.h"
#include "emulated/run/gpu.h"
#include "support/device_loops.h"
#include "support/random_device_program.h"
#include "tandem/control_flow.h"
#include "tandem/error.h"
#include "tandem/function.h"

namespace tandem {
namespace {

using testing::Floats;
using testing::floats;
using Tensors = std::vector<Tensor>;

// Asked for when a plan is made.
struct SwitchedOff {
  SwitchedOff() { setenv("TANDEM_CONDITIONAL_NODES", "0", 1); }
  ~SwitchedOff() { unsetenv("TANDEM_CONDITIONAL_NODES"); }
};

Tensor on_gpu(const Floats& values) {
  return testing::on("/GPU:0", [&] { return identity(constant(values)); });
}

void expect_equal(const Tensors& got, const Tensors& wanted, const std::string& what) {
  ASSERT_EQ(got.size(), wanted.size()) << what;
  for (size_t i = 0; i < got.size(); ++i) {
    EXPECT_EQ(cast(got[i], DType::kFloat64).to_vector<double>(),
              cast(wanted[i], DType::kFloat64).to_vector<double>())
        << what << ", result " << i;
  }
}

TEST(ConditionalNodes, GiveWhatTheHostsWayGives) {
  for (const auto& program : testing::device_programs()) {
    const auto body = [&](Tensor x) { return program.run(x); };
    auto decided = function(body);
    auto looked = function(body);
    for (int round = 0; round < 2; ++round) {
      for (const Floats& values : program.arguments) {
        const Tensor x = on_gpu(values);
        const Tensors wanted = testing::on(
            "/CPU:0", [&] { return program.run(identity(constant(values))); });
        const Tensors got = decided(x);
        {
          const SwitchedOff off;
          expect_equal(looked(x), got, program.name + " by the host");
        }
        expect_equal(got, wanted, program.name);
      }
    }
    EXPECT_NE(decided.explain().find("as a conditional node"), std::string::npos)
        << program.name << "\n"
        << decided.explain();
    EXPECT_EQ(looked.explain().find("as a conditional node"), std::string::npos)
        << looked.explain();
  }
}

TEST(ConditionalNodes, RandomProgramsGiveWhatTheHostsWayGives) {
  int with_nodes = 0;
  for (uint64_t seed = 1; seed <= 40; ++seed) {
    const std::string what = "seed " + std::to_string(seed);
    const auto variable = [](const char* device) {
      return testing::on(device, [] { return Variable(zeros({4})); });
    };
    Variable a = variable("/GPU:0"), b = variable("/GPU:0"), c = variable("/CPU:0");
    testing::RandomDeviceProgram eager(seed, c), first(seed, a), second(seed, b);
    auto decided = function([&](Tensor x) { return first(x); });
    auto looked = function([&](Tensor x) { return second(x); });
    for (const Floats& values : {Floats{1, 2, 3, 4}, Floats{9, 0, 7, 2}, Floats(4, 0)}) {
      const Tensors wanted =
          testing::on("/CPU:0", [&] { return eager(identity(constant(values))); });
      expect_equal(decided(on_gpu(values)), wanted, what);
      const SwitchedOff off;
      expect_equal(looked(on_gpu(values)), wanted, what + " by the host");
    }
    with_nodes += decided.explain().find("as a conditional node") != std::string::npos;
    EXPECT_EQ(looked.explain().find("as a conditional node"), std::string::npos);
  }
  EXPECT_GT(with_nodes, 20);
}

TEST(ConditionalNodes, CopyNothingInATurn) {
  auto f = function([](Tensor x, Tensor limit) {
    return while_loop([&](const Tensors& s) { return reduce_sum(s[0]) < limit; },
                      [](const Tensors& s) { return Tensors{s[0] + constant(1.f)}; },
                      {x})[0];
  });
  const Tensor x = on_gpu({0, 0, 0, 0});
  const Tensor near = on_gpu({4}), far = on_gpu({4000});
  f(x, reshape(near, {})).wait();
  const auto copies = [&](const Tensor& limit) {
    const Tensor scalar = reshape(limit, {});
    synchronize();
    const int64_t before = copy_stats().count;
    f(x, scalar).wait();
    return copy_stats().count - before;
  };
  EXPECT_EQ(copies(near), 0);
  EXPECT_EQ(copies(far), 0);
  EXPECT_EQ(floats(f(x, reshape(far, {}))), Floats(4, 1000));
}

TEST(ConditionalNodes, LeaveWhatTheHostKnowsToTheHost) {
  auto f = function([](Tensor x) {
    return while_loop([](const Tensors& s) { return s[0] < constant(5); },
                      [](const Tensors& s) {
                        return Tensors{s[0] + constant(1), s[1] * constant(2.f)};
                      },
                      {constant(0), x})[1];
  });
  EXPECT_EQ(floats(f(on_gpu({1, 2}))), (Floats{32, 64}));
  EXPECT_NE(f.explain().find("the host knows its predicate"), std::string::npos)
      << f.explain();
}

TEST(ConditionalNodes, SayWhyThereIsNone) {
  auto f = function([](Tensor x) {
    return while_loop([](const Tensors& s) { return reduce_sum(s[0]) < constant(10.f); },
                      [](const Tensors& s) {
                        const DeviceScope scope("/CPU:0");
                        return Tensors{s[0] + constant(1.f)};
                      },
                      {x})[0];
  });
  EXPECT_EQ(floats(f(on_gpu({1, 2}))), (Floats{5, 6}));
  EXPECT_NE(f.explain().find("no conditional node: "), std::string::npos) << f.explain();
  EXPECT_NE(f.explain().find("is on CPU:0 (scope"), std::string::npos) << f.explain();
}

TEST(ConditionalNodes, WriteVariables) {
  const auto make = [] {
    return testing::on("/GPU:0", [] { return Variable(zeros({2})); });
  };
  Variable decided = make(), looked = make();
  const auto count = [](Variable& v) {
    return function([&v](Tensor x) {
      return while_loop(
          [&](const Tensors&) { return reduce_sum(v.read()) < constant(20.f); },
          [&](const Tensors& s) {
            v.assign_add(x);
            return Tensors{s[0] + v.read()};
          },
          {x})[0];
    });
  };
  auto by_device = count(decided), by_host = count(looked);
  for (const Floats& values : {Floats{1, 2}, Floats{3, 1}, Floats{0.5f, 4}}) {
    const Tensor x = on_gpu(values);
    const Tensor got = by_device(x);
    {
      const SwitchedOff off;
      EXPECT_EQ(floats(by_host(x)), floats(got));
    }
    EXPECT_EQ(floats(decided.read()), floats(looked.read()));
    const Tensor snapshot = decided.read();
    decided.assign(on_gpu({0, 0}));
    looked.assign(on_gpu({0, 0}));
    EXPECT_GE(floats(snapshot)[0] + floats(snapshot)[1], 20.f);
  }
  EXPECT_NE(by_device.explain().find("While as a conditional node"), std::string::npos)
      << by_device.explain();
}

// The state of a sequence is the host's on an emulated device, so the host decides there.
TEST(ConditionalNodes, DoNotChangeRandomNumbers) {
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
      for (float v : floats(sum)) all.push_back(v);
      all.push_back(static_cast<float>(turns.template item<int32_t>()));
    }
    return all;
  };
  auto decided = function(draw);
  const Floats got = take(decided);
  EXPECT_NE(decided.explain().find("no conditional node: a variable is on CPU:0"),
            std::string::npos)
      << decided.explain();
  const SwitchedOff off;
  auto looked = function(draw);
  EXPECT_EQ(take(looked), got);
}

TEST(ConditionalNodes, AnErrorInsideNamesItsNodeAndEndsTheLoop) {
  auto f = function([](Tensor x, Tensor table) {
    return while_loop([](const Tensors& s) { return reduce_all(s[0] < constant(1000)); },
                      [&](const Tensors& s) {
                        return Tensors{s[0] + constant(1), s[1] + gather(table, s[0])};
                      },
                      {x, zeros({1})})[1];
  });
  const Tensor table = on_gpu({1, 2, 3, 4});
  const Tensor x = testing::on(
      "/GPU:0", [] { return identity(reshape(constant(std::vector<int32_t>{0}), {1})); });
  try {
    floats(f(x, table));
    FAIL() << "no error";
  } catch (const InvalidArgumentError& e) {
    EXPECT_NE(std::string(e.what()).find("GatherV2"), std::string::npos) << e.what();
    EXPECT_NE(std::string(e.what()).find("conditional_test.cc"), std::string::npos)
        << e.what();
  }
  EXPECT_NE(f.explain().find("While as a conditional node"), std::string::npos)
      << f.explain();
  EXPECT_THROW(floats(f(x, table)), InvalidArgumentError);
}

// ---- Interrupts

struct Stop {};

// Who waits is interrupted, and the loop ends between two turns; what it would have made
// is spoiled, and the next call works.
TEST(ConditionalNodes, AnEndlessLoopEndsWhenItIsInterrupted) {
  Variable turns = testing::on("/GPU:0", [] { return Variable(zeros({1})); });
  auto f = function([&](Tensor x, Tensor limit) {
    return while_loop([&](const Tensors& s) { return reduce_sum(s[0]) < limit; },
                      [&](const Tensors& s) {
                        turns.assign_add(ones({1}));
                        return Tensors{s[0] * constant(0.5f)};
                      },
                      {x})[0];
  });
  const Tensor x = on_gpu({1, 1});
  const Tensor never = testing::on("/GPU:0", [] { return identity(constant(3.f)); });
  const Tensor at_once = testing::on("/GPU:0", [] { return identity(constant(1.f)); });
  // The first call waits by itself, others are waited for by who reads.
  {
    const InterruptScope scope([](void*) { throw Stop(); });
    EXPECT_THROW(f(x, never), Stop);
  }
  EXPECT_NO_THROW(synchronize());
  EXPECT_EQ(floats(f(x, at_once)), (Floats{1, 1}));
  EXPECT_NE(f.explain().find("While as a conditional node"), std::string::npos)
      << f.explain();
  const Tensor y = f(x, never);
  {
    const InterruptScope scope([](void*) { throw Stop(); });
    EXPECT_THROW(floats(y), Stop);
  }
  EXPECT_THROW(floats(y), CancelledError);
  EXPECT_NO_THROW(synchronize());
  EXPECT_EQ(floats(f(x, at_once)), (Floats{1, 1}));
  EXPECT_GT(floats(turns.read())[0], 0);
}

}  // namespace
}  // namespace tandem
