// print, string_format and Assert: TensorFlow's formats, eagerly and traced, in order.
#include "tandem/print.h"

#include <cmath>
#include <cstdio>
#include <fstream>
#include <limits>
#include <sstream>

#include <gtest/gtest.h>

#include "support/traced.h"

namespace tandem {
namespace {

using testing::trace;
using Tensors = std::vector<Tensor>;

std::string text(const Tensor& t, int64_t summarize = 3) {
  return string_format({t}, {"{}", "{}", summarize}).item<std::string>();
}
Tensor count(const Shape& shape) {
  std::vector<int32_t> v(static_cast<size_t>(shape.num_elements()));
  for (size_t i = 0; i < v.size(); ++i) v[i] = static_cast<int32_t>(i);
  return constant(v, shape);
}

TEST(StringFormat, IsTensorFlows) {
  EXPECT_EQ(text(constant(1.5f)), "1.5");
  EXPECT_EQ(text(constant(3.0f)), "3");
  EXPECT_EQ(text(count({10})), "[0 1 2 ... 7 8 9]");
  EXPECT_EQ(text(count({10}), -1), "[0 1 2 3 4 5 6 7 8 9]");
  EXPECT_EQ(text(count({2, 3, 4})),
            "[[[0 1 2 3]\n  [4 5 6 7]\n  [8 9 10 11]]\n\n [[12 13 14 15]\n  [16 17 18 "
            "19]\n  [20 21 22 23]]]");
  EXPECT_EQ(
      text(count({10, 10}), 2),
      "[[0 1 ... 8 9]\n [10 11 ... 18 19]\n ...\n [80 81 ... 88 89]\n [90 91 ... 98 "
      "99]]");
  EXPECT_EQ(text(count({8, 1})), "[[0]\n [1]\n [2]\n ...\n [5]\n [6]\n [7]]");
  EXPECT_EQ(text(constant({1e-10f, 1e10f, 1.0f / 3, 1e5f, 1e6f, 7e5f}), -1),
            "[1e-10 1e+10 0.333333343 100000 1e+06 700000]");
  EXPECT_EQ(text(constant({1e-10, 1e10, 1.0 / 3, 123456789.123}), -1),
            "[1e-10 10000000000 0.33333333333333331 123456789.123]");
  EXPECT_EQ(text(constant({true, false})), "[1 0]");
  EXPECT_EQ(text(constant({"x", "yy"})), "[\"x\" \"yy\"]");
  EXPECT_EQ(text(constant("x")), "x");
  EXPECT_EQ(text(zeros({0})), "[]");
  const float inf = std::numeric_limits<float>::infinity();
  EXPECT_EQ(text(constant({std::nanf(""), inf, -inf})), "[nan inf -inf]");
  EXPECT_EQ(text(cast(constant({1.5f, 2.25f}), half)), "[1.5 2.25]");
  EXPECT_EQ(string_format({constant(1), constant(2)}, {"a {} b {}"}).item<std::string>(),
            "a 1 b 2");
  EXPECT_THROW(string_format({constant(1)}, {"none"}), InvalidArgumentError);
}

TEST(Print, WritesToItsStream) {
  ::testing::internal::CaptureStderr();
  print("a", constant(1.5f), "{}", constant({1, 2, 3}), 7);
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "a 1.5 {} [1 2 3] 7\n");
  ::testing::internal::CaptureStdout();
  print_items({"x", "y"}, {.output_stream = "stdout", .sep = "|", .end = "<\n"});
  EXPECT_EQ(::testing::internal::GetCapturedStdout(), "x|y<\n");
  EXPECT_THROW(print_items({"x"}, {.output_stream = "nowhere"}), InvalidArgumentError);
  const std::string path = ::testing::TempDir() + "print_test.txt";
  std::remove(path.c_str());
  print_items({"one"}, {.output_stream = "file://" + path});
  print_items({"two"}, {.output_stream = "file://" + path});
  std::ostringstream contents;
  contents << std::ifstream(path).rdbuf();
  EXPECT_EQ(contents.str(), "one\ntwo\n");
  std::remove(path.c_str());
}

TEST(Print, TracedCallsPrintInOrderAtEveryRun) {
  const auto graph = trace(
      [](const Tensors& in) -> Tensors {
        print("first", in[0]);
        while_loop([](const Tensors& v) { return less(v[0], constant(2)); },
                   [](const Tensors& v) -> Tensors {
                     print("turn", v[0]);
                     return {v[0] + constant(1)};
                   },
                   {constant(0)});
        cond(
            greater(in[0], constant(0)),
            [&] {
              print("positive");
              return Tensors{};
            },
            [&] {
              print("not");
              return Tensors{};
            });
        print("last");
        return {in[0]};
      },
      {constant(1)});
  for (int x : {5, -5}) {
    ::testing::internal::CaptureStderr();
    interpret(*graph, std::vector{constant(x)});
    EXPECT_EQ(::testing::internal::GetCapturedStderr(),
              fmt::format("first {}\nturn 0\nturn 1\n{}\nlast\n", x,
                          x > 0 ? "positive" : "not"));
  }
  // Nodes that print are chained, whatever else there is.
  int ordered = 0;
  for (const Node& n : graph->nodes()) ordered += n.after.empty() ? 0 : 1;
  EXPECT_EQ(ordered, 3);
}

TEST(Assert, NamesTheData) {
  Assert(constant(true), {});
  const auto message = [](const Tensors& data, int64_t summarize) -> std::string {
    try {
      Assert(constant(false), data, {summarize});
    } catch (const InvalidArgumentError& e) {
      return e.what();
    }
    return "";
  };
  EXPECT_EQ(message({constant({1.0f, 2.0f}), constant("msg"), count({10})}, 3),
            "assertion failed: [1 2] [msg] [0 1 2...]");
  EXPECT_EQ(message({count({2, 3})}, 6), "assertion failed: [[0 1 2][3 4 5]]");
  const auto graph = trace(
      [](const Tensors& in) -> Tensors {
        Assert(greater(in[0], constant(0)), {constant("bad"), in[0]});
        return {in[0]};
      },
      {constant(1)});
  EXPECT_EQ(interpret(*graph, std::vector{constant(1)})[0].item<int32_t>(), 1);
  EXPECT_THROW(interpret(*graph, std::vector{constant(-1)}), InvalidArgumentError);
}

TEST(CaseOf, TakesTheFirstThatHolds) {
  const auto f = [](const CaseOptions& options) {
    return [options](const Tensors& in) -> Tensors {
      return case_of(
          {{less(in[0], constant(0)), [&] { return Tensors{-in[0]}; }},
           {less(in[0], constant(10)), [&] { return Tensors{in[0] + in[0]}; }}},
          options);
    };
  };
  CaseOptions with_default{.otherwise = [] { return Tensors{constant(99)}; }};
  const auto graph = trace(f(with_default), {constant(1)});
  for (const auto& [x, expected] :
       std::vector<std::pair<int, int>>{{-3, 3}, {4, 8}, {20, 99}}) {
    EXPECT_EQ(f(with_default)({constant(x)})[0].item<int32_t>(), expected);
    EXPECT_EQ(interpret(*graph, std::vector{constant(x)})[0].item<int32_t>(), expected);
  }
  EXPECT_THROW(f({})({constant(20)}), InvalidArgumentError);
  EXPECT_THROW(interpret(*trace(f({}), {constant(1)}), std::vector{constant(20)}),
               InvalidArgumentError);
  EXPECT_THROW(f({.exclusive = true})({constant(-3)}), InvalidArgumentError);
}

}  // namespace
}  // namespace tandem
