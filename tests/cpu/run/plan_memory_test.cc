// What the plans of one function take together: memory that grows to the largest, however
// many shapes there are, and plans for what decides sizes alone.
#include <atomic>
#include <string>
#include <thread>

#include <gtest/gtest.h>

#include "device/runtime.h"
#include "run/graph_function.h"
#include "run/readers.h"
#include "support/traced.h"
#include "tandem/device.h"
#include "tandem/tandem.h"

namespace tandem {
namespace {

// The last device: an emulated GPU in the second run of this program.
Device& device() { return *Runtime::get().devices().back(); }

int64_t used() {
  device().compute().now().host_wait();
  return device().allocator().info().current;
}

template <class F>
auto here(F&& body) {
  const DeviceScope scope(device().full_name());
  return body();
}

// Products whose intermediate values take far more than arguments and results.
std::shared_ptr<Graph> products() {
  return here([] {
    return testing::trace(
        [](const std::vector<Tensor>& in) {
          Tensor y = tile(in[0], {1, 256});
          for (int i = 0; i < 4; ++i)
            y = matmul(y, fill({256, 256}, constant(1 / 256.f)));
          return std::vector<Tensor>{reduce_sum(y)};
        },
        {ones({1, 1})}, true);
  });
}

Tensor rows(int64_t n) {
  return here([n] { return ones({n, 1}); });
}

TEST(PlanMemory, IsThatOfTheLargestPlan) {
  GraphFunction f(products(), {});
  const auto run = [&](int64_t n) {
    const Tensor x = rows(n);
    EXPECT_EQ(f.run({&x, 1})[0].item<float>(), static_cast<float>(256 * n));
  };
  run(200);
  const int64_t one = used();
  for (int64_t n = 40; n < 200; n += 8) run(n);
  EXPECT_GT(f.plans(), 20);
  // Constants and results of plans, which are small.
  EXPECT_LT(used() - one, one / 4);
}

TEST(PlanMemory, GrowsToTheLargestPlan) {
  GraphFunction f(products(), {});
  const int64_t before = used();
  for (int64_t n = 8; n <= 200; n += 8) {
    const Tensor x = rows(n);
    EXPECT_EQ(f.run({&x, 1})[0].item<float>(), static_cast<float>(256 * n));
  }
  const int64_t all = used() - before;
  GraphFunction other(products(), {});
  const int64_t begin = used();
  const Tensor x = rows(200);
  other.run({&x, 1});
  EXPECT_LT(all, 2 * (used() - begin));
}

// A call that runs has its own; the values are right whoever had the memory before.
TEST(PlanMemory, IsNeverThatOfAnotherCall) {
  GraphFunction f(products(), {.max_plans = 4});
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (int64_t i = 0; i < 60; ++i) {
        const int64_t n = 16 + (7 * i + 3 * t) % 6;
        const Tensor x = rows(n);
        if (f.run({&x, 1})[0].item<float>() != static_cast<float>(256 * n)) ++wrong;
      }
    });
  }
  for (std::thread& t : threads) t.join();
  EXPECT_EQ(wrong, 0);
}

// Two plans that ran at the same time: a third one takes over what both have.
TEST(PlanMemory, OfCallsThatOverlappedIsGivenUp) {
  GraphFunction f(products(), {});
  const auto run = [&](int64_t n) {
    const Tensor x = rows(n);
    EXPECT_EQ(f.run({&x, 1})[0].item<float>(), static_cast<float>(256 * n));
  };
  run(200);
  const int64_t one = used();
  for (int round = 0; round < 3; ++round) {
    std::vector<std::thread> threads;
    for (int64_t t = 0; t < 3; ++t) {
      threads.emplace_back([&run, t, round] { run(150 + 10 * t + round); });
    }
    for (std::thread& t : threads) t.join();
  }
  for (int64_t n = 100; n < 104; ++n) run(n);
  // No more pieces than calls at one time, however many plans there are.
  EXPECT_LT(used(), one + 2 * (one + (1 << 20)));
}

