// Helpers of inference: broadcasting of partly known shapes, checks and their words.
#include "op/infer.h"

#include <vector>

#include <gtest/gtest.h>

#include "op/op_def.h"
#include "support/alone.h"
#include "tandem/error.h"

namespace tandem {
namespace {

OpDef make_op() {
  OpDef op;
  op.name = "Try";
  op.types = {{'T', kFloats}, {'I', kIndices}};
  op.inputs = {
      {.name = "x"}, {.name = "y"}, {.name = "i", .type = 'I', .optional = true}};
  op.infer = [](InferContext& c) {
    c.add_output(c.type('T'), c.broadcast(c.shape(0), c.shape(1)));
  };
  return op;
}

TensorInfo info(DType dtype, const Shape& shape) {
  return {dtype, shape, {}, false, nullptr};
}
TensorInfo ints(const PartialValue& value) {
  return {DType::kInt32, Shape{static_cast<int64_t>(value.size())}, value, true, nullptr};
}

Shape broadcast(const Shape& a, const Shape& b) {
  Shape out, reversed;
  EXPECT_TRUE(broadcast_shapes(a, b, &out)) << a.str() << b.str();
  EXPECT_TRUE(broadcast_shapes(b, a, &reversed));
  EXPECT_EQ(out, reversed);
  return out;
}

TEST(Broadcast, DimensionsAreEqualOrOneCountedFromTheLast) {
  EXPECT_EQ(broadcast({}, {}), Shape{});
  EXPECT_EQ(broadcast({2, 3}, {}), (Shape{2, 3}));
  EXPECT_EQ(broadcast({2, 1, 3}, {4, 1}), (Shape{2, 4, 3}));
  EXPECT_EQ(broadcast({0}, {1}), Shape{0});
  Shape out;
  EXPECT_FALSE(broadcast_shapes({2, 3}, {4}, &out));
  EXPECT_FALSE(broadcast_shapes({0}, {2}, &out));
}

TEST(Broadcast, UnknownDimensionsGiveWhatIsCertain) {
  EXPECT_EQ(broadcast({-1, 3}, {1, 3}), (Shape{-1, 3}));
  EXPECT_EQ(broadcast({-1}, {5}), Shape{5});
  EXPECT_EQ(broadcast({-1}, {-1}), Shape{-1});
  EXPECT_EQ(broadcast(Shape::unknown(), {5}), Shape::unknown());
}

TEST(Infer, DtypesAreCheckedBeforeTheOpSeesThem) {
  const OpDef op = make_op();
  std::vector<TensorInfo> in{info(DType::kFloat32, {2}), info(DType::kInt32, {2}), {}};
  InferContext mixed(op, {}, in);
  EXPECT_ERROR(
      infer_call(mixed), InvalidArgumentError,
      "cannot compute Try as input #1(zero-based) was expected to be a float tensor but "
      "is a int32 tensor [Op:Try]");
  in = {info(DType::kInt32, {2}), info(DType::kInt32, {2}), {}};
  InferContext integers(op, {}, in);
  EXPECT_ERROR(infer_call(integers), InvalidArgumentError,
               "Value for input 'x' of dtype int32 is not in the list of allowed values");
  in = {info(DType::kFloat64, {2}), info(DType::kFloat64, {1}),
        info(DType::kFloat32, {})};
  InferContext index(op, {}, in);
  EXPECT_ERROR(infer_call(index), InvalidArgumentError, "input 'i' of dtype float32");
}

TEST(Infer, AbsentOptionalInputsHaveNoDtype) {
  const OpDef op = make_op();
  const std::vector<TensorInfo> in{
      info(DType::kFloat64, {2, 1}), info(DType::kFloat64, {3}), {}};
  InferContext c(op, {}, in);
  infer_call(c);
  ASSERT_EQ(c.outputs().size(), 1u);
  EXPECT_EQ(c.outputs()[0].dtype, DType::kFloat64);
  EXPECT_EQ(c.outputs()[0].shape, (Shape{2, 3}));
  EXPECT_EQ(c.type('I'), DType::kInvalid);
}

TEST(Infer, IncompatibleShapesAreNamed) {
  const OpDef op = make_op();
  const std::vector<TensorInfo> in{
      info(DType::kFloat32, {2, 3}), info(DType::kFloat32, {4}), {}};
  InferContext c(op, {}, in);
  EXPECT_ERROR(infer_call(c), InvalidArgumentError,
               "Incompatible shapes: [2,3] vs. [4] [Op:Try]");
}

TEST(Infer, ChecksNameTheInputAndItsShape) {
  const OpDef op = make_op();
  const std::vector<TensorInfo> in{
      info(DType::kFloat32, {2, 3}), info(DType::kFloat32, Shape::unknown()), {}};
  const InferContext c(op, {}, in);
  c.rank(0, 2);
  c.rank(1, 7);  // nothing is known: nothing is wrong
  c.rank_at_least(1, 7);
  EXPECT_ERROR(c.rank(0, 3), InvalidArgumentError,
               "Try: input 'x' must have rank 3, but its shape is [2,3]");
  EXPECT_ERROR(c.rank_at_least(0, 3), InvalidArgumentError, "must have rank 3 or more");
  EXPECT_ERROR(c.integer(0), InvalidArgumentError, "expected an integer dtype");
  EXPECT_ERROR(c.dtype_in(0, {DType::kInt32, DType::kBool}), InvalidArgumentError,
               "expected one of int32, bool");
  EXPECT_EQ(c.axis(-1, 2), 1);
  EXPECT_EQ(c.axis(1, 2), 1);
  EXPECT_ERROR(c.axis(2, 2), InvalidArgumentError, "axis 2 is out of range [-2, 2)");
  EXPECT_ERROR(c.axis(-3, 2), InvalidArgumentError, "axis -3");
}

TEST(Infer, ShapesComeFromPartlyKnownValues) {
  const OpDef op = make_op();
  const std::vector<TensorInfo> in{ints({4, kUnknownValue, -1}), info(DType::kInt32, {2}),
                                   ints({2, -2})};
  const InferContext c(op, {}, in);
  EXPECT_EQ(c.shape_from_value(0), (Shape{4, -1, -1}));
  EXPECT_EQ(c.shape_from_value(1), (Shape{-1, -1}));
  EXPECT_ERROR(c.shape_from_value(2), InvalidArgumentError, "negative dimension -2");
  const std::vector<TensorInfo> odd{
      info(DType::kInt32, {-1}), info(DType::kInt32, {2, 2}),
      ints(PartialValue{1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1})};
  const InferContext d(op, {}, odd);
  EXPECT_EQ(d.shape_from_value(0), Shape::unknown());
  EXPECT_ERROR(d.shape_from_value(1), InvalidArgumentError,
               "must be a vector of dimensions");
  EXPECT_ERROR(d.shape_from_value(2), InvalidArgumentError, "asks for rank 13");
}

TEST(Infer, ShapesThatAskForMoreThanCanBeCountedAreRefused) {
  const Shape huge{int64_t{1} << 40, int64_t{1} << 40};
  EXPECT_ERROR(huge.num_elements(), InvalidArgumentError, "");
  EXPECT_ERROR(checked_bytes(DType::kFloat64, {int64_t{1} << 61}), InvalidArgumentError,
               "more bytes than fit in 64 bits");
}

}  // namespace
}  // namespace tandem
