// Errors come once, where their element would have come; iteration goes on.
#include <gtest/gtest.h>

#include "cpu/data/data_support.h"
#include "data/stages.h"

namespace tandem::data {
namespace {

ElementFunction fails_at(int64_t bad) {
  return [bad](std::span<const Tensor> e) {
    if (e[0].item<int64_t>() == bad) throw InvalidArgumentError("two is bad");
    return Element(e.begin(), e.end());
  };
}

// Numbers, with -1 in place of an error.
Numbers with_errors(const Dataset& dataset) {
  Numbers result;
  Iterator iterator(dataset);
  Element element;
  for (;;) {
    try {
      if (!iterator.next(element)) return result;
      result.push_back(element[0].item<int64_t>());
    } catch (const InvalidArgumentError& e) {
      EXPECT_STREQ(e.what(), "two is bad");
      result.push_back(-1);
    }
  }
}

TEST(Errors, ComeInPlaceOfTheirElement) {
  const Numbers expected = {0, 1, -1, 3, 4};
  for (const int64_t calls : {0, 1, 3}) {
    const Dataset mapped = range(0, 5).map(fails_at(2), {.num_parallel_calls = calls});
    EXPECT_EQ(with_errors(mapped), expected) << calls;
    EXPECT_EQ(with_errors(mapped.prefetch(2)), expected) << calls;
    EXPECT_EQ(with_errors(mapped.prefetch(1).map(times(1), {.num_parallel_calls = 2})),
              expected)
        << calls;
  }
}

TEST(Errors, CanBeIgnored) {
  const Dataset mapped = range(0, 5).map(fails_at(2));
  EXPECT_EQ(numbers(Dataset(make_ignore_errors(mapped.stage(), false))),
            Numbers({0, 1, 3, 4}));
}

TEST(Errors, AnEndedIteratorStaysEnded) {
  int64_t left = 2;
  Iterator iterator(from_generator(
      [&] {
        return [&](Element& e) { return left > 0 ? (e = number(left--), true) : false; };
      },
      kNumber));
  Element element;
  EXPECT_TRUE(iterator.next(element));
  EXPECT_TRUE(iterator.next(element));
  EXPECT_FALSE(iterator.next(element));
  left = 5;
  EXPECT_FALSE(iterator.next(element));
}

TEST(Errors, GeneratorsAreHeldToWhatTheyPromised) {
  Iterator iterator(from_generator(
      [] {
        return [](Element& e) {
          e = {constant({1.f})};
          return true;
        };
      },
      kNumber));
  Element element;
  EXPECT_THROW(iterator.next(element), InvalidArgumentError);
}

TEST(Errors, ElementsOfDifferentShapesAreNoBatch) {
  const Dataset growing = range(1, 3).map([](std::span<const Tensor> e) {
    return Element{constant(Numbers(static_cast<size_t>(e[0].item<int64_t>()), 0))};
  });
  Iterator iterator(growing.batch({.batch_size = 2}));
  Element element;
  try {
    iterator.next(element);
    FAIL();
  } catch (const InvalidArgumentError& e) {
    EXPECT_NE(std::string(e.what()).find("Cannot batch tensors with different shapes in "
                                         "component 0. First element had shape [1] and "
                                         "element 1 had shape [2]."),
              std::string::npos);
  }
}

TEST(Errors, WrongCountsAreRefusedAtOnce) {
  const Dataset d = range(0, 3);
  EXPECT_THROW(d.batch({.batch_size = 0}), InvalidArgumentError);
  EXPECT_THROW(d.shuffle({.buffer_size = 0}), InvalidArgumentError);
  EXPECT_THROW(d.shard(2, 2), InvalidArgumentError);
  EXPECT_THROW(d.prefetch(-3), InvalidArgumentError);
  EXPECT_THROW(range(0, 3, 0), InvalidArgumentError);
  EXPECT_THROW(d.window({.size = 0}), InvalidArgumentError);
  EXPECT_THROW(d.unbatch(), ValueError);
}

}  // namespace
}  // namespace tandem::data
