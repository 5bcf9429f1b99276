// Functions in parts (sizes that depend on data), and results in places of the caller's.
#include <thread>

#include <gtest/gtest.h>

#include "support/alone.h"
#include "tandem/tandem.h"

namespace tandem {
namespace {

// What is read before the cut is written after it: a write of somebody else in between
// would be lost.
TEST(CutFunctions, HoldTheirVariablesOverTheirParts) {
  constexpr int kCalls = 150;
  Variable counter(constant(0));
  auto cut = function([&](Tensor x) {
    const Tensor before = counter.read();
    const Tensor kept = boolean_mask(x, x > 0);
    counter.assign(before + reduce_sum(kept));
  });
  auto other = function([&] { counter.assign_add(constant(1)); });
  const Tensor two = constant({1, -5, 1, -7});
  cut(two);
  other();
  std::thread writer([&] {
    for (int i = 0; i < kCalls; ++i) other();
  });
  std::thread eager([&] {
    for (int i = 0; i < kCalls; ++i) counter.assign_add(constant(1));
  });
  for (int i = 0; i < kCalls; ++i) cut(two);
  writer.join();
  eager.join();
  EXPECT_EQ(counter.read().item<int>(), 3 + 4 * kCalls);
}

TEST(CutFunctions, ReadersRunSideBySide) {
  Variable w(constant({1, 2, 3}));
  auto cut = function([&](Tensor x) {
    return reduce_sum(boolean_mask(w.read(), x > 0)) + reduce_sum(w.read());
  });
  const Tensor x = constant({1, 0, 1});
  EXPECT_EQ(cut(x).item<int>(), 10);
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 40; ++i) EXPECT_EQ(cut(x).item<int>(), 10);
    });
  }
  for (std::thread& t : threads) t.join();
}

TEST(Places, AreFilledWithTheResults) {
  auto f = function([](Tensor x, Tensor y) { return std::pair{x + y, x * y}; });
  const std::array<Tensor, 2> arguments{constant(2.f), constant(5.f)};
  std::array<Tensor, 2> results;
  for (int i = 0; i < 3; ++i) {
    f.call(arguments, results);
    EXPECT_EQ(results[0].item<float>(), 7);
    EXPECT_EQ(results[1].item<float>(), 10);
  }
  const auto [sum, product] = f(arguments[0], arguments[1]);
  EXPECT_EQ(sum.item<float>(), 7);
  EXPECT_EQ(product.item<float>(), 10);
}

TEST(Places, MayBeThoseOfTheArguments) {
  auto twice = function([](Tensor x) { return x * 2.f; });
  Tensor x = constant(1.f);
  for (int i = 0; i < 10; ++i) twice.call({&x, 1}, {&x, 1});
  EXPECT_EQ(x.item<float>(), 1024);
}

TEST(Places, EarlierResultsStayWhatTheyWere) {
  auto f = function([](Tensor x) { return x + 1.f; });
  std::vector<Tensor> kept;
  Tensor place, x = constant(0.f);
  for (int i = 0; i < 4; ++i) {
    f.call({&x, 1}, {&place, 1});
    kept.push_back(place);
    x = place;
  }
  for (int i = 0; i < 4; ++i) {
    EXPECT_EQ(kept[static_cast<size_t>(i)].item<float>(), static_cast<float>(i + 1));
  }
}

TEST(Places, MustBeAsManyAndStayWhenTheCallFails) {
  auto f = function([](Tensor x) {
    Assert(x > 0.f, {x});
    return x * 2.f;
  });
  const Tensor good = constant(3.f), bad = constant(-3.f);
  std::array<Tensor, 2> two;
  EXPECT_ERROR(f.call({&good, 1}, two), ValueError, "1 results and was given 2 places");
  Tensor place;
  f.call({&good, 1}, {&place, 1});
  EXPECT_ERROR(
      {
        Tensor other = place;
        f.call({&bad, 1}, {&other, 1});
        other.wait();
      },
      InvalidArgumentError, "assertion");
  EXPECT_EQ(place.item<float>(), 6);
}

TEST(Places, OfACutFunction) {
  auto f = function([](Tensor x) { return boolean_mask(x, x > 0.f) * 2.f; });
  const Tensor x = constant({1.f, -1.f, 3.f});
  Tensor place;
  for (int i = 0; i < 2; ++i) {
    f.call({&x, 1}, {&place, 1});
    EXPECT_EQ(place.to_vector<float>(), (std::vector<float>{2, 6}));
  }
}

}  // namespace
}  // namespace tandem