// A device that is full of what no call uses has room.
TEST(PlanMemory, OfOtherFunctionsIsGivenBackForACall) {
  Device& d = device();
  if (d.is_host()) GTEST_SKIP() << "the host's memory has no limit that a test can reach";
  const int64_t limit = d.allocator().info().limit;
  const int64_t n = limit * 2 / 5 / (256 * 4);  // two values take four fifths
  const auto halves = [] {
    return here([] {
      return testing::trace(
          [](const std::vector<Tensor>& in) {
            const Tensor y = tile(in[0], {1, 256});
            return std::vector<Tensor>{
                reduce_sum(matmul(y, fill({256, 256}, constant(1 / 256.f))))};
          },
          {ones({1, 1})}, true);
    });
  };
  GraphFunction first(halves(), {}), second(halves(), {});
  for (GraphFunction* f : {&first, &second, &first}) {
    const Tensor x = rows(n);
    EXPECT_NEAR(f->run({&x, 1})[0].item<float>(), static_cast<float>(256 * n),
                0.01f * static_cast<float>(n));
  }
}

TEST(PlanMemory, IsBoundedByBytesToo) {
  GraphFunction f(products(), {.max_plan_bytes = 1});
  for (int64_t n : {20, 30, 20, 40, 20}) {
    const Tensor x = rows(n);
    EXPECT_EQ(f.run({&x, 1})[0].item<float>(), static_cast<float>(256 * n));
    EXPECT_EQ(f.plans(), 1);
  }
}

// Calls of two plans by turns, none of which is waited for.
TEST(PlanMemory, ChangesHandsInTheOrderOfTheDevice) {
  GraphFunction f(products(), {});
  std::vector<Tensor> sums;
  for (int64_t i = 0; i < 40; ++i) {
    const Tensor x = rows(30 + i % 3);
    sums.push_back(f.run({&x, 1})[0]);
  }
  for (size_t i = 0; i < sums.size(); ++i) {
    EXPECT_EQ(sums[i].item<float>(), static_cast<float>(256 * (30 + i % 3)));
  }
}

// Steps whose times decide about side lanes are not timed on a second set of large
// operands: updates that take no memory take none to be planned.
TEST(PlanMemory, IsNotTakenTwiceToPlan) {
  const DeviceScope host("/CPU:0");
  const Allocator& memory = Runtime::get().cpu().allocator();
  constexpr int64_t kCount = 4'345'678, kSame = 6;
  std::vector<Variable> all;
  for (int64_t i = 0; i <= kSame; ++i) all.emplace_back(ones({kCount}));
  const auto graph = testing::trace(
      [&](const std::vector<Tensor>& x) {
        for (int64_t i = 0; i < kSame; ++i) {
          Variable& v = all[static_cast<size_t>(i)];
          v.assign(v * 0.5f + x[0]);
        }
        all.back().assign(sqrt(all.back()) - x[0]);
        return x;
      },
      {constant(1.f)});
  GraphFunction f(graph, {});
  const int64_t before = memory.info().current;
  Runtime::get().cpu().allocator().reset_peak();
  const Tensor x = constant(1.f);
  f.run({&x, 1});
  // Where they are put together, once.
  const int64_t variables = (kSame + 1) * kCount * 4;
  EXPECT_LE(memory.info().peak - before, variables + (int64_t{16} << 20));
  EXPECT_EQ(slice(all[0], {0}, {1}).to_vector<float>(), std::vector<float>{1.5f});
}

TEST(PlanMemory, GoesWithTheFunction) {
  const int64_t before = used();
  {
    GraphFunction f(products(), {});
    for (int64_t n : {10, 30, 20}) {
      const Tensor x = rows(n);
      f.run({&x, 1});
    }
    EXPECT_GT(used(), before);
  }
  EXPECT_EQ(used(), before);
}

