// Tables: what was put in is found, from several threads too, and what is refused.
#include "tandem/lookup.h"

#include <thread>

#include <gtest/gtest.h>

#include "support/traced.h"

namespace tandem {
namespace {

using testing::run_traced;

TEST(LookupTest, FindInsertRemoveSize) {
  const int64_t table = lookup::make_table(DType::kString, DType::kInt64);
  lookup::insert(table, constant({"a", "b"}), constant(std::vector<int64_t>{1, 2}));
  lookup::insert(table, constant({"b", "c"}), constant(std::vector<int64_t>{20, 30}));
  const Tensor missing = constant(int64_t{-1});
  const Tensor found = lookup::find(table, constant({"c", "x", "b", "a"}), missing);
  EXPECT_EQ(found.to_vector<int64_t>(), (std::vector<int64_t>{30, -1, 20, 1}));
  EXPECT_EQ(lookup::size(table).item<int64_t>(), 3);
  lookup::remove(table, constant({"b", "x"}));
  EXPECT_EQ(lookup::find(table, constant({"b"}), missing).to_vector<int64_t>()[0], -1);
  lookup::drop_table(table);
  EXPECT_THROW(lookup::find(table, constant({"a"}), missing), NotFoundError);
}

TEST(LookupTest, NumbersToStringsAndTraced) {
  const int64_t table = lookup::make_table(DType::kInt64, DType::kString);
  lookup::insert(table, constant(std::vector<int64_t>{7, -1}), constant({"seven", ""}));
  const auto find = [table](const std::vector<Tensor>& in) {
    return std::vector<Tensor>{lookup::find(table, in[0], constant("none"))};
  };
  const Tensor keys = constant(std::vector<int64_t>{-1, 7, 8});
  EXPECT_EQ(run_traced(find, {keys})[0].to_vector<std::string>(),
            (std::vector<std::string>{"", "seven", "none"}));
  lookup::drop_table(table);
}

TEST(LookupTest, WrongTypesAreRefused) {
  const int64_t table = lookup::make_table(DType::kInt64, DType::kFloat32);
  EXPECT_THROW(lookup::insert(table, constant({"a"}), constant({1.0f})),
               InvalidArgumentError);
  EXPECT_THROW(
      lookup::find(table, constant(std::vector<int64_t>{1}), constant(int64_t{0})),
      InvalidArgumentError);
  EXPECT_THROW(lookup::make_table(DType::kFloat32, DType::kInt64), ValueError);
  lookup::drop_table(table);
}

TEST(LookupTest, ThreadsMayChangeOneTable) {
  const int64_t table = lookup::make_table(DType::kInt64, DType::kInt64);
  std::vector<std::thread> threads;
  for (int64_t t = 0; t < 4; ++t) {
    threads.emplace_back([table, t] {
      for (int64_t i = 0; i < 50; ++i) {
        lookup::insert(table, constant(std::vector<int64_t>{t * 50 + i}),
                       constant(std::vector<int64_t>{i}));
      }
    });
  }
  for (std::thread& t : threads) t.join();
  EXPECT_EQ(lookup::size(table).item<int64_t>(), 200);
  lookup::drop_table(table);
}

}  // namespace
}  // namespace tandem
