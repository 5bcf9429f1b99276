// Rows of arrays gathered into batches.
#include "data/array_batches.h"

#include <algorithm>
#include <numeric>

#include <gtest/gtest.h>

#include "cpu/data/data_support.h"

namespace tandem::data {
namespace {

std::shared_ptr<const ArrayRows> arrays(int64_t rows) {
  std::vector<float> x(static_cast<size_t>(rows * 3));
  std::iota(x.begin(), x.end(), 0.f);
  std::vector<std::string> names;
  for (int64_t i = 0; i < rows; ++i) names.push_back(std::to_string(i));
  return std::make_shared<const ArrayRows>(
      std::vector<Tensor>{constant(x, {rows, 3}), constant(names, {rows})});
}

TEST(ArrayRows, GathersRowsInTheOrderOfTheIndices) {
  const auto rows = arrays(5);
  const std::vector<int64_t> wanted = {4, 0, 4};
  const std::vector<Tensor> got = rows->gather(wanted);
  EXPECT_EQ(got[0].shape(), Shape({3, 3}));
  EXPECT_EQ(got[0].to_vector<float>(),
            std::vector<float>({12, 13, 14, 0, 1, 2, 12, 13, 14}));
  EXPECT_EQ(got[1].to_vector<std::string>(), std::vector<std::string>({"4", "0", "4"}));
}

TEST(ArrayRows, ARunOfRowsSharesTheMemory) {
  const auto rows = arrays(5);
  const std::vector<int64_t> wanted = {1, 2, 3};
  const Tensor got = rows->gather(wanted)[0];
  EXPECT_EQ(got.host_data(),
            static_cast<const float*>(rows->arrays()[0].host_data()) + 3);
}

TEST(ArrayRows, RefusesWhatHasNoRowsInCommon) {
  EXPECT_THROW(ArrayRows({constant(1.f)}), ValueError);
  EXPECT_THROW(ArrayRows({constant({1.f, 2.f}), constant({1.f, 2.f, 3.f})}), ValueError);
  const std::vector<int64_t> beyond = {0, 5};
  EXPECT_THROW(arrays(5)->gather(beyond), OutOfRangeError);
}

TEST(ArrayBatches, EachEpochIsAPermutationOfItsOwn) {
  ArrayBatches batches(arrays(10),
                       {.batch_size = 4, .order = RowOrder::kShuffled, .seed = 3});
  EXPECT_EQ(batches.batches_per_epoch(), 3);
  std::vector<std::vector<std::string>> epochs;
  for (int epoch = 0; epoch < 2; ++epoch) {
    batches.start_epoch(epoch);
    std::vector<std::string> names;
    std::vector<int64_t> sizes;
    std::vector<Tensor> batch;
    while (batches.next(batch)) {
      sizes.push_back(batch[0].dim(0));
      for (const std::string& n : batch[1].to_vector<std::string>()) names.push_back(n);
    }
    EXPECT_EQ(sizes, std::vector<int64_t>({4, 4, 2}));
    epochs.push_back(names);
    std::sort(names.begin(), names.end());
    EXPECT_EQ(std::unique(names.begin(), names.end()) - names.begin(), 10);
  }
  EXPECT_NE(epochs[0], epochs[1]);
  batches.start_epoch(0);
  std::vector<Tensor> again;
  ASSERT_TRUE(batches.next(again));
  EXPECT_EQ(again[1].to_vector<std::string>()[0], epochs[0][0]);
}

TEST(ArrayBatches, ShuffledBatchesKeepTheirRowsTogether) {
  ArrayBatches batches(arrays(10),
                       {.batch_size = 3, .order = RowOrder::kShuffledBatches, .seed = 1});
  int64_t rows = 0;
  for (auto got = batches.next_rows(); !got.empty(); got = batches.next_rows()) {
    EXPECT_EQ(got[0] % 3, 0);
    EXPECT_EQ(got.back() - got.front() + 1, static_cast<int64_t>(got.size()));
    rows += static_cast<int64_t>(got.size());
  }
  EXPECT_EQ(rows, 10);
}

TEST(ArrayBatches, WritesIntoGivenMemoryAndDropsTheRemainder) {
  const auto rows = std::make_shared<const ArrayRows>(
      std::vector<Tensor>{constant(std::vector<float>{0, 1, 2, 3, 4}, {5})});
  ArrayBatches batches(rows, {.batch_size = 2, .drop_remainder = true});
  std::vector<float> memory(2, -1.f);
  void* const address = memory.data();
  EXPECT_EQ(batches.next_into({&address, 1}), 2);
  EXPECT_EQ(memory, std::vector<float>({0, 1}));
  EXPECT_EQ(batches.next_into({&address, 1}), 2);
  EXPECT_EQ(batches.next_into({&address, 1}), 0);
}

TEST(ArrayBatches, BatchesOfAShuffledDatasetAreThoseOfItsElements) {
  const Tensor x = constant(std::vector<int64_t>{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}, {10});
  const auto shuffled = [&] {
    return from_tensor_slices({x}).shuffle({.buffer_size = 4, .seed = 7});
  };
  // Mapping hides from the batch that its input are rows.
  const auto hidden = [&] { return shuffled().map(times(1), {.components = kNumber}); };
  EXPECT_EQ(batches(shuffled().batch({.batch_size = 3})),
            batches(hidden().batch({.batch_size = 3})));
  EXPECT_EQ(batches(shuffled().repeat(2).skip(3).take(9).shard(2, 1).batch(
                {.batch_size = 2, .drop_remainder = true})),
            batches(hidden().repeat(2).skip(3).take(9).shard(2, 1).batch(
                {.batch_size = 2, .drop_remainder = true})));
}

}  // namespace
}  // namespace tandem::data
