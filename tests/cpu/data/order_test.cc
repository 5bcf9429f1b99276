// Which elements come, and in which order.
#include <gtest/gtest.h>

#include "cpu/data/data_support.h"

namespace tandem::data {
namespace {

TEST(Order, SourcesAndChoices) {
  EXPECT_EQ(numbers(range(2, 9, 3)), Numbers({2, 5, 8}));
  EXPECT_EQ(numbers(range(5, 0, -2)), Numbers({5, 3, 1}));
  EXPECT_EQ(numbers(range(0, 5).skip(1).take(3)), Numbers({1, 2, 3}));
  EXPECT_EQ(numbers(range(0, 7).shard(3, 1)), Numbers({1, 4}));
  EXPECT_EQ(numbers(range(0, 2).repeat(2)), Numbers({0, 1, 0, 1}));
  EXPECT_EQ(numbers(range(0, 2).repeat().take(5)), Numbers({0, 1, 0, 1, 0}));
  EXPECT_EQ(numbers(range(0, 0).repeat()), Numbers());
  EXPECT_EQ(numbers(range(0, 2).concatenate(range(7, 9))), Numbers({0, 1, 7, 8}));
  EXPECT_EQ(numbers(range(0, 9).filter([](std::span<const Tensor> e) {
              return Element{constant(e[0].item<int64_t>() % 4 == 1)};
            })),
            Numbers({1, 5}));
  EXPECT_EQ(numbers(range(0, 9).take_while([](std::span<const Tensor> e) {
              return Element{constant(e[0].item<int64_t>() < 3)};
            })),
            Numbers({0, 1, 2}));
}

TEST(Order, CardinalityIsThatOfTheElements) {
  const Dataset seven = range(0, 7);
  const std::vector<Dataset> all = {
      seven,
      seven.batch({.batch_size = 2}),
      seven.batch({.batch_size = 2, .drop_remainder = true}),
      seven.repeat(3),
      seven.skip(10),
      seven.take(3),
      seven.shard(3, 0),
      seven.shard(3, 2),
      seven.concatenate(seven),
      zip({seven, range(0, 4)}),
      seven.window({.size = 3, .shift = 2}),
      seven.window({.size = 3, .shift = 2, .drop_remainder = true}),
      seven.window({.size = 2, .shift = 1, .stride = 2, .drop_remainder = true}),
      seven.shuffle({.buffer_size = 3}).prefetch().cache(),
  };
  for (size_t i = 0; i < all.size(); ++i) {
    int64_t count = 0;
    for ([[maybe_unused]] const Element& e : all[i]) ++count;
    EXPECT_EQ(all[i].cardinality(), count) << i;
  }
  EXPECT_EQ(seven.repeat().cardinality(), kInfinite);
  EXPECT_EQ(seven.filter([](std::span<const Tensor>) { return Element{constant(true)}; })
                .cardinality(),
            kUnknown);
}

TEST(Order, ShuffleIsTensorFlowsForASeed) {
  const Dataset all = range(0, 10).shuffle({.buffer_size = 10, .seed = 42});
  EXPECT_EQ(numbers(all), Numbers({5, 9, 6, 4, 7, 1, 2, 8, 3, 0}));
  EXPECT_EQ(numbers(all), Numbers({3, 7, 6, 5, 8, 4, 0, 1, 9, 2}));
  const Dataset same = range(0, 10).shuffle(
      {.buffer_size = 4, .seed = 42, .reshuffle_each_iteration = false});
  EXPECT_EQ(numbers(same), Numbers({0, 1, 3, 4, 5, 2, 6, 9, 7, 8}));
  EXPECT_EQ(numbers(same), Numbers({0, 1, 3, 4, 5, 2, 6, 9, 7, 8}));
  random::set_seed(7);
  EXPECT_EQ(numbers(range(0, 8).shuffle({.buffer_size = 8})),
            Numbers({4, 2, 6, 1, 7, 5, 0, 3}));
}

TEST(Order, ParallelMapsKeepTheOrderForAnyNumberOfThreads) {
  const Dataset input = range(0, 200);
  const Numbers expected = numbers(input.map(times(3)));
  for (const int64_t calls : {1, 2, 5, 16}) {
    EXPECT_EQ(numbers(input.map(times(3), {.num_parallel_calls = calls})), expected);
  }
  Numbers any =
      numbers(input.map(times(3), {.num_parallel_calls = 4, .deterministic = false}));
  std::sort(any.begin(), any.end());
  EXPECT_EQ(any, expected);
}

TEST(Order, InterleaveTakesBlocksInTurn) {
  const auto repeated = [](const Element& e) { return from_tensors(e).repeat(3); };
  const Numbers expected = {1, 1, 2, 2, 1, 2, 3, 3, 4, 4, 3, 4, 5, 5, 5};
  for (const int64_t calls : {0, 1, 2, 4}) {
    EXPECT_EQ(numbers(range(1, 6).interleave(
                  repeated,
                  {.cycle_length = 2, .block_length = 2, .num_parallel_calls = calls})),
              expected)
        << calls;
  }
  EXPECT_EQ(numbers(range(1, 4).flat_map(repeated)),
            Numbers({1, 1, 1, 2, 2, 2, 3, 3, 3}));
}

TEST(Order, BatchesAndTheirParts) {
  using Batches = std::vector<Numbers>;
  const Dataset five = range(0, 5);
  EXPECT_EQ(batches(five.batch({.batch_size = 2})), Batches({{0, 1}, {2, 3}, {4}}));
  EXPECT_EQ(batches(five.batch({.batch_size = 2, .num_parallel_calls = 3})),
            Batches({{0, 1}, {2, 3}, {4}}));
  EXPECT_EQ(numbers(five.batch({.batch_size = 2}).unbatch()), numbers(five));
  EXPECT_EQ(batches(five.batch({.batch_size = 2}).rebatch(3)),
            Batches({{0, 1, 2}, {3, 4}}));
  const Dataset growing = five.map([](std::span<const Tensor> e) {
    return Element{constant(Numbers(static_cast<size_t>(e[0].item<int64_t>()), 7))};
  });
  EXPECT_EQ(batches(growing.padded_batch(
                {.batch_size = 3, .padding_values = {constant(int64_t{-1})}})),
            Batches({{-1, -1, 7, -1, 7, 7}, {7, 7, 7, -1, 7, 7, 7, 7}}));
}

TEST(Order, WindowsAreDatasets) {
  std::vector<Numbers> windows;
  for (const Element& e : range(0, 7).window({.size = 3, .shift = 2, .stride = 2})) {
    windows.push_back(numbers(dataset_of(e[0])));
  }
  EXPECT_EQ(windows, std::vector<Numbers>({{0, 2, 4}, {2, 4, 6}, {4, 6}, {6}}));
}

TEST(Order, CachesTheFirstCompletePass) {
  int64_t calls = 0;
  const Dataset cached = range(0, 4)
                             .map([&](std::span<const Tensor> e) {
                               ++calls;
                               return Element(e.begin(), e.end());
                             })
                             .cache();
  EXPECT_EQ(numbers(cached.take(2)), Numbers({0, 1}));
  EXPECT_EQ(numbers(cached), Numbers({0, 1, 2, 3}));
  EXPECT_EQ(calls, 6);
  EXPECT_EQ(numbers(cached), Numbers({0, 1, 2, 3}));
  EXPECT_EQ(calls, 6);
}

TEST(Order, ReduceAndEnumerate) {
  const Element sum = range(0, 5).reduce(number(10), [](std::span<const Tensor> e) {
    return number(e[0].item<int64_t>() + e[1].item<int64_t>());
  });
  EXPECT_EQ(sum[0].item<int64_t>(), 20);
  Numbers firsts;
  for (const Element& e : range(7, 9).enumerate(3)) {
    firsts.push_back(e[0].item<int64_t>());
    EXPECT_EQ(e[1].item<int64_t>(), e[0].item<int64_t>() + 4);
  }
  EXPECT_EQ(firsts, Numbers({3, 4}));
}

TEST(Order, CompiledFunctionsRunInThePipeline) {
  const auto f = function([](Tensor x) { return x * x + 1; });
  const Dataset squares =
      range(0, 50).map([f](std::span<const Tensor> e) { return Element{f(e[0])}; },
                       {.num_parallel_calls = 4});
  const Numbers got = numbers(squares);
  for (int64_t i = 0; i < 50; ++i) EXPECT_EQ(got[static_cast<size_t>(i)], i * i + 1);
}

}  // namespace
}  // namespace tandem::data
