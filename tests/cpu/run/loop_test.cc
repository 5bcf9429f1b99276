// Long loops: what a turn costs does not grow with the number of turns, which is counted
// in launches and copies; and loops that never end can be ended.
#include <gtest/gtest.h>

#include "base/interrupt.h"
#include "tandem/function.h"
#include "tandem/record.h"
#include "tandem/tandem.h"
#include "tensor/tensor_list.h"

namespace tandem {
namespace {

using Tensors = std::vector<Tensor>;

// x → w·tanh(x), n times; three values of each turn are kept for the gradient.
Tensor recur(const Tensor& x, const Tensor& n, const Variable& w) {
  return while_loop([&](const Tensors& s) { return s[0] < n; },
                    [&](const Tensors& s) {
                      return Tensors{s[0] + 1, matmul(tanh(s[1]) * cos(s[1]), w.read())};
                    },
                    {constant(0), x})[1];
}

struct Counts {
  int64_t events = 0;
  int64_t copied = 0;
  friend bool operator==(const Counts&, const Counts&) = default;
};

template <class Body>
Counts count(const Body& body) {
  const int64_t before = TensorList::copied_elements();
  start_recording();
  body();
  Counts counts;
  for (const RecordedEvent& e : stop_recording()) counts.events += e.kind == "op";
  counts.copied = TensorList::copied_elements() - before;
  return counts;
}

class LongLoop : public ::testing::Test {
 protected:
  const Variable w{constant({{0.5f, 0.1f}, {-0.2f, 0.7f}})};
  const Tensor at = constant({{0.3f, -0.4f}});
};

TEST_F(LongLoop, AGradientCostsTheSameForEveryTurn) {
  auto f = function([&](Tensor x, Tensor n) { return reduce_sum(recur(x, n, w)); });
  const auto run = [&](int turns) {
    GradientTape tape;
    tape.watch(at);
    tape.gradient(f(at, constant(turns)), std::vector<Source>{at, w});
  };
  run(3);
  const Counts a = count([&] { run(100); }), b = count([&] { run(200); }),
               c = count([&] { run(300); });
  EXPECT_GT(a.events, 300);
  EXPECT_EQ(b.events - a.events, c.events - b.events);
  // Lists that begin as one part once, however long they get.
  EXPECT_LT(c.copied, 100);
}

TEST_F(LongLoop, GradientsInsideAFunctionToo) {
  auto f = function([&](Tensor x, Tensor n) {
    GradientTape tape;
    tape.watch(x);
    return tape.gradient(reduce_sum(recur(x, n, w)), x).dense();
  });
  f(at, constant(3));
  const Counts a = count([&] { f(at, constant(100)); });
  const Counts b = count([&] { f(at, constant(200)); });
  const Counts c = count([&] { f(at, constant(300)); });
  EXPECT_EQ(b.events - a.events, c.events - b.events);
  EXPECT_LT(c.copied, 100);
}

TEST_F(LongLoop, SecondDerivativesToo) {
  auto f = function([&](Tensor x, Tensor n) { return reduce_sum(recur(x, n, w)); });
  const auto second = [&](int turns) {
    GradientTape outer;
    outer.watch(at);
    GradientTape inner;
    inner.watch(at);
    const Tensor g = inner.gradient(f(at, constant(turns)), at).dense();
    return outer.gradient(reduce_sum(square(g)), at).dense();
  };
  second(3);
  const Counts a = count([&] { second(50); }), b = count([&] { second(100); }),
               c = count([&] { second(150); });
  EXPECT_EQ(b.events - a.events, c.events - b.events);
  EXPECT_LT(c.copied, 1000);
}

TEST_F(LongLoop, NestedLoopsToo) {
  auto f = function([&](Tensor x, Tensor n) {
    return reduce_sum(while_loop(
        [&](const Tensors& s) { return s[0] < n; },
        [&](const Tensors& s) { return Tensors{s[0] + 1, recur(s[1], constant(4), w)}; },
        {constant(0), x})[1]);
  });
  const auto run = [&](int turns) {
    GradientTape tape;
    tape.watch(at);
    tape.gradient(f(at, constant(turns)), at);
  };
  run(3);
  const Counts a = count([&] { run(50); }), b = count([&] { run(100); }),
               c = count([&] { run(150); });
  EXPECT_EQ(b.events - a.events, c.events - b.events);
  // Each turn of the outer loop makes its own lists, of a few elements.
  EXPECT_LE(c.copied, 2 * b.copied);
}

TEST_F(LongLoop, AVariableThatIsNotWrittenIsReadOnce) {
  auto f = function([&](Tensor x, Tensor n) { return reduce_sum(recur(x, n, w)); });
  GradientTape tape;
  tape.watch(at);
  const Gradient g = tape.gradient(f(at, constant(5)), w);
  const std::string plan = f.explain();
  EXPECT_NE(plan.find("TensorListPopBack"), plan.npos) << plan;
  EXPECT_EQ(plan.find("TensorListPopBack variant[] float32[2,2]"), plan.npos) << plan;
  // The same number as without a loop.
  GradientTape eager;
  Tensor y = at;
  for (int i = 0; i < 5; ++i) y = matmul(tanh(y) * cos(y), w.read());
  const auto expected = eager.gradient(reduce_sum(y), w).dense().to_vector<float>();
  const auto got = g.dense().to_vector<float>();
  for (size_t i = 0; i < expected.size(); ++i) EXPECT_NEAR(got[i], expected[i], 1e-6);
}

TEST_F(LongLoop, AVariableThatIsWrittenIsReadInEveryTurn) {
  Variable v(constant(1.f));
  auto f = function([&](Tensor n) {
    return while_loop([&](const Tensors& s) { return s[0] < n; },
                      [&](const Tensors& s) {
                        v.assign_add(constant(1.f));
                        return Tensors{s[0] + 1, s[1] + v.read()};
                      },
                      {constant(0), constant(0.f)})[1];
  });
  EXPECT_EQ(f(constant(3)).item<float>(), 2 + 3 + 4);
}

// ---- Interrupts

struct Stop {};

TEST_F(LongLoop, EndlessOnesEndWhenTheyAreInterrupted) {
  Variable turns(constant(0));
  auto plain = function([&](Tensor x, Tensor limit) {
    return while_loop([&](const Tensors& s) { return reduce_sum(s[0]) < limit; },
                      [&](const Tensors& s) {
                        turns.assign_add(constant(1));
                        return Tensors{s[0] * 1.f};
                      },
                      {x})[0];
  });
  // Shapes that change: every turn is a call of its own.
  auto growing = function([](Tensor x, Tensor limit) {
    return while_loop(
        [&](const Tensors& s) { return reduce_sum(s[0]) < limit; },
        [](const Tensors& s) { return Tensors{boolean_mask(s[0], s[0] < 9.f)}; }, {x},
        {.shape_invariants = {Shape{kUnknownDim}}})[0];
  });
  const Tensor ones = constant({1.f, 1.f});
  {
    const InterruptScope scope([](void*) { throw Stop(); });
    EXPECT_THROW(plain(ones, constant(3.f)), Stop);
  }
  EXPECT_EQ(plain(ones, constant(1.f)).to_vector<float>(), std::vector<float>({1, 1}));
  {
    const InterruptScope scope([](void*) { throw Stop(); });
    EXPECT_THROW(growing(ones, constant(3.f)), Stop);
  }
  EXPECT_EQ(growing(ones, constant(1.f)).to_vector<float>(), std::vector<float>({1, 1}));
  EXPECT_GT(turns.read().item<int32_t>(), 0);
}

TEST_F(LongLoop, NothingIsAskedWhereNobodyListens) {
  auto f = function([&](Tensor x, Tensor n) { return reduce_sum(recur(x, n, w)); });
  int asked = 0;
  {
    const InterruptScope scope([](void* n) { ++*static_cast<int*>(n); }, &asked);
    f(at, constant(3));
  }
  poll_interrupt();
  poll_interrupt_now();
  EXPECT_EQ(asked, 0);  // a short call is over before it is time to ask
}

}  // namespace
}  // namespace tandem
