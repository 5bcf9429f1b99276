// Variables: snapshots, updates that fit and that do not, and writers at the same time.
#include <atomic>
#include <thread>

#include <gtest/gtest.h>

#include "support/alone.h"
#include "support/floats.h"
#include "tandem/tandem.h"

namespace tandem {
namespace {

using testing::Floats;

Floats read(const Variable& v) { return v.read().to_vector<float>(); }

TEST(Variable, AReadIsASnapshot) {
  Variable v(constant({1.f, 2.f}));
  const Tensor before = v.read();
  v.assign_add(constant({1.f, 1.f}));
  const Tensor between = v.read();
  v.assign(constant({9.f, 9.f}));
  v.scatter_update(constant({0}), constant({7.f}));
  EXPECT_EQ(before.to_vector<float>(), (Floats{1, 2}));
  EXPECT_EQ(between.to_vector<float>(), (Floats{2, 3}));
  EXPECT_EQ(read(v), (Floats{7, 9}));
}

TEST(Variable, ItsFirstValueIsItsOwn) {
  const Tensor initial = constant({1.f, 2.f});
  Variable v(initial), w(initial);
  v.assign_add(constant({1.f, 1.f}));
  EXPECT_EQ(initial.to_vector<float>(), (Floats{1, 2}));
  EXPECT_EQ(read(w), (Floats{1, 2}));
}

TEST(Variable, AnAssignedTensorIsNotChangedLater) {
  Variable v(constant({1.f, 2.f}));
  const Tensor value = constant({5.f, 6.f});
  v.assign(value);
  v.assign_sub(constant({1.f, 1.f}));
  EXPECT_EQ(value.to_vector<float>(), (Floats{5, 6}));
  EXPECT_EQ(read(v), (Floats{4, 5}));
}

TEST(Variable, UpdatesInPlaceTakeNoMemory) {
  Variable v(zeros({1024}));
  const Tensor one = ones({1024});
  v.assign_add(one);
  const int64_t used = config::get_memory_usage("CPU:0");
  config::reset_memory_stats("CPU:0");
  for (int i = 0; i < 10; ++i) v.assign_add(one);
  EXPECT_EQ(config::get_memory_usage("CPU:0"), used);
  EXPECT_EQ(config::get_memory_info("CPU:0").peak, used);
  EXPECT_EQ(read(v), Floats(1024, 11.f));
}

TEST(Variable, AnUpdateThatDoesNotFitChangesNothing) {
  Variable v(constant({1.f, 2.f}));
  EXPECT_THROW(v.assign(constant({1.f, 2.f, 3.f})), InvalidArgumentError);
  EXPECT_THROW(v.assign_add(constant(1.f)), InvalidArgumentError);
  EXPECT_THROW(v.assign(constant({1, 2})), InvalidArgumentError);
  EXPECT_THROW(v.scatter_add(constant({2}), constant({1.f})), InvalidArgumentError);
  EXPECT_THROW(v.scatter_add(constant({0, -1}), constant({1.f, 1.f})),
               InvalidArgumentError);
  EXPECT_THROW(v.scatter_add(constant({0}), constant({1.f, 1.f})), InvalidArgumentError);
  EXPECT_THROW(v.assign(Tensor()), InvalidArgumentError);
  EXPECT_EQ(read(v), (Floats{1, 2}));
}

TEST(Variable, OpenDimensionsMayChange) {
  Variable v(constant({1.f, 2.f}), {.shape = Shape{-1}});
  EXPECT_EQ(v.shape(), Shape{-1});
  v.assign(constant({1.f, 2.f, 3.f}));
  EXPECT_EQ(read(v), (Floats{1, 2, 3}));
  v.assign_add(constant({1.f, 1.f, 1.f}));
  EXPECT_EQ(read(v), (Floats{2, 3, 4}));
  EXPECT_THROW(v.assign(constant({{1.f}})), InvalidArgumentError);
  EXPECT_THROW(v.assign_add(constant({1.f, 1.f})), InvalidArgumentError);
  EXPECT_ERROR(Variable(constant({1.f}), {.shape = Shape{2}}), ValueError,
               "The initial value's shape ((1,)) is not compatible");
}

TEST(Variable, StringsCanBeAssigned) {
  Variable v(constant({"a", "b"}));
  const Tensor before = v.read();
  v.assign(constant({"a longer string than fits inline", "d"}));
  EXPECT_EQ(v.read().to_vector<std::string>()[1], "d");
  EXPECT_EQ(before.to_vector<std::string>()[0], "a");
}

TEST(Variable, WithoutAValueThereIsNone) {
  EXPECT_THROW(Variable{Tensor()}, InvalidArgumentError);
  EXPECT_FALSE(Variable().defined());
  EXPECT_THROW(Variable().read(), InvalidArgumentError);
  EXPECT_THROW(Variable::from_handle(constant(1.f)), InvalidArgumentError);
}

TEST(Variable, WritersTakeTurns) {
  Variable v(zeros({64}));
  const Tensor one = ones({64});
  std::atomic<int> torn{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 100; ++i) v.assign_add(one);
    });
  }
  threads.emplace_back([&] {
    for (int i = 0; i < 100; ++i) {
      const Floats seen = read(v);
      for (float x : seen) torn += x != seen[0];
    }
  });
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(read(v), Floats(64, 300.f));
  EXPECT_EQ(torn, 0);
}

}  // namespace
}  // namespace tandem
