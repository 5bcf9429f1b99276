// TensorList where its elements lie in rows: growing, sharing, and what others who look
// at an element see when the list changes in place.
#include "tensor/tensor_list.h"

#include <cstring>

#include <gtest/gtest.h>

#include "tandem/tandem.h"

namespace tandem {
namespace {

void push(TensorList& list, float value, const Shape& shape) {
  auto* to = static_cast<float*>(list.push_row(float32, shape));
  ASSERT_NE(to, nullptr);
  for (int64_t i = 0; i < shape.num_elements(); ++i) to[i] = value;
}

void set(TensorList& list, int64_t at, float value) {
  auto* to = static_cast<float*>(list.set_row(at, float32, Shape{}));
  ASSERT_NE(to, nullptr);
  *to = value;
}

float first_of(const TensorList& list, int64_t i) {
  return list.at(i).to_vector<float>()[0];
}

TEST(TensorListRows, GrowByAnyNumberOfElementsOfAnySize) {
  const Shape shapes[] = {{}, {3}, {1000}, {40, 1000}, {0}};
  for (const Shape& shape : shapes) {
    TensorList list(DType::kVariant, Shape::unknown(), 0);
    const int64_t count = shape.num_elements() > 10000 ? 40 : 5000;
    for (int64_t i = 0; i < count; ++i) push(list, static_cast<float>(i), shape);
    ASSERT_EQ(list.size(), count);
    EXPECT_EQ(list.element_dtype(), float32);
    const std::vector<Tensor> items = list.items();
    const int64_t n = shape.num_elements();
    std::vector<float> all(static_cast<size_t>(count * n));
    EXPECT_TRUE(list.copy_rows(float32, shape, all.data()));
    for (int64_t i = 0; i < count; ++i) {
      ASSERT_EQ(items[static_cast<size_t>(i)].shape(), shape);
      if (!n) continue;
      const auto value = static_cast<float>(i);
      ASSERT_EQ(*static_cast<const float*>(list.row(i, float32, shape)), value);
      ASSERT_EQ(items[static_cast<size_t>(i)].to_vector<float>().back(), value);
      ASSERT_EQ(all[static_cast<size_t>(i * n)], value);
      ASSERT_EQ(all[static_cast<size_t>(i * n + n - 1)], value);
    }
  }
}

TEST(TensorListRows, TakeOneDtypeAndShape) {
  TensorList list(float32, Shape::unknown(), 0);
  EXPECT_EQ(list.push_row(float64, {2}), nullptr);
  push(list, 1, {2});
  EXPECT_EQ(list.push_row(float32, {3}), nullptr);
  EXPECT_EQ(list.push_row(float64, {2}), nullptr);
  EXPECT_EQ(list.row(0, float64, {2}), nullptr);
  EXPECT_EQ(list.row(0, float32, {1, 2}), nullptr);
  TensorList narrow(float32, {4}, 0);
  EXPECT_EQ(narrow.push_row(float32, {2}), nullptr);
  TensorList words(DType::kVariant, Shape::unknown(), 0);
  EXPECT_EQ(words.push_row(DType::kString, {}), nullptr);
  // What rows do not take, the list does.
  const TensorList mixed = list.push_back(constant({1.f, 2.f, 3.f}));
  EXPECT_EQ(mixed.at(0).to_vector<float>(), std::vector<float>({1, 1}));
  EXPECT_EQ(mixed.at(1).to_vector<float>(), std::vector<float>({1, 2, 3}));
  TensorList copy = mixed;
  EXPECT_EQ(copy.push_row(float32, {2}), nullptr);
}

TEST(TensorListRows, WhoLooksAtAnElementKeepsIt) {
  TensorList list(float32, {}, 0);
  for (int i = 0; i < 3; ++i) push(list, static_cast<float>(i), {});
  const Tensor second = list.at(1), third = list.at(2);
  set(list, 1, 10);
  EXPECT_TRUE(list.pop_row());
  push(list, 20, {});
  EXPECT_EQ(second.item<float>(), 1);
  EXPECT_EQ(third.item<float>(), 2);
  EXPECT_EQ(first_of(list, 1), 10);
  EXPECT_EQ(first_of(list, 2), 20);
}

TEST(TensorListRows, ListsThatShareThemAreIndependent) {
  TensorList list(float32, {}, 0);
  for (int i = 0; i < 3; ++i) push(list, static_cast<float>(i), {});
  const TensorList same = list;
  EXPECT_EQ(list.push_row(float32, {}), nullptr);
  EXPECT_EQ(list.set_row(0, float32, {}), nullptr);
  TensorList shorter = list.pop_back();
  EXPECT_TRUE(shorter.pop_row());
  EXPECT_EQ(shorter.size(), 1);
  EXPECT_EQ(same.size(), 3);
  EXPECT_EQ(first_of(same, 2), 2);
  const TensorList longer = shorter.push_back(constant(7.f));
  EXPECT_EQ(first_of(longer, 1), 7);
  EXPECT_EQ(first_of(same, 1), 1);
  EXPECT_EQ(list.resize(2).size(), 2);
  const TensorList padded = list.resize(2).resize(4);
  EXPECT_EQ(first_of(padded, 1), 1);
  EXPECT_FALSE(padded.at(2).defined());
}

TEST(TensorListRows, ElementsThatWereNeverSetAreNone) {
  TensorList list(float32, {}, 300);
  EXPECT_FALSE(list.at(299).defined());
  set(list, 299, 5);
  EXPECT_EQ(first_of(list, 299), 5);
  EXPECT_FALSE(list.at(0).defined());
  EXPECT_EQ(list.row(0, float32, {}), nullptr);
  std::vector<float> all(300);
  EXPECT_FALSE(list.copy_rows(float32, {}, all.data()));
  for (int i = 0; i < 299; ++i) set(list, i, static_cast<float>(i));
  EXPECT_TRUE(list.copy_rows(float32, {}, all.data()));
  EXPECT_EQ(all[17], 17);
  push(list, 6, {});
  EXPECT_EQ(first_of(list, 300), 6);
}

TEST(TensorListRows, TheRowsOfATensorAreNotWrittenTo) {
  Tensor rows = constant({{1.f, 2.f}, {3.f, 4.f}, {5.f, 6.f}});
  TensorList list(rows);
  EXPECT_EQ(list.at(1).to_vector<float>(), std::vector<float>({3, 4}));
  auto* to = static_cast<float*>(list.set_row(1, float32, {2}));
  ASSERT_NE(to, nullptr);
  EXPECT_EQ(to[0], 3);  // what was there is still there
  to[0] = 30;
  push(list, 7, {2});
  EXPECT_EQ(rows.to_vector<float>(), std::vector<float>({1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(first_of(list, 0), 1);
  EXPECT_EQ(first_of(list, 1), 30);
  EXPECT_EQ(first_of(list, 3), 7);
}

TEST(TensorListRows, OnlyTheOneHandleMayChangeAList) {
  Tensor handle = make_list_tensor(TensorList(float32, {}, 0));
  EXPECT_NE(sole_list(handle), nullptr);
  {
    const Tensor other = handle;
    EXPECT_EQ(sole_list(handle), nullptr);
  }
  EXPECT_NE(sole_list(handle), nullptr);
  EXPECT_EQ(sole_list(constant(1.f)), nullptr);
  EXPECT_EQ(sole_list(Tensor()), nullptr);
}

TEST(TensorListRows, ListsOfListsChangeInPlaceToo) {
  TensorList outer(DType::kVariant, Shape::unknown(), 0);
  const Tensor a = make_list_tensor(TensorList(float32, {}, 1));
  const Tensor b = make_list_tensor(TensorList(float32, {}, 2));
  EXPECT_TRUE(outer.push_tensor(a));
  EXPECT_TRUE(outer.push_tensor(b));
  EXPECT_FALSE(outer.push_tensor(Tensor()));
  const TensorList before = outer;
  Tensor popped;
  EXPECT_FALSE(outer.pop_tensor(popped));  // somebody else has this version
  TensorList alone = before.pop_back();
  EXPECT_EQ(alone.size(), 1);
  EXPECT_TRUE(alone.at(0).is(a));
  EXPECT_TRUE(before.at(1).is(b));
}

}  // namespace
}  // namespace tandem
