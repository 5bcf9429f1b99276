// Failures of asynchronous work: what depends on them is spoiled, everything else goes
// on.
#include <thread>

#include "emulated/run/gpu.h"
#include "support/alone.h"

namespace tandem {
namespace {

using testing::filled;
using testing::Floats;
using testing::floats;
using testing::on;
using Tensors = std::vector<Tensor>;

Tensor bad_gather() {
  const DeviceScope gpu("/GPU:0");
  // Not a constant: the index is looked at when the work runs.
  const Tensor indices = cast(fill({2}, constant(7.f)), int32);
  return gather(fill({3, 2}, constant(1.f)), indices);
}

TEST(Failure, ABadIndexIsFoundWhenTheResultIsRead) {
  const Tensor bad = bad_gather();
  EXPECT_EQ(bad.shape(), (Shape{2, 2}));
  EXPECT_ERROR(bad.to_host(), InvalidArgumentError, "7");
  EXPECT_ERROR(bad.wait(), InvalidArgumentError, "7");
  EXPECT_ERROR(floats(bad), InvalidArgumentError, "7");
  synchronize();  // it has been seen
}

TEST(Failure, WhatDependsOnItIsSpoiledTooOnAnyDevice) {
  const Tensor bad = bad_gather();
  const Tensor here = on("GPU:0", [&] { return bad + bad; });
  const Tensor view = on("GPU:0", [&] { return reshape(here, Shape{4}); });
  const Tensor there = on("GPU:1", [&] { return here * here; });
  EXPECT_THROW(floats(here), InvalidArgumentError);
  EXPECT_THROW(floats(view), InvalidArgumentError);
  EXPECT_THROW(floats(there), InvalidArgumentError);
  EXPECT_THROW(on("CPU:0", [&] { return there + there; }), InvalidArgumentError);
  EXPECT_THROW(there.to("CPU:0").wait(), InvalidArgumentError);
  synchronize();
}

TEST(Failure, OtherTensorsAndTheDeviceStayUsable) {
  const Tensor before = filled("GPU:0", {4}, 2);
  const Tensor bad = bad_gather();
  const Tensor after = on("GPU:0", [&] { return before * before; });
  EXPECT_EQ(floats(after), Floats(4, 4));
  EXPECT_EQ(floats(before), Floats(4, 2));
  EXPECT_THROW(floats(bad), InvalidArgumentError);
  EXPECT_EQ(floats(on("GPU:0", [&] { return after + before; })), Floats(4, 6));
}

TEST(Failure, SynchronizeThrowsOnceWhatNobodyHasSeen) {
  bad_gather();
  EXPECT_ERROR(synchronize("GPU:0"), InvalidArgumentError, "7");
  synchronize("GPU:0");
  synchronize();
}

// The host counts the turns, and finds what failed in one of them in the next.
TEST(Failure, WhatALoopThrowsAtItsCallIsNotKept) {
  const DeviceScope gpu("/GPU:0");
  const auto walk = function([](Tensor table, Tensor n) {
    return while_loop([&](const Tensors& s) { return s[0] < n; },
                      [&](const Tensors& s) -> Tensors {
                        return {s[0] + constant(1), s[1] + gather(table, s[0])};
                      },
                      {constant(0), constant(0.f)})[1];
  });
  const Tensor table = fill({3}, constant(1.f));
  EXPECT_EQ(floats(walk(table, constant(3))), Floats{3});
  EXPECT_ERROR(floats(walk(table, constant(9))), InvalidArgumentError, "= 3 is not in");
  synchronize();  // it has been seen
  EXPECT_EQ(floats(walk(table, constant(2))), Floats{2});
}

TEST(Failure, OfTwoFailuresTheFirstIsReported) {
  bad_gather();
  const DeviceScope gpu("/GPU:0");
  gather(fill({3}, constant(1.f)), cast(fill({1}, constant(55.f)), int32));
  EXPECT_ERROR(synchronize(), InvalidArgumentError, "7");
  synchronize();
}

TEST(Failure, AFailedUpdateLeavesTheVariableAsItWas) {
  const DeviceScope gpu("/GPU:0");
  Variable v(fill({3, 2}, constant(1.f)));
  const Tensor snapshot = v.read();
  v.scatter_add(cast(fill({2}, constant(9.f)), int32), fill({2, 2}, constant(5.f)));
  EXPECT_EQ(floats(v), Floats(6, 1));
  EXPECT_ERROR(synchronize(), InvalidArgumentError, "9");
  v.scatter_add(constant({0, 2}), fill({2, 2}, constant(5.f)));
  EXPECT_EQ(floats(v), (Floats{6, 6, 1, 1, 6, 6}));
  EXPECT_EQ(floats(snapshot), Floats(6, 1));
}

TEST(Failure, ASpoiledValueDoesNotReachAVariable) {
  const DeviceScope gpu("/GPU:0");
  Variable v(fill({2, 2}, constant(1.f)));
  {
    const Tensor held = v.read();  // the update has to go to memory of its own
    const Tensor bad = bad_gather();
    v.assign(bad);
    v.assign_add(bad);
  }
  EXPECT_EQ(floats(v), Floats(4, 1));
  v.assign_add(fill({2, 2}, constant(1.f)));
  EXPECT_EQ(floats(v), Floats(4, 2));
  EXPECT_THROW(synchronize(), InvalidArgumentError);
}

TEST(Failure, CallsThatAreWrongAtOnceAreRefusedAtOnce) {
  const Tensor a = filled("GPU:0", {2, 3}, 1), b = filled("GPU:0", {4}, 1);
  EXPECT_ERROR(on("GPU:0", [&] { return a + b; }), InvalidArgumentError,
               "Incompatible shapes");
  const int64_t many = int64_t{1} << 40;
  EXPECT_THROW(on("GPU:0", [&] { return zeros({many, many}); }), InvalidArgumentError);
  EXPECT_EQ(floats(on("GPU:0", [&] { return a + a; })), Floats(6, 2));
}

TEST(Failure, OneThreadsFailuresDoNotDisturbAnother) {
  std::vector<std::thread> threads;
  std::atomic<int> wrong{0}, caught{0};
  for (int t = 0; t < 2; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 20; ++i) {
        try {
          floats(bad_gather());
          ++wrong;
        } catch (const InvalidArgumentError&) {
          ++caught;
        }
      }
    });
    threads.emplace_back([&wrong, t] {
      for (int i = 0; i < 20; ++i) {
        const Tensor x = filled("GPU:0", {64}, static_cast<float>(i + t));
        if (floats(on("GPU:0", [&] { return x + x; }))[63] !=
            2.f * static_cast<float>(i + t)) {
          ++wrong;
        }
      }
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(caught, 40);
  synchronize();
}

TEST(Failure, OnTheCpuTheCallItselfThrows) {
  const DeviceScope cpu("/CPU:0");
  Variable v(fill({3}, constant(1.f)));
  EXPECT_ERROR(gather(ones({3}), constant({3})), InvalidArgumentError, "3");
  EXPECT_THROW(v.scatter_add(constant({0, 5}), constant({1.f, 1.f})),
               InvalidArgumentError);
  EXPECT_EQ(floats(v), Floats(3, 1));
}

ALONE_TEST(Failure, WithTandemSyncTheCallItselfThrows,
           {{"TANDEM_EMULATE_GPUS", "1"}, {"TANDEM_SYNC", "1"}}) {
  EXPECT_THROW(bad_gather(), InvalidArgumentError);
  synchronize();
}

}  // namespace
}  // namespace tandem
