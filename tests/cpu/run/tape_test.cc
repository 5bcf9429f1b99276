// GradientTape: what is recorded, what is asked, and what comes back.
#include <thread>

#include <gtest/gtest.h>

#include "support/alone.h"
#include "support/numeric.h"

namespace tandem {
namespace {

using testing::expect_close;

double number(const Tensor& t) { return t.item<double>(); }

TEST(Tape, ATensorIsWatchedWhenAsked) {
  const Tensor x = constant(3.0);
  GradientTape tape;
  tape.watch(x);
  const Tensor y = x * x;
  const auto [dx] = tape.gradient(y, {x});
  EXPECT_EQ(number(dx), 6);
}

TEST(Tape, WithoutWatchingThereIsNoGradient) {
  const Tensor x = constant(3.0);
  GradientTape tape;
  const Tensor y = x * x;
  const auto [dx] = tape.gradient(y, {x});
  EXPECT_FALSE(dx.defined());
}

TEST(Tape, IntegersAreNotWatched) {
  const Tensor i = constant(3);
  GradientTape tape;
  tape.watch(i);
  const Tensor y = i * i;
  const auto [di] = tape.gradient(y, {i});
  EXPECT_FALSE(di.defined());
}

TEST(Tape, TrainableVariablesAreWatchedByThemselves) {
  const Variable w(constant(2.0)), fixed(constant(5.0), {.trainable = false});
  GradientTape tape;
  const Tensor y = w.read() * w.read() * fixed.read();
  const auto [dw, dfixed] = tape.gradient(y, {w, fixed});
  EXPECT_EQ(number(dw), 20);
  EXPECT_FALSE(dfixed.defined());
}

TEST(Tape, AVariableThatIsNotTrainableCanBeWatched) {
  const Variable fixed(constant(5.0), {.trainable = false});
  GradientTape tape;
  tape.watch(fixed);
  const Tensor y = fixed.read() * 3;
  const auto [d] = tape.gradient(y, {fixed});
  EXPECT_EQ(number(d), 3);
}

TEST(Tape, WatchingVariablesCanBeTurnedOff) {
  const Variable v(constant(2.0)), w(constant(3.0));
  GradientTape tape({.watch_accessed_variables = false});
  tape.watch(w);
  const Tensor y = v.read() * w.read();
  const auto [dv, dw] = tape.gradient(y, {v, w});
  EXPECT_FALSE(dv.defined());
  EXPECT_EQ(number(dw), 2);
}

TEST(Tape, WatchedVariablesAreListedInOrderOfUse) {
  const Variable a(constant(1.0), {.name = "a"}), b(constant(1.0), {.name = "b"});
  GradientTape tape;
  b.read();
  a.read();
  b.read();
  const std::vector<Variable> watched = tape.watched_variables();
  ASSERT_EQ(watched.size(), 2u);
  EXPECT_EQ(watched[0].name(), "b");
  EXPECT_EQ(watched[1].name(), "a");
}

TEST(Tape, AVariableUsedTwiceAddsUp) {
  const Variable w(constant(3.0));
  GradientTape tape;
  const Tensor y = w.read() * 2 + exp(w.read() * 0) * w.read();
  const auto [dw] = tape.gradient(y, {w});
  EXPECT_EQ(number(dw), 3);
}

TEST(Tape, AnUnaskedVariableCostsNothingElse) {
  const Variable v(constant(2.0)), w(constant(3.0));
  GradientTape tape;
  const Tensor y = v.read() * w.read();
  const auto [dv] = tape.gradient(y, {v});
  EXPECT_EQ(number(dv), 3);
}

TEST(Tape, AskingTwiceNeedsAPersistentTape) {
  const Variable w(constant(2.0));
  GradientTape once;
  const Tensor y = w.read() * w.read();
  EXPECT_TRUE(once.gradient(y, {w})[0].defined());
  EXPECT_ERROR(
      once.gradient(y, {w}), RuntimeStateError,
      "A non-persistent GradientTape can only be used to compute one set of gradients");
  EXPECT_THROW(once.jacobian(y, w), RuntimeStateError);

  GradientTape often({.persistent = true});
  const Tensor z = w.read() * w.read();
  const Tensor u = z * z;
  EXPECT_EQ(number(often.gradient(z, {w})[0]), 4);
  EXPECT_EQ(number(often.gradient(u, {w})[0]), 32);
  EXPECT_EQ(number(often.gradient(u, {z})[0]), 8);
}

TEST(Tape, SeveralTargetsAddUp) {
  const Variable w(constant(2.0));
  GradientTape tape;
  const std::vector<Tensor> targets{w.read() * 3, w.read() * w.read()};
  const std::vector<Source> sources{w};
  const auto result = tape.gradient(targets, sources);
  EXPECT_EQ(number(result[0]), 7);
}

TEST(Tape, OutputGradientsScaleTheTargets) {
  const Tensor x = constant({1.0, 2.0});
  GradientTape tape;
  tape.watch(x);
  const Tensor y = x * x;
  const auto [dx] =
      tape.gradient(y, {x}, {.output_gradients = {constant({10.0, 100.0})}});
  expect_close(dx, {20, 400});
  GradientTape other;
  EXPECT_ERROR(other.gradient(y, {x}, {.output_gradients = {x, x}}), ValueError,
               "2 output gradients for 1 targets");
}

TEST(Tape, GradientsOfIntermediates) {
  const Tensor x = constant(3.0);
  GradientTape tape;
  tape.watch(x);
  const Tensor y = x * x;
  const Tensor z = y * y;
  const auto [dx, dy, dz] = tape.gradient(z, {x, y, z});
  EXPECT_EQ(number(dx), 108);
  EXPECT_EQ(number(dy), 18);
  EXPECT_EQ(number(dz), 1);
}

TEST(Tape, UnconnectedSourcesGiveNothingOrZeros) {
  const Variable w(constant({{1.0, 2.0}}));
  const Tensor x = constant({1.0, 2.0, 3.0}), t = constant(1.0);
  GradientTape tape({.persistent = true});
  tape.watch(x);
  tape.watch(t);
  const Tensor y = t * 2;
  EXPECT_FALSE(tape.gradient(y, {x})[0].defined());
  EXPECT_FALSE(tape.gradient(y, {w})[0].defined());
  const auto [dx, dw] = tape.gradient(y, {x, w}, {.unconnected = Unconnected::kZero});
  expect_close(dx, {0, 0, 0});
  EXPECT_EQ(Tensor(dw).shape(), (Shape{1, 2}));
}

TEST(Tape, GradientsStopAtIntegersAndComparisons) {
  const Tensor x = constant({1.5, -2.5});
  GradientTape tape;
  tape.watch(x);
  const Tensor y =
      cast(cast(x, int32), float64) + cast(greater(x, zeros_like(x)), float64);
  EXPECT_FALSE(tape.gradient(y, {x})[0].defined());
}

TEST(Tape, NothingIsRecordedWhileStopped) {
  const Variable w(constant(2.0));
  GradientTape tape;
  Tensor inside;
  tape.stop_recording([&] { inside = w.read() * w.read(); });
  const Tensor y = w.read() * 3 + inside;
  const auto [dw] = tape.gradient(y, {w});
  EXPECT_EQ(number(dw), 3);
}

TEST(Tape, RecordingGoesOnAfterAnExceptionWhileStopped) {
  const Variable w(constant(2.0));
  GradientTape tape;
  EXPECT_THROW(tape.stop_recording([] { throw InvalidArgumentError("x"); }),
               InvalidArgumentError);
  const Tensor y = w.read() * 3;
  EXPECT_EQ(number(tape.gradient(y, {w})[0]), 3);
}

TEST(Tape, StopEndsRecordingButNotTheRecord) {
  const Variable w(constant(2.0));
  GradientTape tape;
  const Tensor y = w.read() * 3;
  tape.stop();
  const Tensor z = y * y;
  EXPECT_FALSE(GradientTape({.persistent = true}).gradient(z, {w})[0].defined());
  EXPECT_EQ(number(tape.gradient(y, {w})[0]), 3);
}

TEST(Tape, ResetForgets) {
  const Variable w(constant(2.0));
  GradientTape tape;
  const Tensor y = w.read() * 3;
  tape.reset();
  EXPECT_TRUE(tape.watched_variables().empty());
  const Tensor z = w.read() * 4;
  const std::vector<Tensor> targets{y, z};
  const std::vector<Source> sources{w};
  EXPECT_EQ(number(tape.gradient(targets, sources)[0]), 4);
}

TEST(Tape, NestedTapesGiveSecondDerivatives) {
  const Tensor x = constant(3.0);
  GradientTape outer;
  outer.watch(x);
  Tensor dx;
  {
    GradientTape inner;
    inner.watch(x);
    const Tensor y = x * x * x;
    dx = inner.gradient(y, {x})[0];
  }
  EXPECT_EQ(number(dx), 27);
  EXPECT_EQ(number(outer.gradient(dx, {x})[0]), 18);
}

TEST(Tape, ThreeLevelsGiveThirdDerivatives) {
  const Variable x(constant(2.0));
  GradientTape first;
  Tensor d2;
  {
    GradientTape second;
    Tensor d1;
    {
      GradientTape third;
      const Tensor v = x.read();
      d1 = third.gradient(v * v * v * v, {x})[0];
    }
    d2 = second.gradient(d1, {x})[0];
  }
  EXPECT_EQ(number(d2), 48);
  EXPECT_EQ(number(first.gradient(d2, {x})[0]), 48);
}

TEST(Tape, APersistentTapeRecordsItsOwnGradients) {
  const Tensor x = constant(3.0);
  GradientTape tape({.persistent = true});
  tape.watch(x);
  const Tensor y = x * x * x;
  const Tensor dx = tape.gradient(y, {x})[0];
  EXPECT_EQ(number(tape.gradient(dx, {x})[0]), 18);
}

TEST(Tape, BroadcastingIsUndone) {
  const Tensor row = constant({1.0, 2.0}), column = constant({{1.0}, {2.0}, {3.0}});
  GradientTape tape;
  tape.watch(row);
  tape.watch(column);
  const Tensor y = row * column;
  const auto [drow, dcolumn] = tape.gradient(y, {row, column});
  expect_close(drow, {6, 6});
  expect_close(dcolumn, {3, 3, 3});
  EXPECT_EQ(Tensor(dcolumn).shape(), (Shape{3, 1}));
}

TEST(Tape, StopGradientCutsOnePath) {
  const Tensor x = constant(3.0);
  GradientTape tape;
  tape.watch(x);
  const Tensor y = x * stop_gradient(x);
  EXPECT_EQ(number(tape.gradient(y, {x})[0]), 3);
}

TEST(Tape, ATargetThatIsItsOwnSourceHasGradientOne) {
  const Tensor x = constant({1.0, 2.0});
  GradientTape tape;
  tape.watch(x);
  expect_close(tape.gradient(x, {x})[0], {1, 1});
}

TEST(Tape, UndefinedTensorsAreRefused) {
  GradientTape tape({.persistent = true});
  const Tensor x = constant(1.0);
  EXPECT_THROW(tape.gradient(x, {Tensor()}), InvalidArgumentError);
  EXPECT_THROW(tape.gradient(Tensor(), {x}), InvalidArgumentError);
  EXPECT_THROW(tape.watch(Tensor()), InvalidArgumentError);
}

TEST(Tape, ATapeHearsOnlyItsOwnThread) {
  const Variable w(constant(2.0));
  GradientTape tape;
  Tensor y;
  std::thread([&] { y = w.read() * w.read(); }).join();
  EXPECT_TRUE(tape.watched_variables().empty());
  EXPECT_FALSE(tape.gradient(y, {w})[0].defined());
}

TEST(Tape, ThreadsHaveTapesOfTheirOwn) {
  const Variable w(constant(3.0));
  std::vector<double> results(4);
  std::vector<std::thread> threads;
  for (size_t t = 0; t < results.size(); ++t) {
    threads.emplace_back([&results, &w, t] {
      for (int i = 0; i < 50; ++i) {
        GradientTape tape;
        const Tensor y = w.read() * w.read() * static_cast<double>(t + 1);
        results[t] = number(tape.gradient(y, {w})[0]);
      }
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(results, (std::vector<double>{6, 12, 18, 24}));
}

TEST(Tape, AFailingGradientLeavesTheTapeUsable) {
  const Tensor x = constant({1.0, 2.0});
  GradientTape tape({.persistent = true});
  tape.watch(x);
  const Tensor y = x * x;
  EXPECT_THROW(tape.gradient(y, {x}, {.output_gradients = {constant({1.f, 2.f})}}),
               InvalidArgumentError);
  expect_close(tape.gradient(y, {x})[0], {2, 4});
}

TEST(Tape, TheReadmesExample) {
  const Tensor a = constant({{1.f, 2.f}, {3.f, 4.f}});
  const Variable w(random::normal({2, 2}));
  GradientTape tape;
  auto loss = reduce_mean(square(matmul(a, w)));
  auto [dw] = tape.gradient(loss, {w});
  EXPECT_EQ(dw.dense().shape(), (Shape{2, 2}));
}

}  // namespace
}  // namespace tandem
