// Fused programs as text and as shapes.
#include "op/fused_program.h"

#include <gtest/gtest.h>

#include "support/alone.h"
#include "tandem/error.h"
#include "tandem/ops/activations.h"
#include "tandem/ops/attrs.h"

namespace tandem {
namespace {

using Kind = FusedInstruction::Kind;

FusedProgram layer_norm_like() {
  FusedProgram p;
  p.num_inputs = 2;
  p.row_axes = 1;
  p.input_dtypes = {DType::kFloat32, DType::kFloat32};
  p.instructions = {
      {Kind::kRowReduce, "Mean", {}, DType::kFloat32, {0}},
      {Kind::kElementwise, "Sub", {}, DType::kFloat32, {0, 2}},
      {Kind::kElementwise, "Square", {}, DType::kFloat32, {3}},
      {Kind::kRowReduce, "Mean", {}, DType::kFloat32, {4}},
      {Kind::kElementwise, "Rsqrt", {}, DType::kFloat32, {5}},
      {Kind::kElementwise, "Mul", {}, DType::kFloat32, {3, 6}},
      {Kind::kElementwise, "Mul", {}, DType::kFloat32, {7, 1}},
      {Kind::kColumnReduce, "Sum", {}, DType::kFloat32, {7}},
      {Kind::kAllReduce, "Max", {}, DType::kFloat32, {8}},
  };
  p.outputs = {8, 6, 9, 10};
  return p;
}

TEST(FusedProgram, TextIsReadBackEqual) {
  const FusedProgram p = layer_norm_like();
  EXPECT_EQ(p.text(),
            "in float32,float32 rows 1; 2=row Mean(0):float32; 3=Sub(0,2):float32; "
            "4=Square(3):float32; 5=row Mean(4):float32; 6=Rsqrt(5):float32; "
            "7=Mul(3,6):float32; 8=Mul(7,1):float32; 9=column Sum(7):float32; "
            "10=all Max(8):float32; out 8,6,9,10");
  const FusedProgram again = FusedProgram::parse(p.text());
  EXPECT_EQ(again.text(), p.text());
  EXPECT_EQ(again.outputs, p.outputs);
  EXPECT_EQ(again.instructions[8].kind, Kind::kAllReduce);
  EXPECT_EQ(again.instructions[6].arguments, (std::vector<int32_t>{7, 1}));
}

TEST(FusedProgram, AttributesSurviveExactly) {
  FusedProgram p;
  p.num_inputs = 1;
  p.input_dtypes = {DType::kFloat64};
  const double alpha = 0.1 + 0.2;  // not a short decimal
  p.instructions = {
      {Kind::kElementwise,
       "LeakyRelu",
       Attrs(attrs_ref(nn::LeakyReluAttrs{alpha})),
       DType::kFloat64,
       {0}},
      {Kind::kElementwise,
       "Cast",
       Attrs(attrs_ref(CastAttrs{.dtype = DType::kBFloat16, .truncate = true})),
       DType::kBFloat16,
       {1}},
  };
  p.outputs = {2};
  const FusedProgram again = FusedProgram::parse(p.text());
  EXPECT_EQ(again.text(), p.text());
  EXPECT_EQ(again.instructions[0].attrs.ref().as<nn::LeakyReluAttrs>().alpha, alpha);
  EXPECT_EQ(again.instructions[1].attrs.ref().as<CastAttrs>().dtype, DType::kBFloat16);
  EXPECT_TRUE(again.instructions[1].attrs.ref().as<CastAttrs>().truncate);
}

TEST(FusedProgram, DefaultAttributesAreSpelledOut) {
  FusedProgram implicit;
  implicit.num_inputs = 1;
  implicit.input_dtypes = {DType::kFloat32};
  implicit.instructions = {{Kind::kElementwise, "LeakyRelu", {}, DType::kFloat32, {0}}};
  implicit.outputs = {1};
  FusedProgram spelled = implicit;
  spelled.instructions[0].attrs = Attrs(attrs_ref(nn::LeakyReluAttrs{}));
  EXPECT_EQ(implicit.text(), spelled.text());
}

TEST(FusedProgram, TextThatIsNoneIsRefused) {
  const auto parse = [](const char* text) { return FusedProgram::parse(text); };
  const auto refused = [&](const char* text, const char* words) {
    EXPECT_ERROR(parse(text), InvalidArgumentError, words);
  };
  refused("", "expected 'in '");
  refused("in float31 rows 0; 1=Neg(0):float32; out 1", "expected a dtype");
  refused("in float32 rows 0; 1=Neg(0):float32", "expected '; out'");
  refused("in float32 rows 0; 2=Neg(0):float32; out 2", "one after another");
  refused("in float32 rows 0; 1=Neg(0):float32; out 1 ", "expected the end");
  refused("in float32 rows 0; 1=Nag(0):float32; out 1", "no such op");
  refused("in float32 rows 0; 1=Neg(1):float32; out 1", "does not come before it");
  refused("in float32 rows 0; 1=Neg(0):float64; out 1", "gives float32, not float64");
  refused("in float32 rows 0; 1=Neg(0):float32; out 0", "not the result");
  refused("in float32 rows 0; 1=AddV2(0):float32; out 1", "has 1 arguments");
  refused("in float32,int32 rows 0; 2=AddV2(0,1):float32; out 2", "int32");
  refused("in float32 rows 0; 1=Neg{\"a\": 1}(0):float32; out 1", "no attributes");
  refused("in float32 rows 0; 1=LeakyRelu{\"alpha\": 1(0):float32; out 1",
          "without an end");
  refused("in float32 rows 1; 1=row ArgMax(0):float32; out 1", "Max, Mean, Min");
  refused("in float32 rows 1; 1=row Sum(0):float64; out 1", "keep the dtype");
  refused("in float32 rows 1; 1=column Sum(0):float32; 2=Neg(1):float32; out 2",
          "only be outputs");
}

TEST(FusedShapes, FollowTheOps) {
  const FusedProgram p = layer_norm_like();
  const std::vector<Shape> inputs = {{2, 3, 4}, {4}};
  const std::vector<Shape> shapes = fused_output_shapes(p, inputs);
  EXPECT_EQ(shapes, (std::vector<Shape>{{2, 3, 4}, {2, 3, 1}, {4}, {}}));
  EXPECT_EQ(fused_domain(inputs), Shape({2, 3, 4}));
}

TEST(FusedShapes, SeveralRowAxes) {
  const FusedProgram p = FusedProgram::parse(
      "in int32 rows 2; 1=row Sum(0):int32; 2=column Max(0):int32; out 1,2");
  const std::vector<Shape> inputs = {{5, 3, 4}};
  EXPECT_EQ(fused_output_shapes(p, inputs), (std::vector<Shape>{{5, 1, 1}, {3, 4}}));
}

TEST(FusedShapes, SingleElementsStaySingle) {
  const FusedProgram p = FusedProgram::parse(
      "in float32,float32 rows 0; 2=Square(1):float32; 3=Mul(0,2):float32; out 3,2");
  const std::vector<Shape> inputs = {{7, 2}, {}};
  EXPECT_EQ(fused_output_shapes(p, inputs), (std::vector<Shape>{{7, 2}, {}}));
}

TEST(FusedShapes, PartlyKnown) {
  const FusedProgram p = layer_norm_like();
  const std::vector<Shape> some = {{kUnknownDim, 4}, {4}};
  EXPECT_EQ(fused_output_shapes(p, some),
            (std::vector<Shape>{{kUnknownDim, 4}, {kUnknownDim, 1}, {4}, {}}));
  const std::vector<Shape> nothing = {Shape::unknown(), Shape::unknown()};
  EXPECT_EQ(fused_output_shapes(p, nothing)[2], Shape({kUnknownDim}));
}

TEST(FusedShapes, Errors) {
  const FusedProgram p = layer_norm_like();
  const std::vector<Shape> clash = {{2, 3}, {4}}, scalar = {{}, {}}, one = {{2, 3}};
  EXPECT_ERROR(fused_output_shapes(p, clash), InvalidArgumentError,
               "Incompatible shapes");
  EXPECT_ERROR(fused_output_shapes(p, scalar), InvalidArgumentError, "1 axes");
  EXPECT_ERROR(fused_output_shapes(p, one), InvalidArgumentError, "1 inputs are given");
}

}  // namespace
}  // namespace tandem
