// Loops over rows and lists, compiled, beside the same loops run at once: values and
// gradients of every order, state that changes in place, lists that are shared, ends that
// depend on data, errors in a turn.
#include <functional>

#include <gtest/gtest.h>

#include "tandem/function.h"
#include "tandem/record.h"
#include "tandem/tandem.h"
#include "tandem/tensor_array.h"

namespace tandem {
namespace {

using Tensors = std::vector<Tensor>;
using Body = std::function<Tensor(const Tensor&)>;

void expect_near(const Tensor& got, const Tensor& expected, const char* what) {
  ASSERT_EQ(got.shape(), expected.shape()) << what;
  const auto a = got.to_vector<float>(), b = expected.to_vector<float>();
  for (size_t i = 0; i < a.size(); ++i) EXPECT_NEAR(a[i], b[i], 1e-5) << what << " " << i;
}

Tensor gradient(const Body& body, const Tensor& x) {
  GradientTape tape;
  tape.watch(x);
  return tape.gradient(body(x), x).dense();
}

Tensor second_gradient(const Body& body, const Tensor& x) {
  return gradient(
      [&](const Tensor& at) { return reduce_sum(square(gradient(body, at))); }, x);
}

// Value, gradient and second gradient of a function to a scalar, with the tapes inside
// the compiled function and around it, twice.
void check(const Body& body, const Tensor& x) {
  auto f = function([&](Tensor at) { return body(at); });
  auto first = function([&](Tensor at) { return gradient(body, at); });
  auto second = function([&](Tensor at) { return second_gradient(body, at); });
  const Tensor value = body(x), once = gradient(body, x),
               twice = second_gradient(body, x);
  const auto before = x.to_vector<float>();
  for (int call = 0; call < 2; ++call) {
    expect_near(f(x), value, "value");
    expect_near(first(x), once, "gradient inside");
    expect_near(gradient([&](const Tensor& at) { return f(at); }, x), once,
                "gradient outside");
    expect_near(second(x), twice, "second gradient inside");
    expect_near(second_gradient([&](const Tensor& at) { return f(at); }, x), twice,
                "second gradient outside");
  }
  EXPECT_EQ(x.to_vector<float>(), before);
}

// state → turn(state, i) for i < n.
Tensor loop(int n, const Tensor& start,
            const std::function<Tensor(const Tensor&, const Tensor&)>& turn) {
  return while_loop([&](const Tensors& s) { return s[0] < n; },
                    [&](const Tensors& s) { return Tensors{s[0] + 1, turn(s[1], s[0])}; },
                    {constant(0), start})[1];
}

Tensor numbers(const Shape& shape) {
  std::vector<float> values;
  for (int64_t i = 0; i < shape.num_elements(); ++i) {
    values.push_back(0.1f * static_cast<float>((i * 7) % 11) - 0.4f);
  }
  return reshape(constant(values), shape);
}

const Tensor& start() {
  static const Tensor zero = constant({0.1f, -0.2f});
  return zero;
}

TEST(Scan, OverTheRowsOfATensor) {
  check(
      [](const Tensor& x) {
        return reduce_sum(loop(6, start(), [&](const Tensor& s, const Tensor& i) {
          return sin(s + gather(x, i));
        }));
      },
      numbers({6, 2}));
}

TEST(Scan, OverTheSecondDimension) {
  check(
      [](const Tensor& x) {
        const Tensor zero = constant({{0.1f, 0.2f}, {0.3f, 0.1f}, {0.2f, 0.f}});
        return reduce_sum(loop(4, zero, [&](const Tensor& s, const Tensor& i) {
          return sin(s * gather(x, i, {.axis = 1}));
        }));
      },
      numbers({3, 4, 2}));
}

TEST(Scan, RowsThatAreReadTwiceAndSeveralAtOnce) {
  check(
      [](const Tensor& x) {
        return reduce_sum(loop(4, start(), [&](const Tensor& s, const Tensor& i) {
          const Tensor both = stack({i, i + 1, constant(1)}, {.axis = 0});
          return sin(s * gather(x, constant(2)) +
                     reduce_sum(gather(x, both), {.axis = {0}}));
        }));
      },
      numbers({5, 2}));
}

TEST(Scan, TheSumOfRowsIsAddedToWhereItIs) {
  auto f = function([](Tensor x) {
    return gradient(
        [](const Tensor& at) {
          return reduce_sum(loop(5, start(), [&](const Tensor& s, const Tensor& i) {
            return sin(s + gather(at, i));
          }));
        },
        x);
  });
  f(numbers({5, 2}));
  const std::string plan = f.explain();
  EXPECT_NE(plan.find("TensorScatterAdd float32[5,2]"), plan.npos) << plan;
  EXPECT_EQ(plan.find("IndexedSlicesToDense"), plan.npos) << plan;
}

TEST(Scan, OverTensorArrays) {
  check(
      [](const Tensor& x) {
        const TensorArray in = TensorArray({.dtype = float32, .size = 6}).unstack(x);
        const TensorArray out({.dtype = float32, .size = 6, .element_shape = {2}});
        const Tensors end = while_loop(
            [&](const Tensors& s) { return s[0] < 6; },
            [&](const Tensors& s) {
              const Tensor next = sin(s[1] + in.read(s[0])) * in.read(5 - s[0]);
              return Tensors{s[0] + 1, next,
                             out.from_flow(s[2]).write(s[0], next).flow()};
            },
            {constant(0), start(), out.flow()});
        return reduce_sum(square(out.from_flow(end[2]).stack()) * x);
      },
      numbers({6, 2}));
}

TEST(Scan, ElementsThatNobodyReadHaveNoGradient) {
  check(
      [](const Tensor& x) {
        const TensorArray in = TensorArray({.dtype = float32, .size = 6}).unstack(x);
        return reduce_sum(loop(2, start(), [&](const Tensor& s, const Tensor& i) {
          return sin(s * in.read(i * 2));
        }));
      },
      numbers({6, 2}));
}

TEST(Scan, NestedLoops) {
  check(
      [](const Tensor& x) {
        return reduce_sum(loop(3, start(), [&](const Tensor& s, const Tensor& i) {
          return loop(2, s, [&](const Tensor& t, const Tensor& j) {
            return sin(t * 1.1f + gather(x, i * 2 + j));
          });
        }));
      },
      numbers({6, 2}));
}

TEST(Scan, BranchesInTurns) {
  check(
      [](const Tensor& x) {
        return reduce_sum(loop(5, start(), [&](const Tensor& s, const Tensor& i) {
          return cond(
              reduce_sum(s) > 0.1f, [&] { return cos(s) * gather(x, i); },
              [&] { return s + gather(x, i) * gather(x, i); });
        }));
      },
      numbers({5, 2}));
}

TEST(Scan, TheEndDependsOnData) {
  check(
      [](const Tensor& x) {
        const Tensors end =
            while_loop([&](const Tensors& s) { return reduce_sum(s[1]) < 3.f; },
                       [&](const Tensors& s) {
                         return Tensors{s[0] + 1, s[1] * 1.3f + square(gather(x, s[0]))};
                       },
                       {constant(0), constant({0.5f, 0.5f})}, {.maximum_iterations = 6});
        return reduce_sum(end[1] * cast(end[0], float32));
      },
      numbers({6, 2}));
}

TEST(Scan, NoTurnAtAll) {
  check(
      [](const Tensor& x) {
        const Tensor none =
            loop(0, reduce_sum(square(x), {.axis = {0}}),
                 [&](const Tensor& s, const Tensor& i) { return s * gather(x, i); });
        return reduce_sum(square(none));
      },
      numbers({3, 2}));
}

// ---- State

TEST(Scan, ValuesThatChangePlaces) {
  auto f = function([](Tensor a, Tensor b, Tensor n) {
    const Tensors end = while_loop(
        [&](const Tensors& s) { return s[0] < n; },
        [](const Tensors& s) { return Tensors{s[0] + 1, s[2], s[1] + s[2], s[1]}; },
        {constant(0), a, b, b});
    return stack({end[1], end[2], end[3]}, {.axis = 0});
  });
  const Tensor a = constant({0.f, 1.f}), b = constant({1.f, 1.f});
  for (int call = 0; call < 2; ++call) {
    EXPECT_EQ(f(a, b, constant(0)).to_vector<float>(),
              std::vector<float>({0, 1, 1, 1, 1, 1}));
    EXPECT_EQ(f(a, b, constant(5)).to_vector<float>(),
              std::vector<float>({5, 8, 8, 13, 3, 5}));
  }
  EXPECT_EQ(a.to_vector<float>(), std::vector<float>({0, 1}));
}

TEST(Scan, WhatALoopBeginsWithIsNotChanged) {
  const Tensor captured = constant({1.f, 2.f});
  const Variable v(constant({3.f, 4.f}));
  auto f = function([&](Tensor x, Tensor n) {
    const Tensor snapshot = v.read();
    const Tensors end =
        while_loop([&](const Tensors& s) { return s[0] < n; },
                   [](const Tensors& s) {
                     return Tensors{s[0] + 1, s[1] + 1.f, s[2] * 2.f, s[3] - 1.f};
                   },
                   {constant(0), captured, x, snapshot});
    return end[1] + end[2] + end[3] + captured + x + snapshot;
  });
  const Tensor x = constant({5.f, 6.f});
  for (int call = 0; call < 3; ++call) {
    EXPECT_EQ(f(x, constant(2)).to_vector<float>(),
              std::vector<float>({3 + 20 + 1 + 1 + 5 + 3, 4 + 24 + 2 + 2 + 6 + 4}));
  }
  EXPECT_EQ(captured.to_vector<float>(), std::vector<float>({1, 2}));
  EXPECT_EQ(v.read().to_vector<float>(), std::vector<float>({3, 4}));
  EXPECT_EQ(x.to_vector<float>(), std::vector<float>({5, 6}));
}

TEST(Scan, ListsThatAreSharedStayAsTheyWere) {
  auto f = function([](Tensor x) {
    const TensorArray a = TensorArray({.dtype = float32, .size = 4}).unstack(x);
    const Tensors end = while_loop(
        [](const Tensors& s) { return s[0] < 3; },
        [&](const Tensors& s) {
          // Both go on from one list, and the two change places.
          const TensorArray now = a.from_flow(s[1]);
          return Tensors{s[0] + 1, now.write(s[0], now.read(s[0]) + 10.f).flow(),
                         now.write(s[0] + 1, constant(-1.f)).flow()};
        },
        {constant(0), a.flow(), a.flow()});
    return stack({a.stack(), a.from_flow(end[1]).stack(), a.from_flow(end[2]).stack()},
                 {.axis = 0});
  });
  const Tensor x = constant({1.f, 2.f, 3.f, 4.f});
  for (int call = 0; call < 2; ++call) {
    EXPECT_EQ(f(x).to_vector<float>(),
              std::vector<float>({1, 2, 3, 4, 11, 12, 13, 4, 11, 12, 3, -1}));
  }
  EXPECT_EQ(x.to_vector<float>(), std::vector<float>({1, 2, 3, 4}));
}

// ---- Counters

template <class T>
int64_t turns(T from, T to, T step, bool up, bool equal) {
  auto f = function([=](Tensor start, Tensor end) {
    const auto on = [&](const Tensor& i) {
      return up ? (equal ? i <= end : i < end) : (equal ? i >= end : i > end);
    };
    return while_loop([&](const Tensors& s) { return on(s[0]); },
                      [&](const Tensors& s) {
                        return Tensors{up ? s[0] + step : s[0] - step, s[1] + 1};
                      },
                      {start, constant(int64_t{0})})[1];
  });
  const int64_t counted = f(constant(from), constant(to)).template item<int64_t>();
  // A recording times every kernel, so that they all run.
  start_recording();
  const int64_t recorded = f(constant(from), constant(to)).template item<int64_t>();
  stop_recording();
  EXPECT_EQ(counted, recorded);
  return counted;
}

TEST(Scan, CountersOfEveryKind) {
  EXPECT_EQ(turns<int32_t>(0, 10, 3, true, false), 4);
  EXPECT_EQ(turns<int32_t>(0, 9, 3, true, true), 4);
  EXPECT_EQ(turns<int64_t>(5, -5, 2, false, false), 5);
  EXPECT_EQ(turns<int64_t>(5, -5, 2, false, true), 6);
  EXPECT_EQ(turns<int64_t>(int64_t{1} << 40, (int64_t{1} << 40) + 3, 1, true, false), 3);
  // Numbers wrap around, as they do outside of loops.
  EXPECT_EQ(turns<int32_t>(INT32_MAX - 1, 0, -1, false, false), 2);
}

// ---- Errors

TEST(Scan, AnErrorInATurnEndsTheCallAlone) {
  auto f = function([](Tensor x, Tensor n) {
    return while_loop(
        [&](const Tensors& s) { return s[0] < n; },
        [&](const Tensors& s) { return Tensors{s[0] + 1, s[1] + gather(x, s[0])}; },
        {constant(0), constant({0.f, 0.f})})[1];
  });
  auto lists = function([](Tensor x, Tensor n) {
    const TensorArray in = TensorArray({.dtype = float32, .size = 3}).unstack(x);
    return while_loop(
        [&](const Tensors& s) { return s[0] < n; },
        [&](const Tensors& s) { return Tensors{s[0] + 1, s[1] + in.read(s[0])}; },
        {constant(0), constant({0.f, 0.f})})[1];
  });
  const Tensor x = constant({{1.f, 2.f}, {3.f, 4.f}, {5.f, 6.f}});
  for (int call = 0; call < 2; ++call) {
    EXPECT_THROW(f(x, constant(4)).wait(), InvalidArgumentError);
    EXPECT_EQ(f(x, constant(3)).to_vector<float>(), std::vector<float>({9, 12}));
    EXPECT_THROW(lists(x, constant(4)).wait(), Error);
    EXPECT_EQ(lists(x, constant(3)).to_vector<float>(), std::vector<float>({9, 12}));
  }
}

}  // namespace
}  // namespace tandem
