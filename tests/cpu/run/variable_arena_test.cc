// Arenas: variables that a function writes lie together, and every rule about reading
// and writing them stays. Runs again with emulated GPUs (tests/emulated/run).
#include "tensor/variable_arena.h"

#include <gtest/gtest.h>

#include "support/floats.h"
#include "tandem/tandem.h"
#include "tandem/train.h"

namespace tandem {
namespace {

using testing::Floats;
using testing::floats;

std::vector<VariableImpl*> impls(const std::vector<Variable>& variables) {
  std::vector<VariableImpl*> list;
  for (const Variable& v : variables) list.push_back(&variable_of(v.handle()));
  return list;
}

bool together(const std::vector<Variable>& variables) {
  const VariableHold hold(variable_of(variables[0].handle()));
  return one_piece(impls(variables)).has_value();
}

// The address of a variable's value, for comparisons.
const void* value_address(const Variable& v) {
  const VariableImpl& impl = variable_of(v.handle());
  LeaseSet leases;
  return impl.value.impl()->address(leases);
}

class Arena : public ::testing::Test {
 protected:
  // Where ops run without a scope: the CPU, or an emulated GPU.
  Variable a{zeros({3}) + 1.f, {.name = "a"}};
  Variable b{zeros({2, 5}) + 2.f, {.name = "b"}};
  Variable c{zeros({}) + 3.f, {.name = "c"}};
  TypedFunction<Tensor()> step = function([this] {
    a.assign_add(zeros({3}) + 1.f);
    b.assign(b.read() * 2.f);
    c.assign_sub(zeros({}) + 1.f);
    return reduce_sum(a.read());
  });
};

TEST_F(Arena, WhatAFunctionWritesIsPutTogetherWithItsContents) {
  EXPECT_FALSE(together({a, b, c}));
  step();
  const auto members = impls({a, b, c});
  for (const VariableImpl* v : members) {
    ASSERT_TRUE(v->arena);
    EXPECT_EQ(v->arena, members[0]->arena);
    EXPECT_TRUE(VariableArena::at_home(*v));
  }
  std::vector<Variable> in_order(3);
  for (const Variable& v : {a, b, c}) {
    in_order[variable_of(v.handle()).arena_slot] = v;
  }
  const VariableHold hold(*members[0]);
  const auto piece = one_piece(impls(in_order));
  ASSERT_TRUE(piece);
  EXPECT_EQ(piece->offset, 0u);
  EXPECT_GT(piece->bytes, 2 * kArenaAlignment);
  EXPECT_LE(piece->bytes, piece->memory->bytes());
}

TEST_F(Arena, StepsGoOnInPlace) {
  step();
  EXPECT_EQ(floats(a.read()), Floats(3, 2));
  EXPECT_EQ(floats(b.read()), Floats(10, 4));
  EXPECT_EQ(floats(c.read()), Floats{2});
  const void* before = value_address(b);
  step();
  EXPECT_EQ(value_address(b), before);
  EXPECT_EQ(floats(b.read()), Floats(10, 8));
}

TEST_F(Arena, SnapshotsKeepTheirContentsAndTheVariableComesBack) {
  step();
  const void* home = value_address(b);
  Tensor old = b.read();
  step();
  EXPECT_EQ(floats(old), Floats(10, 4));
  EXPECT_EQ(floats(b.read()), Floats(10, 8));
  EXPECT_FALSE(VariableArena::at_home(variable_of(b.handle())));
  EXPECT_NE(value_address(b), home);
  step();  // its place is still looked at
  EXPECT_EQ(floats(old), Floats(10, 4));
  EXPECT_NE(value_address(b), home);
  old = Tensor();
  step();
  EXPECT_EQ(value_address(b), home);
  EXPECT_EQ(floats(b.read()), Floats(10, 32));
}

TEST_F(Arena, ViewsKeepTheirPlaceToo) {
  step();
  const Tensor row = reshape(b.read(), Shape{10});
  step();
  EXPECT_EQ(floats(row), Floats(10, 4));
  EXPECT_EQ(floats(b.read()), Floats(10, 8));
}

TEST_F(Arena, AnAssignedValueComesBackWithTheNextStep) {
  step();
  const void* home = value_address(a);
  a.assign(zeros({3}) + 10.f);
  synchronize();  // work under way still looks at its operands
  step();
  EXPECT_EQ(floats(a.read()), Floats(3, 11));
  EXPECT_EQ(value_address(a), home);
}

// One variable takes over the memory of another's snapshot: each finds its own place.
TEST_F(Arena, ValuesInEachOthersPlaces) {
  Variable d(zeros({3}) + 7.f);
  auto both = function([&] {
    a.assign_add(zeros({3}) + 1.f);
    d.assign_add(zeros({3}) + 1.f);
  });
  both();
  const void *home_a = value_address(a), *home_d = value_address(d);
  a.assign(d.read());
  d.assign(zeros({3}));
  // Work of a device that is under way still looks at its operands.
  for (int i = 0; i < 2; ++i) {
    synchronize();
    both();
  }
  EXPECT_EQ(floats(a.read()), Floats(3, 10));
  EXPECT_EQ(floats(d.read()), Floats(3, 2));
  EXPECT_EQ(value_address(a), home_a);
  EXPECT_EQ(value_address(d), home_d);
}

TEST_F(Arena, EveryPlanFollowsAVariableThatMoves) {
  auto other = function([this](Tensor x) { return reduce_sum(b.read()) * x; });
  auto wider = function([this](Tensor x) {
    b.assign_add(zeros({2, 5}) + x);
    return reduce_sum(b.read());
  });
  const Tensor one = constant(1.f);
  EXPECT_EQ(other(one).item<float>(), 20);  // planned for memory of its own
  EXPECT_EQ(wider(one).item<float>(), 30);
  step();
  EXPECT_EQ(other(one).item<float>(), 60);
  EXPECT_EQ(wider(one).item<float>(), 70);
  const Tensor held = b.read();
  step();  // moves out
  EXPECT_EQ(other(one).item<float>(), 140);
  EXPECT_EQ(wider(one).item<float>(), 150);
  EXPECT_EQ(floats(held), Floats(10, 7));
}

TEST_F(Arena, IsTheOnlyOneOfAVariable) {
  step();
  const auto arena = variable_of(a.handle()).arena;
  Variable d(zeros({4}));
  Variable e(zeros({4}));
  auto more = function([&] {
    a.assign_add(zeros({3}) + 1.f);
    d.assign_add(zeros({4}) + 1.f);
    e.assign_add(zeros({4}) + 2.f);
  });
  more();
  EXPECT_EQ(variable_of(a.handle()).arena, arena);
  EXPECT_NE(variable_of(d.handle()).arena, arena);
  EXPECT_TRUE(together({d, e}) || together({e, d}));
  EXPECT_EQ(floats(a.read()), Floats(3, 3));
}

TEST_F(Arena, AnotherShapeLeavesIt) {
  Variable open(zeros({2}), {.shape = {kUnknownDim}});
  Variable other(zeros({2}));
  auto add = function([&] {
    open.assign(open.read() + 1.f);
    other.assign_add(zeros({2}) + 1.f);
  });
  add();
  EXPECT_TRUE(variable_of(open.handle()).arena);
  open.assign(zeros({5}));
  add();
  EXPECT_FALSE(variable_of(open.handle()).arena);
  EXPECT_EQ(floats(open.read()), Floats(5, 1));
  EXPECT_EQ(floats(other.read()), Floats(2, 2));
}

TEST_F(Arena, OutlivesItsVariablesForWhoStillReads) {
  Tensor kept;
  {
    Variable d(zeros({3}) + 5.f), e(zeros({3}) + 6.f);
    auto f = function([&] {
      d.assign_add(zeros({3}) + 1.f);
      e.assign_add(zeros({3}) + 1.f);
    });
    f();
    kept = d.read();
  }
  EXPECT_EQ(floats(kept), Floats(3, 6));
}

TEST_F(Arena, AFailedStepLeavesEverything) {
  auto failing = function([this](Tensor x) {
    a.assign_add(zeros({3}) + 1.f);
    b.assign(b.read() * 2.f);
    Assert(x > 0.f, {x});
    return x;
  });
  step();
  EXPECT_THROW(failing(constant(-1.f)).wait(), InvalidArgumentError);
  EXPECT_EQ(floats(a.read()), Floats(3, 2));
  EXPECT_EQ(floats(b.read()), Floats(10, 4));
  failing(constant(1.f)).wait();
  EXPECT_EQ(floats(b.read()), Floats(10, 8));
}

// An optimizer's step: weights, first and second moments are an arena each, in one order.
TEST(ArenaOfAStep, WeightsAndMomentsLieInTheSameOrder) {
  std::vector<Variable> weights;
  for (int64_t n : {5, 17, 64}) weights.emplace_back(zeros({n, 3}) + 1.f);
  optimizers::Adam adam({.learning_rate = 0.1});
  auto step = function([&](Tensor x) {
    GradientTape tape;
    Tensor loss = x * 0.f;
    for (const Variable& w : weights) loss = loss + reduce_sum(w.read() * w.read());
    adam.apply(tape.gradient(loss, weights), weights);
    return loss;
  });
  for (int i = 0; i < 3; ++i) step(constant(1.f)).wait();
  EXPECT_TRUE(together(weights));
}

// The update is in a branch, whose plan lists the variables.
TEST(ArenaOfAStep, UpdatesInABranchLieInTheSameOrder) {
  std::vector<Variable> weights;
  for (int64_t n : {48, 16, 64, 32}) weights.emplace_back(zeros({n}) + 1.f);
  optimizers::LossScaleOptimizer adam(std::make_unique<optimizers::Adam>());
  auto step = function([&](Tensor x) {
    GradientTape tape;
    Tensor loss = x * 0.f;
    for (const Variable& w : weights) loss = loss + reduce_sum(w.read() * w.read());
    adam.apply(tape.gradient(adam.scale_loss(loss), weights), weights);
    return loss;
  });
  for (int i = 0; i < 3; ++i) step(constant(1.f)).wait();
  EXPECT_TRUE(together(weights));
  EXPECT_NE(step.explain().find("end to end"), std::string::npos) << step.explain();
}

TEST(ArenaOnTheHost, ExportedMemoryStaysValid) {
  const DeviceScope cpu("/CPU:0");
  Variable a(zeros({3}) + 1.f), b(zeros({3}) + 2.f);
  auto step = function([&] {
    a.assign_add(zeros({3}) + 1.f);
    b.assign_add(zeros({3}) + 1.f);
  });
  step();
  const Tensor shared = from_dlpack(to_dlpack(a.read()));
  step();
  step();
  EXPECT_EQ(floats(shared), Floats(3, 2));
  EXPECT_EQ(floats(a.read()), Floats(3, 4));
  EXPECT_EQ(floats(b.read()), Floats(3, 5));
}

}  // namespace
}  // namespace tandem
