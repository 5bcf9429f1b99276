// Large arguments and results of compiled functions on a GPU: kernels reach them where
// the caller has them, whatever their addresses are from call to call.
#include <atomic>
#include <cmath>
#include <thread>

#include "device/runtime.h"
#include "emulated/run/gpu.h"
#include "op/fixed_addresses.h"
#include "op/kernel.h"
#include "support/alone.h"
#include "tandem/control_flow.h"
#include "tandem/function.h"

namespace tandem {
namespace {

using testing::filled;
using testing::Floats;
using testing::floats;
using testing::on;
using Tensors = std::vector<Tensor>;

constexpr int64_t kLarge = 1 << 17;  // floats: 512 KiB

Tensor large(float value) { return filled("GPU:0", {kLarge}, value); }
Tensor chain(const Tensor& a, const Tensor& b) { return tanh(a * b + 0.5f) * a - b; }
float chain(float a, float b) { return std::tanh(a * b + 0.5f) * a - b; }

size_t count(const std::string& text, const std::string& part) {
  size_t n = 0;
  for (size_t at = 0; (at = text.find(part, at)) != std::string::npos; ++at) ++n;
  return n;
}
/// Every element is `value`.
::testing::AssertionResult all(const Tensor& t, float value) {
  const Floats have = floats(t);
  for (size_t i = 0; i < have.size(); ++i) {
    if (std::abs(have[i] - value) > 1e-5f * std::abs(value) + 1e-6f) {
      return ::testing::AssertionFailure() << have[i] << " at " << i << ", not " << value;
    }
  }
  return ::testing::AssertionSuccess();
}

TEST(Operands, LargeOnesNeedNoMemoryOfThePlan) {
  auto f = function([](Tensor a, Tensor b) { return chain(a, b); });
  EXPECT_TRUE(all(f(large(1), large(2)), chain(1.f, 2.f)));
  const std::string text = f.explain();
  EXPECT_EQ(count(text, "  in place: "), 3u) << text;
  EXPECT_EQ(count(text, "(argument, told to 1 kernel)"), 2u) << text;
  EXPECT_EQ(count(text, "(result, told to 1 kernel)"), 1u) << text;
  EXPECT_EQ(count(text, "GPU:0 Copy"), 0u) << text;
  EXPECT_EQ(count(text, "captured launches on GPU:0: 1\n"), 1u) << text;
  EXPECT_EQ(count(text, "memory GPU:0: 0 B of buffers"), 1u) << text;
}

TEST(Operands, SmallOnesAreCopied) {
  auto f = function([](Tensor a, Tensor b) { return chain(a, b); });
  EXPECT_TRUE(all(f(filled("GPU:0", {8}, 1), filled("GPU:0", {8}, 2)), chain(1.f, 2.f)));
  const std::string text = f.explain();
  EXPECT_EQ(count(text, "(copy: small)"), 2u) << text;
  EXPECT_EQ(count(text, "(result: small)"), 1u) << text;
}

TEST(Operands, EveryCallHasItsOwnAddresses) {
  auto f = function([](Tensor a, Tensor b) { return chain(a, b); });
  const Tensors given = {large(1), large(2), large(3), large(-1)};
  Tensors made;
  for (size_t i = 0; i < 40; ++i) {
    made.push_back(f(given[i % 4], given[(i / 4 + i) % 3]));
  }
  const float values[] = {1, 2, 3, -1};
  for (size_t i = 0; i < made.size(); ++i) {
    ASSERT_TRUE(all(made[i], chain(values[i % 4], values[(i / 4 + i) % 3]))) << i;
  }
  for (size_t i = 0; i < 4; ++i) EXPECT_TRUE(all(given[i], values[i]));
}

TEST(Operands, OneTensorMayBeGivenTwice) {
  auto f = function([](Tensor a, Tensor b) { return chain(a, b); });
  const Tensor x = large(2), y = large(3);
  const Tensor first = f(x, x), second = f(x, y), third = f(y, y);
  EXPECT_TRUE(all(first, chain(2.f, 2.f)));
  EXPECT_TRUE(all(second, chain(2.f, 3.f)));
  EXPECT_TRUE(all(third, chain(3.f, 3.f)));
}

TEST(Operands, ArgumentsMayGoWhenTheCallReturns) {
  auto f = function([](Tensor a, Tensor b) { return chain(a, b); });
  Tensors made;
  for (int i = 0; i < 30; ++i) {
    const auto x = static_cast<float>(i);
    made.push_back(f(large(x), large(1)));
  }
  for (int i = 0; i < 30; ++i) {
    ASSERT_TRUE(all(made[static_cast<size_t>(i)], chain(static_cast<float>(i), 1.f)))
        << i;
  }
}

TEST(Operands, AResultFeedsTheNextCall) {
  auto f = function([](Tensor x) { return x * 2.f + 1.f; });
  Tensor x = large(0);
  float expected = 0;
  for (int i = 0; i < 20; ++i) {
    x = f(x);
    expected = expected * 2 + 1;
  }
  EXPECT_TRUE(all(x, expected));
}

TEST(Operands, AnArgumentMayBeAResult) {
  auto f = function([](Tensor a, Tensor b) {
    return Tensors{a, reshape(b, Shape{2, kLarge / 2}), slice(a, {1}, {kLarge / 2}),
                   a + b};
  });
  for (int i = 0; i < 3; ++i) {
    const auto x = static_cast<float>(i);
    const Tensor a = large(x), b = large(7);
    const Tensors r = f(a, b);
    EXPECT_TRUE(all(r[0], x));
    EXPECT_TRUE(all(r[1], 7));
    EXPECT_TRUE(all(r[2], x));
    EXPECT_TRUE(all(r[3], x + 7));
    EXPECT_EQ(r[1].shape(), (Shape{2, kLarge / 2}));
  }
}

TEST(Operands, OneValueMayBeSeveralResultsAndBeReadAgain) {
  auto f = function([](Tensor a) {
    const Tensor y = cumsum(a * 2.f);
    return Tensors{y, y, reshape(y, Shape{kLarge, 1}), y - 1.f};
  });
  Tensors kept;
  for (int i = 0; i < 4; ++i) {
    const Tensors r = f(large(i % 2 ? 0.f : 1.f));
    kept.insert(kept.end(), r.begin(), r.end());
  }
  for (size_t i = 0; i < 4; ++i) {
    const float step = i % 2 ? 0.f : 2.f;
    for (size_t k = 0; k < 3; ++k) {
      const Floats y = floats(kept[i * 4 + k]);
      EXPECT_EQ(y[0], step);
      EXPECT_EQ(y[kLarge - 1], step * kLarge);
    }
    EXPECT_EQ(floats(kept[i * 4 + 3])[9], step * 10 - 1);
  }
  EXPECT_EQ(count(f.explain(), "given out twice"), 2u) << f.explain();
}

TEST(Operands, ViewsAtOddAddressesAreCopiedFirst) {
  auto f = function([](Tensor a, Tensor b) { return chain(a, b); });
  const Tensor both = on("GPU:0", [] {
    return concat({fill({8}, constant(5.f)), fill({kLarge}, constant(2.f))}, {.axis = 0});
  });
  const Tensor even = on("GPU:0", [&] { return slice(both, {8}, {kLarge - 8}); });
  const Tensor odd = on("GPU:0", [&] { return slice(both, {9}, {kLarge - 8}); });
  const Tensor x = filled("GPU:0", {kLarge - 8}, 3);
  for (int i = 0; i < 3; ++i) {
    EXPECT_TRUE(all(f(even, x), chain(2.f, 3.f)));
    EXPECT_TRUE(all(f(odd, x), chain(2.f, 3.f)));
    EXPECT_TRUE(all(f(x, odd), chain(3.f, 2.f)));
  }
  EXPECT_EQ(count(f.explain(), "arguments at odd addresses, copied first: 6\n"), 1u)
      << f.explain();
}

TEST(Operands, ThreadsHaveAddressesOfTheirOwn) {
  auto f = function([](Tensor a, Tensor b) { return chain(a, b); });
  f(large(1), large(1)).wait();
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; ++t) {
    threads.emplace_back([&, t] {
      const Tensor mine = large(static_cast<float>(t));
      for (int i = 0; i < 10; ++i) {
        const auto x = static_cast<float>(i);
        if (!all(f(mine, large(x)), chain(static_cast<float>(t), x))) ++wrong;
      }
    });
  }
  for (std::thread& t : threads) t.join();
  EXPECT_EQ(wrong, 0);
}

TEST(Operands, WhatIsSpoiledSpoilsTheResult) {
  auto f = function([](Tensor a, Tensor b) { return chain(a, b); });
  f(large(1), large(1)).wait();
  const Tensor bad = on("GPU:0", [] {
    const Tensor indices = cast(fill({kLarge}, constant(7.f)), int32);
    return gather(fill({3}, constant(1.f)), indices);
  });
  const Tensor spoiled = f(large(1), bad);
  EXPECT_THROW(floats(spoiled), InvalidArgumentError);
  EXPECT_TRUE(all(f(large(1), large(2)), chain(1.f, 2.f)));
}

TEST(Operands, VariablesAreWrittenFromThem) {
  Variable v = on("GPU:0", [] { return Variable(zeros({kLarge})); });
  auto f = function([&](Tensor x) {
    v.assign_add(x);
    return v.read() * 2.f;
  });
  auto set = function([&](Tensor x) { v.assign(x); });
  Tensors made;
  for (int i = 1; i <= 4; ++i) made.push_back(f(large(static_cast<float>(i))));
  // Its own old value as an argument, which the call must not write over.
  const Tensor old = v.read();
  made.push_back(f(old));
  EXPECT_TRUE(all(old, 10));
  const float expected[] = {2, 6, 12, 20, 40};
  for (size_t i = 0; i < made.size(); ++i) EXPECT_TRUE(all(made[i], expected[i])) << i;
  set(large(3));
  EXPECT_TRUE(all(v.read(), 3));
}

TEST(Operands, BranchesAndLoopsAreGivenCopies) {
  auto f = function([](Tensor x, Tensor n) {
    const Tensor y =
        cond(reduce_sum(x) > 0.f, [&] { return x * 2.f; }, [&] { return x - 1.f; });
    const Tensor z =
        while_loop([&](const Tensors& v) { return less(v[0], n); },
                   [&](const Tensors& v) -> Tensors { return {v[0] + 1.f, v[1] + x}; },
                   {constant(0.f), y})[1];
    return Tensors{y, z, x + 1.f};
  });
  for (int i = 0; i < 6; ++i) {
    const float x = i % 2 ? -1.f : 3.f, y = x > 0 ? x * 2 : x - 1;
    const Tensor n = filled("GPU:0", {}, static_cast<float>(i));
    const Tensors r = f(large(x), n);
    EXPECT_TRUE(all(r[0], y)) << i;
    EXPECT_TRUE(all(r[1], y + static_cast<float>(i) * x)) << i;
    EXPECT_TRUE(all(r[2], x + 1)) << i;
  }
}

TEST(Operands, OtherDevicesReadThemToo) {
  auto f = function([](Tensor x) {
    const Tensor y = on("/GPU:0", [&] { return x * 2.f; });
    const Tensor host = on("/CPU:0", [&] { return y + x; });
    const Tensor back = on("/GPU:1", [&] { return host - x; });
    const Tensor z = on("/GPU:0", [&] { return y + back; });
    return Tensors{y, host, back, z};
  });
  Tensors kept;
  for (int i = 0; i < 4; ++i) {
    const Tensors r = f(large(static_cast<float>(i)));
    kept.insert(kept.end(), r.begin(), r.end());
  }
  for (size_t i = 0; i < 4; ++i) {
    const auto x = static_cast<float>(i);
    EXPECT_TRUE(all(kept[i * 4], 2 * x));
    EXPECT_TRUE(all(kept[i * 4 + 1], 3 * x));
    EXPECT_TRUE(all(kept[i * 4 + 2], 2 * x));
    EXPECT_TRUE(all(kept[i * 4 + 3], 4 * x));
  }
}

// As kernels of libraries are.
ALONE_TEST(Operands, KernelsThatKeepAddressesAreGivenCopies,
           {{"TANDEM_EMULATE_GPUS", "1"}}) {
  for (const Kernel* k : KernelRegistry::get().all()) {
    if (k->op == "Cumsum") mark_fixed_addresses(k->id);
  }
  auto f = function([](Tensor x) { return Tensors{cumsum(x), x * 3.f}; });
  for (int i = 0; i < 3; ++i) {
    const auto x = static_cast<float>(i);
    const Tensors r = f(large(x));
    EXPECT_EQ(floats(r[0])[99], x * 100);
    EXPECT_TRUE(all(r[1], x * 3));
  }
  const std::string text = f.explain();
  EXPECT_EQ(count(text, " keeps addresses)"), 2u) << text;
  EXPECT_EQ(count(text, "(result, told to 1 kernel)"), 1u) << text;
}

}  // namespace
}  // namespace tandem
