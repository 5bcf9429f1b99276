// One eager call: what is checked before anything runs, and in whose words.
#include <gtest/gtest.h>

#include "op/emitter.h"
#include "run/eager.h"
#include "run/tape.h"
#include "support/alone.h"
#include "tandem/tandem.h"
#include "tensor/tensor_impl.h"

namespace tandem {
namespace {

TEST(Dispatch, DtypesThatDifferAreAnErrorInTensorFlowsWords) {
  EXPECT_ERROR(
      add(constant({1.f, 2.f}), constant({1, 2})), InvalidArgumentError,
      "cannot compute AddV2 as input #1(zero-based) was expected to be a float tensor "
      "but is a int32 tensor [Op:AddV2]");
  EXPECT_ERROR(matmul(constant({{1.0}}), constant({{1.f}})), InvalidArgumentError,
               "was expected to be a double tensor but is a float tensor");
}

TEST(Dispatch, ShapesThatDoNotBroadcastAreNamed) {
  EXPECT_ERROR(add(ones({2, 3}), ones({4})), InvalidArgumentError,
               "Incompatible shapes: [2,3] vs. [4] [Op:AddV2]");
}

TEST(Dispatch, AScalarTakesTheTensorsDtype) {
  EXPECT_EQ((constant({1, 2}) + 1).to_vector<int>(), (std::vector<int>{2, 3}));
  EXPECT_EQ((2 * constant({1.5, 2.5})).to_vector<double>(), (std::vector<double>{3, 5}));
  EXPECT_ERROR(constant({1, 2}) + 0.5, InvalidArgumentError,
               "Cannot convert 0.5 to a tensor of dtype int32");
}

TEST(Dispatch, TheNumberOfInputsIsChecked) {
  static const OpHandle op("AddV2");
  const Tensor x = constant(1.f);
  EXPECT_ERROR(emit(op, {x}), InvalidArgumentError, "AddV2: expected 2 inputs, got 1");
  EXPECT_ERROR(emit(op, {x, x, x}), InvalidArgumentError,
               "AddV2: expected 2 inputs, got 3");
  EXPECT_ERROR(emit(op, {}), InvalidArgumentError, "AddV2: expected 2 inputs, got 0");
}

TEST(Dispatch, AnEmptyListOfInputsIsAnError) {
  EXPECT_THROW(concat({}, {.axis = 0}), InvalidArgumentError);
  EXPECT_THROW(stack({}), InvalidArgumentError);
}

TEST(Dispatch, AnUndefinedTensorIsAnError) {
  EXPECT_ERROR(add(Tensor(), constant(1.f)), InvalidArgumentError,
               "AddV2: input #0 is not a tensor");
  EXPECT_ERROR(reshape(constant(1.f), Tensor()), InvalidArgumentError,
               "Reshape: input #1");
  EXPECT_ERROR(Tensor().shape(), InvalidArgumentError, "not defined");
  EXPECT_ERROR(Tensor().to_host(), InvalidArgumentError, "not defined");
  EXPECT_EQ(Tensor().dtype(), DType::kInvalid);
  EXPECT_EQ(Tensor().device(), "");
}

TEST(Dispatch, AVariablesHandleIsNoTensor) {
  const Variable v(constant({1, 2}));
  EXPECT_ERROR(add(v.handle(), constant({1, 2})), InvalidArgumentError,
               "AddV2: input #0 is a variable's handle, not a tensor");
  EXPECT_ERROR(reshape(ones({2}), v.handle()), InvalidArgumentError, "Read the variable");
  static const OpHandle read("ReadVariableOp");
  EXPECT_ERROR(emit(read, {constant(1.f)}), InvalidArgumentError, "Expected a variable");
}

TEST(Dispatch, AGhostHasAShapeButNoContents) {
  const Tensor x = constant({1.f, 2.f});
  const Tensor ghost = make_ghost(x);
  EXPECT_EQ(ghost.shape(), x.shape());
  EXPECT_EQ(ghost.impl()->id, x.impl()->id);
  EXPECT_ERROR(add(ghost, x), InternalError,
               "AddV2: input #0 was kept for its shape only");
  EXPECT_ERROR(ghost.to_vector<float>(), InvalidArgumentError, "no contents");
  EXPECT_EQ(zeros_like(ghost).to_vector<float>(), (std::vector<float>{0, 0}));
  EXPECT_EQ(shape(ghost).to_vector<int>(), std::vector<int>{2});
}

TEST(Dispatch, SizesBeyondSixtyFourBitsAreAnInvalidArgument) {
  const int64_t many = int64_t{1} << 40;
  EXPECT_THROW(zeros({many, many}), InvalidArgumentError);
  EXPECT_THROW(broadcast_to(constant(1.f), Shape{many, many}), InvalidArgumentError);
  EXPECT_THROW(matmul(ones({0, 0}), reshape(ones({0}), Shape{many, 0})),
               InvalidArgumentError);
  EXPECT_EQ(ones({2}).to_vector<float>(), (std::vector<float>{1, 1}));
}

TEST(Dispatch, MoreMemoryThanThereIsIsResourceExhaustedAndLosesNothing) {
  const Tensor before = constant({1.f, 2.f});
  const int64_t used = config::get_memory_usage("CPU:0");
  EXPECT_THROW(zeros({int64_t{1} << 58}), ResourceExhaustedError);
  EXPECT_EQ(config::get_memory_usage("CPU:0"), used);
  EXPECT_EQ((before + before).to_vector<float>(), (std::vector<float>{2, 4}));
}

TEST(Dispatch, AFailedCallIsNotRemembered) {
  for (int i = 0; i < 3; ++i) {
    EXPECT_ERROR(add(ones({2}), ones({3})), InvalidArgumentError, "Incompatible shapes");
  }
}

TEST(Dispatch, TheSameCallWithOtherHostValuesGivesOtherShapes) {
  const Tensor x = ones({6});
  EXPECT_EQ(reshape(x, constant({2, 3})).shape(), (Shape{2, 3}));
  EXPECT_EQ(reshape(x, constant({3, 2})).shape(), (Shape{3, 2}));
  EXPECT_EQ(reshape(x, constant({-1, 1})).shape(), (Shape{6, 1}));
  EXPECT_EQ(reshape(x, constant({2, 3})).shape(), (Shape{2, 3}));
}

TEST(Dispatch, HundredsOfDifferentShapesAreTakenInTurn) {
  for (int round = 0; round < 2; ++round) {
    for (int64_t n = 1; n < 1500; n += 7) {
      ASSERT_EQ((ones({n}) + ones({n})).shape(), Shape{n});
    }
  }
}

TEST(Dispatch, OpsAreCounted) {
  const int64_t before = eager_op_count();
  const Tensor x = constant({1.f});
  add(x, x);
  add(x, x);
  EXPECT_EQ(eager_op_count() - before, 2);
}

}  // namespace
}  // namespace tandem
