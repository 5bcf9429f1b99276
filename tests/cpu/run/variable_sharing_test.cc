// Variables: when memory is shared and that nobody sees it, and that failures change
// nothing. Part of the CPU's tests and of the emulated GPU's, where work and errors come
// later.
#include <atomic>
#include <optional>
#include <thread>

#include <gtest/gtest.h>

#include "support/alone.h"
#include "support/floats.h"
#include "tandem/tandem.h"
#include "tensor/variable_impl.h"

namespace tandem {
namespace {

using testing::Floats;

bool has_gpu() { return device_count("GPU") > 0; }

class VariableSharing : public ::testing::Test {
 protected:
  VariableSharing() : scope_(has_gpu() ? "/GPU:0" : "/CPU:0") {}

 private:
  DeviceScope scope_;
};

Floats values(const Tensor& t) { return t.to_vector<float>(); }

// The memory behind the value once nothing is under way.
const Buffer* memory_of(const Variable& v) {
  synchronize();
  return variable_of(v.handle()).value.impl()->buffer.get();
}

// Runs something that fails at the call or, on an asynchronous device, by the next wait.
template <class F>
std::string failure(F&& f) {
  try {
    f();
    synchronize();
  } catch (const InvalidArgumentError& e) {
    return e.what();
  }
  return "";
}

#define EXPECT_MESSAGE(text, part) \
  EXPECT_NE((text).find(part), std::string::npos) << "message: " << (text)

TEST_F(VariableSharing, ReadIsASnapshot) {
  const Variable v(constant({1.f, 2.f, 3.f}));
  const Tensor before = v.read();
  Variable(v).assign_add(constant({1.f, 1.f, 1.f}));
  const Tensor between = v.read();
  Variable(v).scatter_update(constant({2}), constant({9.f}));
  EXPECT_EQ(values(before), (Floats{1, 2, 3}));
  EXPECT_EQ(values(between), (Floats{2, 3, 4}));
  EXPECT_EQ(values(v), (Floats{2, 3, 9}));
}

TEST_F(VariableSharing, ViewsKeepTheirContents) {
  Variable v(constant({{1.f, 2.f}, {3.f, 4.f}}));
  const Tensor view = reshape(v.read(), Shape{4});
  v.scatter_add(constant({0}), constant({{10.f, 10.f}}));
  v.assign_sub(constant({{1.f, 1.f}, {1.f, 1.f}}));
  EXPECT_EQ(values(view), (Floats{1, 2, 3, 4}));
  EXPECT_EQ(values(v), (Floats{10, 11, 2, 3}));
}

TEST_F(VariableSharing, InitialValueStaysAsItWas) {
  const Tensor initial = constant({1.f, 2.f});
  Variable v(initial);
  v.assign_add(initial);
  EXPECT_EQ(values(initial), (Floats{1, 2}));
  EXPECT_EQ(values(v), (Floats{2, 4}));
}

TEST_F(VariableSharing, WritesInPlaceWhenNobodyElseHoldsTheMemory) {
  Variable v(constant({1.f, 2.f, 3.f}));
  const Buffer* first = memory_of(v);
  v.assign_add(constant({1.f, 1.f, 1.f}));
  EXPECT_EQ(memory_of(v), first);
  v.scatter_mul(constant({0, 0}), constant({2.f, 3.f}));
  EXPECT_EQ(memory_of(v), first);
  {
    const Tensor read = v.read();
    v.assign_add(constant({1.f, 1.f, 1.f}));
    EXPECT_NE(memory_of(v), first);
    EXPECT_EQ(values(read), (Floats{12, 3, 4}));
  }
  const Buffer* second = memory_of(v);
  v.assign_add(constant({1.f, 1.f, 1.f}));
  EXPECT_EQ(memory_of(v), second);
  EXPECT_EQ(values(v), (Floats{14, 5, 6}));
}

TEST_F(VariableSharing, AssignedTensorStaysAsItWas) {
  Variable v(constant({1.f, 2.f}));
  const Tensor value = constant({5.f, 6.f});
  v.assign(value);
  v.assign_add(constant({1.f, 1.f}));
  EXPECT_EQ(values(value), (Floats{5, 6}));
  EXPECT_EQ(values(v), (Floats{6, 7}));
}

TEST_F(VariableSharing, AssignTakesAReadyValueWithoutACopy) {
  Variable v(constant({1.f, 2.f}));
  Tensor value = constant({5.f, 6.f});
  value.wait();
  v.assign(value);
  EXPECT_EQ(memory_of(v), value.impl()->buffer.get());
  value = Tensor();
  const Buffer* taken = memory_of(v);
  v.assign_add(constant({1.f, 1.f}));
  EXPECT_EQ(memory_of(v), taken);
  EXPECT_EQ(values(v), (Floats{6, 7}));
}

TEST_F(VariableSharing, VariablesDoNotShareWrites) {
  Variable a(constant({1.f, 2.f}));
  Variable b(constant({0.f, 0.f}));
  b.assign(a);
  a.assign_add(constant({1.f, 1.f}));
  b.scatter_update(constant({1}), constant({7.f}));
  EXPECT_EQ(values(a), (Floats{2, 3}));
  EXPECT_EQ(values(b), (Floats{1, 7}));
  a.assign_add(a);
  EXPECT_EQ(values(a), (Floats{4, 6}));
}

TEST(VariableSharingOnHost, ForeignMemoryIsNeverWritten) {
  DeviceScope cpu("/CPU:0");
  Floats memory_of{1, 2, 3};
  Variable v(from_foreign(memory_of.data(), DType::kFloat32, {3}, nullptr));
  v.assign_add(constant({1.f, 1.f, 1.f}));
  EXPECT_EQ(memory_of, (Floats{1, 2, 3}));
  EXPECT_EQ(values(v), (Floats{2, 3, 4}));
  v.assign(from_foreign(memory_of.data(), DType::kFloat32, {3}, nullptr));
  v.assign_add(constant({5.f, 5.f, 5.f}));
  EXPECT_EQ(memory_of, (Floats{1, 2, 3}));
  EXPECT_EQ(values(v), (Floats{6, 7, 8}));
}

TEST_F(VariableSharing, OpenDimensionsMayChange) {
  Variable v(constant({{1.f, 2.f}}), {.shape = Shape{kUnknownDim, 2}});
  EXPECT_EQ(v.shape(), (Shape{kUnknownDim, 2}));
  const Tensor before = v.read();
  v.assign(constant({{1.f, 2.f}, {3.f, 4.f}, {5.f, 6.f}}));
  EXPECT_EQ(before.shape(), (Shape{1, 2}));
  EXPECT_EQ(v.read().shape(), (Shape{3, 2}));
  EXPECT_EQ(values(v), (Floats{1, 2, 3, 4, 5, 6}));
  v.scatter_add(constant({2}), constant({{1.f, 1.f}}));
  EXPECT_EQ(values(v), (Floats{1, 2, 3, 4, 6, 7}));
  EXPECT_MESSAGE(failure([&] { v.assign(constant({{1.f, 2.f, 3.f}})); }),
                 "Expected [?,2] got [1,3]");
  EXPECT_EQ(v.read().shape(), (Shape{3, 2}));
}

TEST_F(VariableSharing, ScatterAddsUpEqualIndices) {
  Variable v(constant({0.f, 0.f, 0.f}));
  v.scatter_add(constant({1, 1, 2}), constant({1.f, 2.f, 4.f}));
  EXPECT_EQ(values(v), (Floats{0, 3, 4}));
  v.scatter_sub(constant({2, 2}), constant({1.f, 1.f}));
  EXPECT_EQ(values(v), (Floats{0, 3, 2}));
  v.scatter_update(constant({0, 0}), constant({5.f, 6.f}));
  v.scatter_div(constant({0, 1}), constant(2.f));
  EXPECT_EQ(values(v), (Floats{3, 1.5f, 2}));
  v.scatter_min(constant({0, 1}), constant({1.f, 9.f}));
  v.scatter_max(constant({2, 2}), constant({7.f, 3.f}));
  EXPECT_EQ(values(v), (Floats{1, 1.5f, 7}));
  EXPECT_EQ(values(v.gather(constant({2, 0}))), (Floats{7, 1}));
}

// Large enough for several threads: each row takes its updates in their order.
TEST_F(VariableSharing, ScatterIsTheSameAsALoop) {
  constexpr int64_t kRows = 500, kUpdates = 60000;
  std::vector<int32_t> indices;
  Floats updates, expected(kRows, 1.f);
  for (int64_t i = 0; i < kUpdates; ++i) {
    indices.push_back(static_cast<int32_t>(i * 7919 % kRows));
    updates.push_back(1e-3f * static_cast<float>(i % 1013) - 0.3f);
    expected[static_cast<size_t>(indices.back())] += updates.back();
  }
  Variable v(constant(Floats(kRows, 1.f)));
  v.scatter_add(constant(indices), constant(updates));
  EXPECT_EQ(values(v), expected);
}

TEST_F(VariableSharing, FailedUpdatesLeaveTheValue) {
  Variable v(constant({1.f, 2.f, 3.f}));
  EXPECT_MESSAGE(failure([&] { v.assign(constant({1.f, 2.f})); }),
                 "Expected [3] got [2]");
  EXPECT_MESSAGE(failure([&] { v.assign_add(constant({1.f, 2.f})); }),
                 "Cannot update variable with shape [3] using a Tensor with shape [2]");
  EXPECT_MESSAGE(failure([&] { v.assign(constant({1, 2, 3})); }), "AssignVariableOp");
  EXPECT_MESSAGE(failure([&] { v.scatter_add(constant({0, 7}), constant({1.f, 1.f})); }),
                 "indices[1] = 7 is not in [0, 3)");
  EXPECT_MESSAGE(
      failure([&] { v.scatter_update(constant({{0, 1}, {2, -3}}), constant(1.f)); }),
      "indices[1,1] = -3 is not in [0, 3)");
  EXPECT_MESSAGE(failure([&] { v.scatter_add(constant({0}), constant({1.f, 1.f})); }),
                 "updates.shape");
  EXPECT_EQ(values(v), (Floats{1, 2, 3}));
  v.assign_add(constant({1.f, 1.f, 1.f}));
  EXPECT_EQ(values(v), (Floats{2, 3, 4}));
  EXPECT_EQ(failure([] {}), "");
}

TEST_F(VariableSharing, FailedUpdateWithALiveReadLeavesTheValue) {
  Variable v(constant({1.f, 2.f, 3.f}));
  const Tensor read = v.read();
  EXPECT_NE(failure([&] { v.scatter_add(constant({3}), constant({1.f})); }), "");
  EXPECT_EQ(values(v), (Floats{1, 2, 3}));
  EXPECT_EQ(values(read), (Floats{1, 2, 3}));
}

TEST_F(VariableSharing, IntegerDivisionByZeroIsAnError) {
  Variable v(constant({6, 8}));
  EXPECT_MESSAGE(failure([&] { v.scatter_div(constant({0, 1}), constant({2, 0})); }),
                 "division by zero");
  EXPECT_EQ(v.read().to_vector<int32_t>(), (std::vector<int32_t>{6, 8}));
  Variable lowest(constant({INT32_MIN}));
  lowest.scatter_div(constant({0}), constant({-1}));
  EXPECT_EQ(lowest.read().to_vector<int32_t>(), (std::vector<int32_t>{INT32_MIN}));
}

// The value fails while it is computed: at the call on the CPU, later on an asynchronous
// device.
TEST_F(VariableSharing, SpoiledValueDoesNotReachTheVariable) {
  Variable v(constant({1.f, 2.f}));
  const Tensor rows = constant({1.f, 2.f, 3.f});
  EXPECT_MESSAGE(failure([&] { v.assign(gather(rows, constant({0, 5}))); }),
                 "indices[1] = 5 is not in [0, 3)");
  EXPECT_NE(failure([&] { v.assign_add(gather(rows, constant({0, 5}))); }), "");
  EXPECT_EQ(values(v), (Floats{1, 2}));
}

TEST_F(VariableSharing, GradientOfGatherIsSlices) {
  Variable table(constant({{1.f, 2.f}, {3.f, 4.f}, {5.f, 6.f}}));
  GradientTape tape;
  const Tensor rows = nn::embedding_lookup(table, constant({2, 0, 2}));
  const Tensor loss = reduce_sum(rows * rows);
  const std::vector<Gradient> grads = tape.gradient(loss, std::vector<Variable>{table});
  ASSERT_TRUE(grads[0].is_slices());
  EXPECT_EQ(values(grads[0].slices().values), (Floats{10, 12, 2, 4, 10, 12}));
  EXPECT_EQ(values(grads[0].dense()), (Floats{2, 4, 0, 0, 20, 24}));
}

TEST_F(VariableSharing, StaysOnItsDevice) {
  Variable v(constant({1.f, 2.f}));
  const std::string device = v.device();
  DeviceScope cpu("/CPU:0");
  v.assign(constant({3.f, 4.f}));
  v.assign_add(constant({1.f, 1.f}));
  EXPECT_EQ(v.device(), device);
  EXPECT_EQ(v.read().device(), device);
  EXPECT_EQ(values(v), (Floats{4, 5}));
}

TEST_F(VariableSharing, ManyThreadsAdd) {
  constexpr int kThreads = 4, kSteps = 60;
  constexpr size_t kSize = 300;
  Variable v(constant(Floats(kSize, 0.f)));
  std::atomic<bool> done{false};
  std::atomic<int> torn{0};
  std::vector<std::jthread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&] {
      const Tensor one = constant(Floats(kSize, 1.f));
      for (int step = 0; step < kSteps; ++step) v.assign_add(one);
    });
  }
  std::jthread reader([&] {
    while (!done) {
      const Floats seen = values(v);
      torn += seen != Floats(kSize, seen[0]);
    }
  });
  threads.clear();
  done = true;
  reader.join();
  EXPECT_EQ(torn, 0);
  EXPECT_EQ(values(v), Floats(kSize, kThreads * kSteps));
}

TEST_F(VariableSharing, ManyThreadsAssignAndRead) {
  constexpr int kThreads = 4, kSteps = 60;
  constexpr size_t kSize = 64;
  Variable v(constant(Floats(kSize, 0.f)));
  std::atomic<int> torn{0};
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < kThreads; ++i) {
      threads.emplace_back([&, i] {
        for (int step = 0; step < kSteps; ++step) {
          v.assign(constant(Floats(kSize, static_cast<float>(i * kSteps + step))));
          const Tensor read = v.read();
          v.scatter_add(constant({0}), constant({0.f}));
          const Floats seen = values(read);
          torn += seen != Floats(kSize, seen[0]);
        }
      });
    }
  }
  EXPECT_EQ(torn, 0);
}

}  // namespace
}  // namespace tandem

#undef EXPECT_MESSAGE
