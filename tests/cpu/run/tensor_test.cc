// Tensors as a user meets them: constants, views that share memory, printing, foreign
// memory.
#include <atomic>
#include <thread>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "support/alone.h"
#include "tandem/tandem.h"

namespace tandem {
namespace {

const float* host_address(const Tensor& t) {
  return static_cast<const float*>(t.host_data());
}

TEST(Views, ReshapeSharesTheMemory) {
  const Tensor x = constant({{1.f, 2.f, 3.f}, {4.f, 5.f, 6.f}});
  const Tensor y = reshape(x, Shape{3, -1});
  EXPECT_EQ(y.shape(), (Shape{3, 2}));
  EXPECT_EQ(host_address(y), host_address(x));
  EXPECT_EQ(host_address(expand_dims(x, 0)), host_address(x));
  EXPECT_EQ(host_address(squeeze(expand_dims(x, 1), {.axis = {1}})), host_address(x));
  EXPECT_EQ(host_address(identity(x)), host_address(x));
}

TEST(Views, LeadingSlicesShareTheMemory) {
  const Tensor x = reshape(range(0, 12, 1, float32), Shape{4, 3});
  const Tensor rows = slice(x, {1, 0}, {2, 3});
  EXPECT_EQ(host_address(rows), host_address(x) + 3);
  EXPECT_EQ(rows.to_vector<float>(), (std::vector<float>{3, 4, 5, 6, 7, 8}));
  EXPECT_EQ(host_address(strided_slice(x, {2}, {4}, {1})), host_address(x) + 6);
  // Not contiguous: a copy.
  const Tensor columns = slice(x, {0, 1}, {4, 1});
  EXPECT_EQ(columns.to_vector<float>(), (std::vector<float>{1, 4, 7, 10}));
}

TEST(Views, KeepTheMemoryAliveAndTakeNone) {
  const int64_t before = config::get_memory_usage("CPU:0");
  Tensor view;
  int64_t used = 0;
  {
    const Tensor x = reshape(range(0, 4096, 1, float32), Shape{64, 64});
    used = config::get_memory_usage("CPU:0");
    view = slice(x, {1, 0}, {1, 64});
    EXPECT_EQ(config::get_memory_usage("CPU:0"), used);
  }
  EXPECT_EQ(config::get_memory_usage("CPU:0"), used);
  EXPECT_EQ(view.to_vector<float>()[1], 65.f);
  view = Tensor();
  EXPECT_EQ(config::get_memory_usage("CPU:0"), before);
}

TEST(Views, OpsReadThemLikeOtherTensors) {
  const Tensor x = reshape(range(0, 12, 1, float32), Shape{4, 3});
  const Tensor a = slice(x, {1, 0}, {2, 3}), b = slice(x, {2, 0}, {2, 3});
  EXPECT_EQ((b - a).to_vector<float>(), std::vector<float>(6, 3.f));
  EXPECT_EQ(matmul(a, reshape(b, Shape{3, 2})).shape(), (Shape{2, 2}));
}

TEST(Constants, TakeShapeAndDtypeFromTheSource) {
  EXPECT_EQ(constant(1.5).dtype(), float64);
  EXPECT_EQ(constant(1).dtype(), int32);
  EXPECT_EQ(constant(true).dtype(), bool_);
  EXPECT_EQ(constant({{1, 2}, {3, 4}}).shape(), (Shape{2, 2}));
  EXPECT_EQ(constant({{{1, 2}}}).shape(), (Shape{1, 1, 2}));
  EXPECT_EQ(constant({"a", "bc"}).to_vector<std::string>(),
            (std::vector<std::string>{"a", "bc"}));
  EXPECT_EQ(constant(std::vector<bool>{true, false}).to_vector<bool>(),
            (std::vector<bool>{true, false}));
  EXPECT_ERROR(constant({{1, 2}, {3}}), ValueError, "rows have 2 and 1 values");
  EXPECT_ERROR(constant(std::vector<int>{1, 2}, {3}), InvalidArgumentError,
               "2 values do not fill shape (3,)");
}

TEST(Constants, AreReadOnlyAsWhatTheyAre) {
  EXPECT_ERROR(constant(1.f).to_vector<double>(), InvalidArgumentError,
               "The tensor has dtype float32, but float64 was asked for");
  float one = 0;
  EXPECT_ERROR(constant({1.f, 2.f}).copy_to(&one, sizeof one), InvalidArgumentError,
               "4 bytes were offered for a tensor of 8");
}

TEST(Printing, ThroughFmtIsTensorFlows) {
  EXPECT_EQ(fmt::format("{}", constant({{1.f, 2.f}, {3.f, 4.f}})),
            "tf.Tensor(\n[[1. 2.]\n [3. 4.]], shape=(2, 2), dtype=float32)");
  EXPECT_EQ(fmt::format("{}", constant(3)), "tf.Tensor(3, shape=(), dtype=int32)");
  EXPECT_EQ(constant({1.f}).repr(),
            "<tf.Tensor: shape=(1,), dtype=float32, numpy=array([1.], dtype=float32)>");
  EXPECT_EQ(Variable(constant(2.f), {.name = "w"}).repr(),
            "<tf.Variable 'w:0' shape=() dtype=float32, numpy=2.0>");
}

TEST(Foreign, TheDeleterRunsOnceAfterTheLastHandle) {
  std::vector<float> memory{1, 2, 3, 4};
  int calls = 0;
  {
    Tensor view;
    {
      const Tensor x = from_foreign(memory.data(), float32, {4}, [&calls] { ++calls; });
      EXPECT_EQ(x.host_data(), memory.data());
      const Tensor copy = x;
      view = slice(x, {2}, {2});
      EXPECT_EQ(add(x, copy).to_vector<float>(), (std::vector<float>{2, 4, 6, 8}));
    }
    EXPECT_EQ(calls, 0);
    EXPECT_EQ(view.to_vector<float>(), (std::vector<float>{3, 4}));
  }
  EXPECT_EQ(calls, 1);
}

TEST(Foreign, MemoryOfAVariablesFirstValueIsNotWritten) {
  std::vector<float> memory{1, 2};
  Variable v(from_foreign(memory.data(), float32, {2}, nullptr));
  v.assign_add(constant({10.f, 10.f}));
  EXPECT_EQ(v.read().to_vector<float>(), (std::vector<float>{11, 12}));
  EXPECT_EQ(memory, (std::vector<float>{1, 2}));
}

TEST(Foreign, BadPointersAndSizesAreRefused) {
  EXPECT_ERROR(from_foreign(nullptr, float32, {4}, nullptr), InvalidArgumentError,
               "null");
  float x = 0;
  EXPECT_THROW(from_foreign(&x, float64, {int64_t{1} << 62}, nullptr),
               InvalidArgumentError);
  EXPECT_EQ(from_foreign(nullptr, float32, {0}, nullptr).num_elements(), 0);
}

TEST(Threads, TensorsAreSharedFreely) {
  const Tensor x = range(0, 1000, 1, float64);
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&wrong, x, t] {
      for (int i = 0; i < 200; ++i) {
        const Tensor y = x * t + x;
        if (y.to_vector<double>()[999] != 999.0 * (t + 1)) ++wrong;
      }
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
}

}  // namespace
}  // namespace tandem
