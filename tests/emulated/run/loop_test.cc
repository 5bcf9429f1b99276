// Loops over values of a device: what crosses between devices does not grow with the
// number of turns. Counters stay with the host that asks for them, elements of lists stay
// with the device that makes and uses them.
#include "emulated/run/gpu.h"
#include "tandem/function.h"

namespace tandem {
namespace {

using testing::filled;
using testing::Floats;
using testing::floats;
using Tensors = std::vector<Tensor>;

template <class Body>
int64_t copies(const Body& body) {
  const int64_t before = copy_stats().count;
  body();
  synchronize();
  return copy_stats().count - before;
}

template <class F>
void expect_no_copies_per_turn(const F& run) {
  run(2);  // constants cross when the plan is made
  const int64_t few = copies([&] { run(10); }), many = copies([&] { run(1000); });
  EXPECT_EQ(few, many);
  EXPECT_LT(many, 8);
}

TEST(LoopsOnADevice, CountersStayOnTheHost) {
  auto f = function([](Tensor x, Tensor n) {
    const DeviceScope scope("/GPU:0");
    return while_loop(
        [&](const Tensors& s) { return s[0] < n; },
        [&](const Tensors& s) { return Tensors{s[0] + constant(1), s[1] * 1.f}; },
        {constant(0), x})[1];
  });
  const Tensor x = filled("/GPU:0", {4}, 2.f);
  expect_no_copies_per_turn([&](int n) { f(x, constant(n)); });
  EXPECT_EQ(floats(f(x, constant(5))), Floats(4, 2.f));
  EXPECT_NE(f(x, constant(5)).device().find("GPU:0"), std::string::npos);
}

TEST(LoopsOnADevice, ALimitOnTheDeviceIsFetchedOnce) {
  auto f = function([](Tensor x, Tensor n) {
    const DeviceScope scope("/GPU:0");
    return while_loop(
        [&](const Tensors& s) { return s[0] < n; },
        [&](const Tensors& s) { return Tensors{s[0] + constant(1), s[1] * 1.f}; },
        {constant(0), x})[1];
  });
  const Tensor x = filled("/GPU:0", {4}, 2.f);
  expect_no_copies_per_turn(
      [&](int n) { f(x, testing::on("/GPU:0", [&] { return identity(constant(n)); })); });
}

TEST(LoopsOnADevice, ElementsOfArraysStay) {
  auto f = function([](Tensor x, Tensor n) {
    const DeviceScope scope("/GPU:0");
    const TensorArray begin({.size = 4, .element_shape = {4}});
    const auto end =
        while_loop([&](const Tensors& s) { return s[0] < n; },
                   [&](const Tensors& s) {
                     const Tensor at = floormod(s[0], constant(4));
                     const TensorArray now = begin.from_flow(s[1]).write(at, x * 2.f);
                     return Tensors{s[0] + constant(1), now.flow(), s[2] + now.read(at)};
                   },
                   {constant(0), begin.flow(), x});
    return std::pair(begin.from_flow(end[1]).stack(), end[2]);
  });
  const Tensor x = filled("/GPU:0", {4}, 2.f);
  expect_no_copies_per_turn([&](int n) { f(x, constant(n)); });
  const auto [rows, sum] = f(x, constant(5));
  EXPECT_EQ(floats(rows), Floats(16, 4.f));
  EXPECT_EQ(floats(sum), Floats(4, 22.f));
  EXPECT_NE(rows.device().find("GPU:0"), std::string::npos);
}

TEST(LoopsOnADevice, WhatGradientsKeepStays) {
  auto f = function([](Tensor x, Tensor n) {
    const DeviceScope scope("/GPU:0");
    return reduce_sum(while_loop(
        [&](const Tensors& s) { return s[0] < n; },
        [&](const Tensors& s) { return Tensors{s[0] + constant(1), sin(s[1]) * x}; },
        {constant(0), x})[1]);
  });
  const auto gradient = [&](const Tensor& x, int n) {
    GradientTape tape;
    tape.watch(x);
    return tape.gradient(f(x, constant(n)), x).dense();
  };
  const Tensor x = filled("/GPU:0", {3}, 0.75f);
  expect_no_copies_per_turn([&](int n) { gradient(x, n); });
  // The same numbers as on the host.
  const auto eager = [](int n) {
    const DeviceScope scope("/CPU:0");
    const Tensor on_host = fill({3}, constant(0.75f));
    GradientTape tape;
    tape.watch(on_host);
    Tensor y = on_host;
    for (int i = 0; i < n; ++i) y = sin(y) * on_host;
    return floats(tape.gradient(reduce_sum(y), on_host).dense());
  };
  const Floats got = floats(gradient(x, 6)), expected = eager(6);
  for (size_t i = 0; i < got.size(); ++i) EXPECT_NEAR(got[i], expected[i], 1e-5f);
}

TEST(LoopsOnADevice, GradientsInsideAFunctionKeepThemToo) {
  auto f = function([](Tensor x, Tensor n) {
    const DeviceScope scope("/GPU:0");
    GradientTape tape;
    tape.watch(x);
    const Tensor y = while_loop(
        [&](const Tensors& s) { return s[0] < n; },
        [&](const Tensors& s) { return Tensors{s[0] + constant(1), sin(s[1]) * x}; },
        {constant(0), x})[1];
    return tape.gradient(reduce_sum(y), x).dense();
  });
  const Tensor x = filled("/GPU:0", {3}, 0.75f);
  expect_no_copies_per_turn([&](int n) { f(x, constant(n)); });
}

TEST(LoopsOnADevice, AListOfBothKindsIsStillRight) {
  auto f = function([](Tensor x, Tensor on_host) {
    const TensorArray begin({.size = 2, .element_shape = {2}});
    const TensorArray one = begin.write(constant(0), x);
    return one.write(constant(1), on_host).stack();
  });
  const Tensor there = filled("/GPU:0", {2}, 1.f);
  const Tensor here = testing::on("/CPU:0", [] { return fill({2}, constant(5.f)); });
  EXPECT_EQ(floats(f(there, here)), Floats({1, 1, 5, 5}));
  EXPECT_EQ(floats(f(here, there)), Floats({5, 5, 1, 1}));
}

}  // namespace
}  // namespace tandem
