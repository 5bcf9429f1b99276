// Distances of edits and monotone fits. Definitions.
#include "tandem/ops/sequence.h"

#include <algorithm>

#include "op/emitter.h"
#include "op/op_def.h"
#include "ops/expected_shape.h"
#include "ops/sequence.h"

namespace tandem {

namespace {

using namespace sequence;

// Inputs 0 and 3 are indices, 1 and 4 values, 2 and 5 shapes.
void infer_distance(InferContext& c) {
  Shape sizes[2];
  for (int side = 0; side < 2; ++side) {
    const int first = 3 * side;
    c.rank(first, 2);
    c.rank(first + 1, 1);
    c.rank(first + 2, 1);
    sizes[side] = c.shape_from_value(first + 2);
  }
  for (int side = 0; side < 2; ++side) {
    const Shape &indices = c.shape(3 * side), &values = c.shape(3 * side + 1);
    expect_shape(c, 3 * side + 1, {indices.has_rank() ? indices[0] : kUnknownDim});
    expect_shape(c, 3 * side, {values.has_rank() ? values[0] : kUnknownDim, kUnknownDim});
  }
  const Shape &a = sizes[0], &b = sizes[1];
  if (!a.has_rank() || !b.has_rank()) return void(c.add_output(DType::kFloat32, {}));
  c.require(a.rank() == b.rank() && a.rank() >= 1,
            "truth_shape should have the rank of hypothesis_shape");
  for (int side = 0; side < 2; ++side) {
    expect_shape(c, 3 * side, {kUnknownDim, a.rank()});
  }
  Shape out = Shape::unknown_of_rank(a.rank() - 1);
  for (int i = 0; i + 1 < a.rank(); ++i) {
    if (a[i] >= 0 && b[i] >= 0) out.set(i, std::max(a[i], b[i]));
  }
  c.add_output(DType::kFloat32, out);
}

void infer_fit(InferContext& c) {
  c.rank_at_least(0, 1);
  c.add_output(c.dtype(0), c.shape(0));
  c.add_output(DType::kInt32, c.shape(0));
}

void infer_run_mean(InferContext& c) {
  c.rank_at_least(0, 1);
  expect_same_shape(c, 1, 0);
  c.add_output(c.dtype(0), c.shape(0));
}

// A run of equal values moves with the mean of what is asked of its elements.
void grad_fit(GradContext& c) {
  static const OpHandle op("SegmentRunMean");
  c.set(0, emit(op, {c.grad(), c.output(1)}));
}
void grad_run_mean(GradContext& c) {
  static const OpHandle op("SegmentRunMean");
  c.set(0, emit(op, {c.grad(), c.input(1)}));
}

}  // namespace

void register_sequence_ops(OpTable& table) {
  OpDef def;
  def.name = "EditDistance";
  def.doc = "Levenshtein's distance of sequences in sparse tensors.";
  def.types = {{'T', kReals & ~kHalfs}, {'I', mask(DType::kInt64)}};
  def.inputs = {{.name = "hypothesis_indices", .type = 'I'},
                {.name = "hypothesis_values"},
                {.name = "hypothesis_shape", .type = 'I', .host = true},
                {.name = "truth_indices", .type = 'I'},
                {.name = "truth_values"},
                {.name = "truth_shape", .type = 'I', .host = true}};
  def.attrs = &attrs_type<EditDistanceAttrs>();
  def.infer = infer_distance;
  def.effects = kMayFail;
  def.differentiable = false;
  table.add(def);

  def = {};
  def.name = "IsotonicRegression";
  def.doc = "The nearest decreasing sequence, and the runs of equal values in it.";
  def.types = {{'T', mask(DType::kFloat32, DType::kFloat64)}};
  def.inputs = {{.name = "input"}};
  def.outputs = {"output", "segments"};
  def.infer = infer_fit;
  def.gradient = grad_fit;
  def.grad_inputs = 0;
  def.grad_outputs = 2;
  table.add(def);

  def = {};
  def.name = "SegmentRunMean";
  def.doc = "In place of each element the mean of its run of equal segment numbers.";
  def.types = {{'T', mask(DType::kFloat32, DType::kFloat64)}, {'S', mask(DType::kInt32)}};
  def.inputs = {{.name = "input"}, {.name = "segments", .type = 'S'}};
  def.infer = infer_run_mean;
  def.gradient = grad_run_mean;
  def.grad_inputs = 2;
  def.grad_outputs = 0;
  table.add(def);
}

namespace sequence {

Tensor edit_distance(const Sparse& hypothesis, const Sparse& truth,
                     EditDistanceAttrs attrs) {
  static const OpHandle op("EditDistance");
  return emit(op,
              {hypothesis.indices, hypothesis.values, hypothesis.shape, truth.indices,
               truth.values, truth.shape},
              attrs);
}

Fit isotonic_regression(const Tensor& input) {
  static const OpHandle op("IsotonicRegression");
  std::vector<Tensor> out(2);
  const TensorArg args[] = {input};
  current_emitter().emit(op, {}, args, out);
  return {out[0], out[1]};
}

}  // namespace sequence

}  // namespace tandem
