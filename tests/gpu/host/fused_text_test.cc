// Fused programs compile, in every form that their inputs can give them.
#include "kernels/cuda/fused_text.h"

#include <gtest/gtest.h>

#include "gpu/host/compiles.h"
#include "kernels/cuda/compiler.h"

namespace tandem::cuda {
namespace {

using Kind = FusedInstruction::Kind;

FusedInstruction make(Kind kind, const char* op, std::vector<int32_t> arguments,
                      DType dtype) {
  FusedInstruction i;
  i.kind = kind;
  i.op = op;
  i.dtype = dtype;
  i.arguments = std::move(arguments);
  return i;
}

// Layer norm with a scale, and the sums that its gradient needs.
FusedProgram layer_norm(DType t) {
  FusedProgram p;
  p.num_inputs = 2;
  p.row_axes = 1;
  p.input_dtypes = {t, t};
  p.instructions = {make(Kind::kRowReduce, "Mean", {0}, t),
                    make(Kind::kElementwise, "Sub", {0, 2}, t),
                    make(Kind::kElementwise, "Square", {3}, t),
                    make(Kind::kRowReduce, "Mean", {4}, t),
                    make(Kind::kElementwise, "Rsqrt", {5}, t),
                    make(Kind::kElementwise, "Mul", {3, 6}, t),
                    make(Kind::kElementwise, "Mul", {7, 1}, t),
                    make(Kind::kColumnReduce, "Sum", {8}, t),
                    make(Kind::kAllReduce, "Max", {8}, t)};
  p.outputs = {8, 5, 9, 10};
  return p;
}

void expect_fused_compiles(const std::string& text) {
  expect_compiles("fused", text, 90);
}

TEST(FusedText, FormsFollowTheInputs) {
  const FusedProgram p = layer_norm(DType::kFloat32);
  FusedForm form{.row_input = {false, false},
                 .full_output = {true, false, false, false},
                 .lead = 1,
                 .trail = 1};
  const auto forms = value_forms(p, form);
  EXPECT_EQ(forms[2], FusedValueForm::kRow);   // the mean
  EXPECT_EQ(forms[3], FusedValueForm::kFull);  // x - mean
  EXPECT_EQ(forms[6], FusedValueForm::kRow);   // rsqrt of a row value
}

TEST(FusedText, RowColumnAndWholeReductionsCompile) {
  for (DType t : {DType::kFloat16, DType::kFloat32, DType::kFloat64}) {
    for (const auto& [lead, trail] :
         {std::pair{1, 1}, std::pair{2, 2}, std::pair{0, 1}}) {
      for (bool scale_per_row : {false, true}) {
        expect_fused_compiles(
            fused_text(layer_norm(t), {.row_input = {false, scale_per_row},
                                       .full_output = {true, false, false, false},
                                       .lead = lead,
                                       .trail = trail}));
      }
    }
  }
}

TEST(FusedText, IntegerReductionsCompile) {
  FusedProgram p;
  p.num_inputs = 1;
  p.row_axes = 1;
  p.input_dtypes = {DType::kInt32};
  p.instructions = {make(Kind::kRowReduce, "Max", {0}, DType::kInt32),
                    make(Kind::kElementwise, "FloorDiv", {0, 1}, DType::kInt32),
                    make(Kind::kColumnReduce, "Prod", {2}, DType::kInt32),
                    make(Kind::kAllReduce, "Min", {2}, DType::kInt32)};
  p.outputs = {2, 3, 4};
  expect_fused_compiles(fused_text(p, {.row_input = {false},
                                       .full_output = {true, false, false},
                                       .lead = 1,
                                       .trail = 1}));
}

TEST(FusedText, WideColumnsCompile) {
  // A gradient with its sum over rows, as of a bias behind an activation; one input is a
  // number per row.
  for (DType t : {DType::kBFloat16, DType::kFloat32}) {
    FusedProgram p;
    p.num_inputs = 3;
    p.row_axes = 1;
    p.input_dtypes = {t, t, t};
    p.instructions = {make(Kind::kElementwise, "ReluGrad", {0, 1}, t),
                      make(Kind::kElementwise, "Neg", {2}, t),
                      make(Kind::kElementwise, "Mul", {3, 4}, t),
                      make(Kind::kColumnReduce, "Sum", {5}, t),
                      make(Kind::kColumnReduce, "Max", {3}, t)};
    p.outputs = {5, 6, 7};
    FusedForm form{.row_input = {false, false, true},
                   .full_output = {true, false, false},
                   .lead = 1,
                   .trail = 1,
                   .wide = t == DType::kBFloat16 ? 8 : 4};
    expect_fused_compiles(fused_text(p, form));
    form.groups = 5;
    form.lead = 2;
    expect_fused_compiles(fused_text(p, form));
  }
}

TEST(FusedText, ManyGroupsCompile) {
  FusedProgram p;
  p.num_inputs = 4;
  p.input_dtypes = {DType::kFloat32, DType::kBFloat16, DType::kFloat32, DType::kFloat32};
  FusedInstruction cast = make(Kind::kElementwise, "Cast", {1}, DType::kFloat32);
  p.instructions = {cast, make(Kind::kElementwise, "Mul", {2, 3}, DType::kFloat32),
                    make(Kind::kElementwise, "AddV2", {5, 4}, DType::kFloat32),
                    make(Kind::kElementwise, "Sub", {0, 6}, DType::kFloat32)};
  p.outputs = {6, 7};
  expect_fused_compiles(multi_text(p, 0));
  expect_fused_compiles(multi_text(p, 8));
}

}  // namespace
}  // namespace tandem::cuda
