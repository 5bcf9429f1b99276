// Large arguments and results on the pretended GPU: which addresses captured kernels are
// given from call to call, and what is not copied.
#include <algorithm>

#include "device/operand_address.h"
#include "gpu/fake/gpu.h"
#include "op/fixed_addresses.h"
#include "tandem/function.h"
#include "tandem/profile.h"
#include "tensor/tensor_impl.h"

namespace tandem::testing {
namespace {

using FakeOperands = FakeGpuTest;
constexpr int64_t kLarge = 1 << 17;

uint64_t address(const Tensor& t) {
  LeaseSet leases;
  return reinterpret_cast<uint64_t>(t.impl()->address(leases));
}
Tensor chain(const Tensor& a, const Tensor& b) { return tanh(a * b + 0.5f) * a - b; }

/// The kernel was given these, and nothing that stands for an operand.
void expect_given(const std::string& kernel, const std::vector<uint64_t>& addresses) {
  const std::vector<uint64_t> words = fake::last_words(kernel);
  for (const uint64_t a : addresses) {
    EXPECT_NE(std::find(words.begin(), words.end(), a), words.end()) << kernel;
  }
  EXPECT_TRUE(std::none_of(words.begin(), words.end(),
                           [](uint64_t w) { return operand_address::is(w); }));
}

TEST_F(FakeOperands, KernelsAreToldWhereTheyAre) {
  const DeviceScope scope("/GPU:0");
  const auto f = function([](Tensor a, Tensor b) { return chain(a, b); });
  const Tensor x = ones({kLarge}), y = ones({kLarge}), z = ones({kLarge});
  const Tensor first = f(x, y);
  EXPECT_EQ(fake::last_graph(), (Lines{"vectors"}));
  expect_given("vectors", {address(x), address(y), address(first)});
  const int made = fake::graphs_instantiated();
  const Tensor* const given[] = {&x, &y, &z};
  std::vector<Tensor> kept;
  for (size_t i = 0; i < 9; ++i) {
    const Tensor &a = *given[i % 3], &b = *given[i / 3];
    kept.push_back(f(a, b));
    expect_given("vectors", {address(a), address(b), address(kept.back())});
  }
  EXPECT_EQ(fake::graphs_instantiated(), made);
}

// Three launches wait, each with its own addresses.
TEST_F(FakeOperands, ALaunchThatWaitsKeepsItsOwn) {
  const DeviceScope scope("/GPU:0");
  const auto f = function([](Tensor a, Tensor b) { return concat({b, a}, {.axis = 0}); });
  const auto bytes = [](uint8_t value) {
    return constant(std::vector<uint8_t>(1 << 19, value));
  };
  const Tensor x = bytes(1), y = bytes(2), z = bytes(3);
  f(x, y).wait();
  const Lines graph = fake::last_graph();
  EXPECT_EQ(count(graph, "copy"), 2u) << ::testing::PrintToString(graph);
  EXPECT_EQ(graph.size(), 2u) << ::testing::PrintToString(graph);
  fake::run_at_once(false);
  const Tensor r[] = {f(x, y), f(y, z), f(z, x)};
  const uint8_t expected[][2] = {{2, 1}, {3, 2}, {1, 3}};
  for (size_t i = 0; i < 3; ++i) {
    const auto values = r[i].to_vector<uint8_t>();
    EXPECT_EQ(values.front(), expected[i][0]) << i;
    EXPECT_EQ(values[(1 << 19) - 1], expected[i][0]) << i;
    EXPECT_EQ(values[1 << 19], expected[i][1]) << i;
    EXPECT_EQ(values.back(), expected[i][1]) << i;
  }
}

// One result in place, and a copy of it for the other: the copy comes after the kernel,
// though that knows only what stands for the address while it is recorded.
TEST_F(FakeOperands, AResultGivenOutTwiceIsCopiedAfterItIsMade) {
  const DeviceScope scope("/GPU:0");
  const auto f = function([](Tensor a, Tensor b) -> std::vector<Tensor> {
    const Tensor made = chain(a, b);
    return {made, made};
  });
  const Tensor x = ones({kLarge}), y = ones({kLarge});
  const std::vector<Tensor> r = f(x, y);
  EXPECT_NE(address(r[0]), address(r[1]));
  EXPECT_EQ(fake::last_graph(), (Lines{"vectors", "copy < vectors"}));
}

TEST_F(FakeOperands, FillsAreKernelsToo) {
  const DeviceScope scope("/GPU:0");
  const auto f = function([](Tensor x) { return pad(x, {{0, 4}}); });
  for (int i = 0; i < 3; ++i) {
    const Tensor x = ones({kLarge}), y = f(x);
    expect_given("fill", {address(y)});
  }
  EXPECT_EQ(count(fake::last_graph(), "transfer"), 0u)
      << ::testing::PrintToString(fake::last_graph());
}

// A copy is a launch too, however small: one kernel is told, many are not.
TEST_F(FakeOperands, SmallOnesAreCopiedForManyKernels) {
  const DeviceScope scope("/GPU:0");
  const auto few = function([](Tensor a, Tensor b) { return chain(a, b); });
  few(ones({8}), ones({8})).wait();
  EXPECT_EQ(fake::last_graph(), (Lines{"vectors"}));
  const auto many = function([](Tensor a) -> std::vector<Tensor> {
    return {reduce_sum(a), reduce_max(a), cumsum(a), reverse(a, {.axis = {0}})};
  });
  many(ones({8}));
  EXPECT_EQ(count(fake::last_graph(), "copy"), 1u)
      << ::testing::PrintToString(fake::last_graph());
}

// A profile makes the executable graph again: it must be told everything once more.
TEST_F(FakeOperands, AGraphThatIsMadeAgainIsTold) {
  const DeviceScope scope("/GPU:0");
  const auto f = function([](Tensor a, Tensor b) { return chain(a, b); });
  const Tensor x = ones({kLarge}), y = ones({kLarge});
  f(x, y).wait();
  start_profile();
  const Tensor r = f(x, y);
  r.wait();
  stop_profile();
  expect_given("vectors", {address(x), address(y), address(r)});
}

/// What a library launches cannot be told addresses.
TEST_F(FakeOperands, CudnnsKernelsKeepTheirs) {
  for (const Kernel* k : KernelRegistry::get().all()) {
    if (k->id.find("cudnn") == std::string::npos) continue;
    EXPECT_TRUE(has_fixed_addresses(*k)) << k->id;
  }
}

}  // namespace
}  // namespace tandem::testing