// Calls of several threads may leave no moment without one.
TEST(RetiredPlans, GoWhileNewReadersCome) {
  using Plan = std::shared_ptr<int>;
  Readers<Plan> readers;
  std::vector<std::weak_ptr<int>> retired;
  auto reading = std::make_unique<Readers<Plan>::Reading>(readers);
  for (int i = 0; i < 20; ++i) {
    Plan plan = std::make_shared<int>(i);
    retired.push_back(plan);
    readers.retire(std::move(plan));
    // Who reads now may have found it.
    EXPECT_FALSE(retired.back().expired()) << i;
    auto next = std::make_unique<Readers<Plan>::Reading>(readers);
    reading.swap(next);
  }
  int alive = 0;
  for (const auto& plan : retired) alive += !plan.expired();
  EXPECT_LE(alive, 2);
  reading.reset();
  for (const auto& plan : retired) EXPECT_TRUE(plan.expired());
  // Nobody reads: it goes at once.
  const std::weak_ptr<int> last = [&] {
    Plan plan = std::make_shared<int>(0);
    const std::weak_ptr<int> seen = plan;
    readers.retire(std::move(plan));
    return seen;
  }();
  EXPECT_TRUE(last.expired());
}

// The gradient of a lookup asks for the number of ids, not for the ids.
TEST(PlannedValues, IdsAreNone) {
  const auto graph = testing::trace(
      [](const std::vector<Tensor>& in) {
        const Tensor rows = expand_dims(size(in[0], {DType::kInt32}), 0);
        return std::vector<Tensor>{zeros(concat({rows, constant({2})}, {.axis = 0}))};
      },
      {zeros({4}, DType::kInt32)}, true);
  GraphFunction f(graph, {});
  for (int i = 0; i < 20; ++i) {
    const Tensor ids = fill({4}, constant(i));
    EXPECT_EQ(f.run({&ids, 1})[0].shape(), Shape({4, 2}));
  }
  EXPECT_EQ(f.plans(), 1);
}

// A size that is another in every call is no reason for a plan each.
TEST(PlannedValues, AreFew) {
  const auto graph = testing::trace(
      [](const std::vector<Tensor>& in) {
        return std::vector<Tensor>{
            reduce_sum(fill(reduce_max(in[0], {.axis = {0}, .keepdims = true}), in[1]))};
      },
      {zeros({3}, DType::kInt32), constant(1.f)}, true);
  GraphFunction f(graph, {.max_plans = 1000});
  for (int i = 0; i < 200; ++i) {
    const std::vector<Tensor> in = {constant({i, 200 - i, 150}), constant(1.f)};
    EXPECT_EQ(f.run(in)[0].item<float>(),
              static_cast<float>(std::max({i, 200 - i, 150})));
  }
  EXPECT_LE(f.plans(), 33);
}

// The parts that follow where sizes cut a function count.
TEST(PlannedValues, OfLaterPartsAreBounded) {
  const auto graph = testing::trace(
      [](const std::vector<Tensor>& in) {
        const Tensor kept = boolean_mask(in[0], greater(in[0], 0.f));
        return std::vector<Tensor>{reduce_sum(tile(expand_dims(kept, 1), {1, 64}))};
      },
      {zeros({100})}, false);
  GraphFunction f(graph, {.max_plans = 8});
  const int64_t before = used();
  int64_t after_few = 0;
  for (int64_t n = 1; n < 100; ++n) {
    const Tensor x = cast(less(range(constant(0), constant(100), constant(1)),
                               constant(static_cast<int32_t>(n))),
                          DType::kFloat32);
    EXPECT_EQ(f.run({&x, 1})[0].item<float>(), static_cast<float>(64 * n));
    if (n == 20) after_few = used() - before;
  }
  EXPECT_LE(used() - before, 8 * std::max<int64_t>(after_few, 1 << 16));
  EXPECT_EQ(f.plans(), 1);
}

}  // namespace
}  // namespace tandem
