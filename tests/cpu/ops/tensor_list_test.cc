// Lists of tensors: what each op does, what it refuses, its gradient, and the same in a
// traced function; and TensorArray, which is made of them.
#include "ops/tensor_list.h"

#include <gtest/gtest.h>

#include "op/emitter.h"
#include "support/numeric.h"
#include "support/traced.h"
#include "tensor/tensor_list.h"

namespace tandem {
namespace {

using testing::expect_close;
using testing::run_traced;
using testing::values;
using Tensors = std::vector<Tensor>;

const TensorListAttrs kDoubles{DType::kFloat64, Shape::unknown()};

Tensor run(const char* op, std::initializer_list<TensorArg> inputs,
           TensorListAttrs attrs = kDoubles) {
  return emit(OpTable::get().at(op), inputs, attrs);
}
Tensor plain(const char* op, std::initializer_list<TensorArg> inputs) {
  return emit(OpTable::get().at(op), inputs);
}
Tensor from_rows(const Tensor& t) { return plain("TensorListFromTensor", {t}); }
Tensor stacked(const Tensor& list) { return run("TensorListStack", {list, Tensor()}); }
std::pair<Tensor, Tensor> pop(const Tensor& list) {
  const Tensors out =
      emit_all(OpTable::get().at("TensorListPopBack"), {list, Tensor()}, kDoubles);
  return {out[0], out[1]};
}
int length(const Tensor& list) {
  return plain("TensorListLength", {list}).item<int32_t>();
}

template <class F>
std::string message_of(const F& f) {
  try {
    f();
  } catch (const InvalidArgumentError& e) {
    return e.what();
  }
  return "";
}

TEST(TensorList, EveryVersionKeepsItsElements) {
  const TensorList empty(DType::kFloat64, Shape{}, 0);
  const TensorList one = empty.push_back(constant(1.0));
  const TensorList two = one.push_back(constant(2.0));
  const TensorList other = one.push_back(constant(7.0));
  const TensorList changed = two.set(0, constant(9.0));
  const TensorList popped = changed.pop_back();
  const auto texts = [](const TensorList& l) {
    std::vector<double> v;
    for (const Tensor& t : l.items()) v.push_back(t.item<double>());
    return v;
  };
  for (int round = 0; round < 3; ++round) {
    EXPECT_EQ(texts(two), (std::vector<double>{1, 2}));
    EXPECT_EQ(texts(empty), (std::vector<double>{}));
    EXPECT_EQ(texts(other), (std::vector<double>{1, 7}));
    EXPECT_EQ(texts(changed), (std::vector<double>{9, 2}));
    EXPECT_EQ(texts(popped), (std::vector<double>{9}));
    EXPECT_EQ(texts(one), (std::vector<double>{1}));
  }
}

TEST(TensorList, AMillionVersionsComeAndGo) {
  // Kept versions must neither cost a copy each nor be destroyed recursively.
  const Tensor x = constant(1.0);
  std::vector<TensorList> kept;
  TensorList list(DType::kFloat64, Shape{}, 0);
  for (int i = 0; i < 1000000; ++i) {
    if (i % 2 == 0) kept.push_back(list);
    list = list.push_back(x);
  }
  EXPECT_EQ(list.size(), 1000000);
  EXPECT_EQ(kept[1].size(), 2);
  EXPECT_EQ(kept[1].at(1).item<double>(), 1);
}

TEST(TensorList, PushPopAndLength) {
  Tensor list = run("EmptyTensorList", {});
  EXPECT_EQ(length(list), 0);
  const Tensor before = list;
  for (double v : {1.0, 2.0, 3.0}) {
    list = plain("TensorListPushBack", {list, constant(v)});
  }
  EXPECT_EQ(length(list), 3);
  EXPECT_EQ(length(before), 0);
  const auto [rest, last] = pop(list);
  EXPECT_EQ(last.item<double>(), 3);
  expect_close(stacked(rest), {1, 2});
  EXPECT_NE(message_of([&] { pop(before); }).find("pop from an empty list"),
            std::string::npos);
  EXPECT_NE(message_of([&] {
              plain("TensorListPushBack", {list, constant(1)});
            }).find("Invalid data types; op elements int32 but list elements float64"),
            std::string::npos);
}

TEST(TensorList, PrintsAsTensorFlowsDo) {
  const Tensor list = from_rows(constant({1.0}));
  EXPECT_EQ(list.str(), "tf.Tensor(<TensorList>, shape=(), dtype=variant)");
  EXPECT_EQ(list.repr(), "<tf.Tensor: shape=(), dtype=variant, value=<TensorList>>");
}

TEST(TensorList, ReserveSetAndGet) {
  const Tensor list =
      run("TensorListReserve", {constant(3)}, {DType::kFloat64, Shape{2}});
  const Tensor set =
      plain("TensorListSetItem", {list, constant(1), constant({5.0, 6.0})});
  expect_close(stacked(set), {0, 0, 5, 6, 0, 0});
  expect_close(run("TensorListGetItem", {set, constant(1), Tensor()}), {5, 6});
  expect_close(run("TensorListGetItem", {set, constant(2), Tensor()}), {0, 0});
  EXPECT_NE(message_of([&] {
              run("TensorListGetItem", {set, constant(3), Tensor()});
            }).find("Trying to access element 3 in a list with 3 elements"),
            std::string::npos);
  EXPECT_NE(message_of([&] {
              plain("TensorListSetItem", {list, constant(-1), constant({5.0, 6.0})});
            }).find("Trying to modify element -1 in a list with 3 elements"),
            std::string::npos);
  EXPECT_NE(message_of([&] {
              plain("TensorListSetItem", {list, constant(1), constant(5.0)});
            }).find("incompatible shape"),
            std::string::npos);
  const Tensor unknown = run("TensorListReserve", {constant(1)});
  EXPECT_NE(message_of([&] {
              run("TensorListGetItem", {unknown, constant(0), Tensor()});
            }).find("element_shape is not fully defined"),
            std::string::npos);
}

TEST(TensorList, ResizeAddAndZeros) {
  const Tensor list = from_rows(constant({1.0, 2.0, 3.0}));
  expect_close(stacked(plain("TensorListResize", {list, constant(2)})), {1, 2});
  expect_close(stacked(plain("TensorListResize", {list, constant(5)})), {1, 2, 3, 0, 0});
  expect_close(stacked(plain("TensorListAdd", {list, list})), {2, 4, 6});
  expect_close(stacked(plain("TensorListZerosLike", {list})), {0, 0, 0});
  EXPECT_NE(message_of([&] {
              plain("TensorListAdd", {list, from_rows(constant({1.0}))});
            }).find("different lengths"),
            std::string::npos);
}

TEST(TensorList, ConcatSplitGatherScatter) {
  const Tensor x = constant({1.0, 2.0, 3.0, 4.0, 5.0});
  const Tensor parts =
      plain("TensorListSplit", {x, constant(std::vector<int64_t>{2, 0, 3})});
  EXPECT_EQ(length(parts), 3);
  const Tensors joined =
      emit_all(OpTable::get().at("TensorListConcat"), {parts, Tensor()}, kDoubles);
  expect_close(joined[0], {1, 2, 3, 4, 5});
  EXPECT_EQ(joined[1].to_vector<int64_t>(), (std::vector<int64_t>{2, 0, 3}));
  EXPECT_NE(message_of([&] {
              plain("TensorListSplit", {x, constant(std::vector<int64_t>{2, 2})});
            }).find("must add up"),
            std::string::npos);

  const Tensor rows = from_rows(x);
  expect_close(run("TensorListGather", {rows, constant({3, 0, 3}), Tensor()}), {4, 1, 4});
  const Tensor scattered =
      emit(OpTable::get().at("TensorListScatter"),
           {constant({7.0, 8.0}), constant({2, 0})}, TensorListScatterAttrs{Shape{}});
  expect_close(stacked(scattered), {8, 0, 7});
  const Tensor into =
      emit(OpTable::get().at("TensorListScatterIntoExistingList"),
           {rows, constant({7.0, 8.0}), constant({1, 4})}, TensorListScatterAttrs{});
  expect_close(stacked(into), {1, 7, 3, 4, 8});
}

// ---- Gradients

struct Program {
  std::string name;
  testing::Function f;
};
std::vector<Program> programs() {
  const auto sq = [](const Tensor& t) { return t * t * t; };
  return {
      {"stack", [=](const Tensor& x) { return sq(stacked(from_rows(x))); }},
      {"push_pop",
       [=](const Tensor& x) {
         Tensor list = from_rows(x);
         list = plain("TensorListPushBack", {list, reduce_sum(x * x)});
         const auto [rest, last] = pop(list);
         const auto [rest2, second] = pop(rest);
         return last * second + reduce_sum(sq(stacked(rest2)));
       }},
      {"pop_only", [=](const Tensor& x) { return sq(pop(from_rows(x)).second); }},
      {"set_get",
       [=](const Tensor& x) {
         const Tensor list = plain("TensorListSetItem",
                                   {from_rows(sq(x)), constant(1), reduce_sum(x * x)});
         const Tensor item = run("TensorListGetItem", {list, constant(1), Tensor()});
         return stacked(list) * item;
       }},
      {"get_twice",
       [=](const Tensor& x) {
         const Tensor list = from_rows(x);
         const Tensor a = run("TensorListGetItem", {list, constant(0), Tensor()});
         return a * a * run("TensorListGetItem", {list, constant(2), Tensor()});
       }},
      {"gather",
       [=](const Tensor& x) {
         return sq(
             run("TensorListGather", {from_rows(x), constant({2, 0, 2}), Tensor()}));
       }},
      {"scatter",
       [=](const Tensor& x) {
         return sq(
             stacked(emit(OpTable::get().at("TensorListScatter"),
                          {x, constant({3, 0, 1})}, TensorListScatterAttrs{Shape{}})));
       }},
      {"scatter_into",
       [=](const Tensor& x) {
         return sq(
             stacked(emit(OpTable::get().at("TensorListScatterIntoExistingList"),
                          {from_rows(x), slice(x, {0}, {2}) * 2.0, constant({2, 0})},
                          TensorListScatterAttrs{})));
       }},
      {"concat_split",
       [=](const Tensor& x) {
         const Tensor parts =
             plain("TensorListSplit", {sq(x), constant(std::vector<int64_t>{1, 2})});
         return sq(emit_all(OpTable::get().at("TensorListConcat"), {parts, Tensor()},
                            kDoubles)[0]);
       }},
      {"resize_add",
       [=](const Tensor& x) {
         const Tensor list = from_rows(x);
         const Tensor longer = plain("TensorListResize", {list, constant(4)});
         return sq(stacked(plain("TensorListAdd", {longer, longer})));
       }},
  };
}

class ListGradient : public ::testing::TestWithParam<Program> {};

TEST_P(ListGradient, AgreesWithDifferencesAndTraced) {
  const testing::Function f = GetParam().f;
  const Tensor x = constant({0.5, -1.5, 2.0});
  const testing::Function loss = [&](const Tensor& t) { return reduce_sum(sin(f(t))); };
  const auto gradient = [&](const Tensors& in) -> Tensors {
    GradientTape tape;
    tape.watch(in[0]);
    const Tensor y = loss(in[0]);
    return {tape.gradient(y, in[0]).dense()};
  };
  const Tensor eager = gradient({x})[0];
  expect_close(eager, testing::numeric_jacobian(loss, x), 1e-5);
  expect_close(run_traced(gradient, {x})[0], values(eager), 1e-12);
  expect_close(run_traced(gradient, {x}, true)[0], values(eager), 1e-12);
}

INSTANTIATE_TEST_SUITE_P(Programs, ListGradient, ::testing::ValuesIn(programs()),
                         [](const auto& p) { return p.param.name; });

// ---- TensorArray

TEST(TensorArray, CollectsWhatALoopComputes) {
  const auto f = [](const Tensors& in) -> Tensors {
    const TensorArray array(
        {.dtype = float64, .size = 4, .element_shape = in[0].shape()});
    const Tensors last =
        while_loop([](const Tensors& v) { return less(v[0], constant(4)); },
                   [&](const Tensors& v) -> Tensors {
                     const Tensor next = v[1] * in[0] + 1.0;
                     return {v[0] + constant(1), next,
                             array.from_flow(v[2]).write(v[0], next).flow()};
                   },
                   {constant(0), in[0], array.flow()});
    return {array.from_flow(last[2]).stack()};
  };
  const auto gradient = [&](const Tensors& in) -> Tensors {
    GradientTape tape;
    tape.watch(in[0]);
    const Tensor y = reduce_sum(sin(f(in)[0]));
    return {f(in)[0], tape.gradient(y, in[0]).dense()};
  };
  const Tensors args = {constant({0.5, 1.5})};
  const Tensors eager = gradient(args), traced = run_traced(gradient, args);
  EXPECT_EQ(traced[0].shape().str(), "(4, 2)");
  expect_close(traced[0], values(eager[0]), 1e-12);
  expect_close(traced[1], values(eager[1]), 1e-12);
}

TEST(TensorArray, ReadsWhatALoopConsumes) {
  const auto f = [](const Tensors& in) -> Tensors {
    GradientTape tape;
    tape.watch(in[0]);
    const TensorArray rows = TensorArray({.dtype = float64}).unstack(in[0]);
    const Tensor sum =
        while_loop([&](const Tensors& v) { return less(v[0], rows.size()); },
                   [&](const Tensors& v) -> Tensors {
                     return {v[0] + constant(1), v[1] * 0.5 + sin(rows.read(v[0]))};
                   },
                   {constant(0), constant(0.0)})[1];
    return {sum, tape.gradient(sum, in[0]).dense()};
  };
  const Tensors args = {constant({0.5, 1.5, -0.25})};
  const Tensors eager = f(args), traced = run_traced(f, args);
  expect_close(traced[0], values(eager[0]), 1e-12);
  expect_close(traced[1], values(eager[1]), 1e-12);
}

TEST(TensorArray, GrowsWhereItMay) {
  TensorArray grows({.dtype = float64, .dynamic_size = true});
  for (int i = 0; i < 3; ++i) grows = grows.write(constant(i), constant(double(i)));
  EXPECT_EQ(grows.size().item<int32_t>(), 3);
  expect_close(grows.gather(constant({2, 1})), {2, 1});
  const TensorArray fixed({.dtype = float64, .size = 1});
  EXPECT_THROW((void)fixed.write(constant(1), constant(1.0)), InvalidArgumentError);
  EXPECT_THROW((void)fixed.write(constant(0), constant(1.0f)), InvalidArgumentError);
  const TensorArray pairs({.dtype = float64, .size = 1, .element_shape = {2}});
  EXPECT_THROW((void)pairs.write(constant(0), constant(1.0)), ValueError);
  expect_close(fixed.scatter(constant({0}), constant({4.0})).read(constant(0)), {4});
  const TensorArray parts =
      fixed.split(constant({1.0, 2.0, 3.0}), constant(std::vector<int64_t>{1, 2}));
  expect_close(parts.read(constant(1)), {2, 3});
  expect_close(parts.concat(), {1, 2, 3});
}

}  // namespace
}  // namespace tandem
