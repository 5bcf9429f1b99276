// Array functions beyond single ops: known values through inference, indexing, views,
// error texts, second derivatives.
#include <gtest/gtest.h>

#include "op/emitter.h"
#include "op/op_def.h"
#include "tandem/tandem.h"
#include "tensor/tensor_impl.h"

namespace tandem {
namespace {

template <class A>
TensorInfo infer(const char* op, const A& attrs, const std::vector<TensorInfo>& inputs) {
  InferContext c(OpTable::get().at(op), attrs_ref(attrs), inputs);
  infer_call(c);
  return c.outputs().at(0);
}
TensorInfo unknown_values(DType dtype, const Shape& shape) {
  return {dtype, shape, {}, false, nullptr};
}
TensorInfo known_values(const PartialValue& v) {
  return {DType::kInt32, {static_cast<int64_t>(v.size())}, v, true, nullptr};
}

// reshape(x, stack([shape(x)[0], 10])) of an x with an unknown batch.
TEST(ArrayInference, ReshapeKeepsWhatIsKnown) {
  const TensorInfo x = unknown_values(DType::kFloat32, {kUnknownDim, 5, 2});
  const TensorInfo shape = infer("Shape", ShapeAttrs{}, {x});
  const TensorInfo batch =
      infer("StridedSlice", StridedSliceAttrs{.shrink_axis_mask = 1},
            {shape, known_values({0}), known_values({1}), known_values({1})});
  TensorInfo ten = known_values({10});
  ten.shape = {};
  const TensorInfo target = infer("Pack", AxisAttrs{}, {batch, ten});
  EXPECT_EQ(target.value, (PartialValue{kUnknownValue, 10}));
  EXPECT_EQ(infer("Reshape", NoAttrs{}, {x, target}).shape, (Shape{kUnknownDim, 10}));
  const TensorInfo known = unknown_values(DType::kFloat32, {7, 5, 2});
  EXPECT_EQ(infer("Reshape", NoAttrs{}, {known, target}).shape, (Shape{7, 10}));
}

TEST(ArrayInference, ValuesPassThroughSmallIntegerOps) {
  const TensorInfo v = known_values({3, kUnknownValue, 5, 7});
  const TensorInfo begin = known_values({1}), size = known_values({2});
  EXPECT_EQ(infer("Slice", NoAttrs{}, {v, begin, size}).value,
            (PartialValue{kUnknownValue, 5}));
  EXPECT_EQ(infer("ConcatV2", AxisAttrs{}, {v, known_values({1})}).value,
            (PartialValue{3, kUnknownValue, 5, 7, 1}));
  EXPECT_EQ(infer("ReverseV2", ReverseAttrs{{0}}, {v}).value,
            (PartialValue{7, 5, kUnknownValue, 3}));
  EXPECT_EQ(infer("Split", SplitAttrs{2, 0}, {v}).value,
            (PartialValue{3, kUnknownValue}));
  EXPECT_EQ(infer("Tile", NoAttrs{}, {known_values({2, 4}), known_values({2})}).value,
            (PartialValue{2, 4, 2, 4}));
  EXPECT_EQ(infer("Size", ShapeAttrs{}, {unknown_values(DType::kInt8, {4, 3})}).value,
            (PartialValue{12}));
  TensorInfo two = known_values({2});
  two.shape = {};
  EXPECT_EQ(infer("Fill", NoAttrs{}, {known_values({3}), two}).value,
            (PartialValue{2, 2, 2}));
  TensorInfo zero = known_values({0}), six = known_values({6});
  zero.shape = six.shape = {};
  EXPECT_EQ(infer("Range", NoAttrs{}, {zero, six, two}).value, (PartialValue{0, 2, 4}));
}

TEST(ArrayIndex, ReadsAsPythonDoes) {
  const Tensor x = reshape(range(24, float32), {2, 3, 4});
  EXPECT_EQ(index(x, {1, 2, 3}).item<float>(), 23);
  EXPECT_EQ(index(x, {-1, Index::all(), 0}).to_vector<float>(),
            (std::vector<float>{12, 16, 20}));
  EXPECT_EQ(index(x, {Index::ellipsis(), Index::slice({}, {}, -2)}).shape(),
            (Shape{2, 3, 2}));
  EXPECT_EQ(index(x, {0, Index::newaxis(), Index::slice(1, 3)}).shape(),
            (Shape{1, 2, 4}));
  EXPECT_EQ(index(x, {constant(1), Index::slice(2)}).to_vector<float>(),
            (std::vector<float>{20, 21, 22, 23}));
}

TEST(ArrayViews, ShareMemory) {
  const Tensor x = reshape(range(24, float32), {4, 6});
  const auto same_buffer = [&](const Tensor& v) {
    return v.impl()->buffer == x.impl()->buffer;
  };
  EXPECT_TRUE(same_buffer(reshape(x, {2, 12})));
  EXPECT_TRUE(same_buffer(slice(x, {1, 0}, {2, 6})));
  EXPECT_TRUE(same_buffer(index(x, {2})));
  EXPECT_TRUE(same_buffer(index(x, {2, Index::slice(1, 4)})));
  EXPECT_FALSE(same_buffer(index(x, {Index::all(), 1})));
  EXPECT_TRUE(same_buffer(transpose(expand_dims(x, 0), {{1, 0, 2}})));
  EXPECT_FALSE(same_buffer(transpose(x)));
}

TEST(ArrayFunctions, MakeWhatTheySay) {
  EXPECT_EQ(eye(2).to_vector<float>(), (std::vector<float>{1, 0, 0, 1}));
  EXPECT_EQ(eye(2, {.columns = 3, .batch_shape = {2}}).shape(), (Shape{2, 2, 3}));
  EXPECT_EQ(ones({}, int32).item<int32_t>(), 1);
  EXPECT_EQ(zeros({2}).to_vector<float>(), (std::vector<float>{0, 0}));
  const auto grids = meshgrid({constant({1, 2, 3}), constant({4, 5})});
  EXPECT_EQ(grids[0].to_vector<int32_t>(), (std::vector<int32_t>{1, 2, 3, 1, 2, 3}));
  EXPECT_EQ(grids[1].to_vector<int32_t>(), (std::vector<int32_t>{4, 4, 4, 5, 5, 5}));
  EXPECT_EQ(meshgrid({constant({1, 2, 3}), constant({4, 5})}, "ij")[1].shape(),
            (Shape{3, 2}));
  EXPECT_EQ(sequence_mask(constant({1, 0, 2})).to_vector<bool>(),
            (std::vector<bool>{true, false, false, false, true, true}));
  const Tensor x = reshape(range(9, float32), {3, 3});
  EXPECT_EQ(tril(x, -1).to_vector<float>(),
            (std::vector<float>{0, 0, 0, 3, 0, 0, 6, 7, 0}));
  EXPECT_EQ(triu(x, 1).to_vector<float>(),
            (std::vector<float>{0, 1, 2, 0, 0, 5, 0, 0, 0}));
  EXPECT_EQ(linspace(constant(0), constant(10), {.num = 5}).to_vector<double>(),
            (std::vector<double>{0, 2.5, 5, 7.5, 10}));
  EXPECT_EQ(repeat(constant({3, 1}), 2).to_vector<int32_t>(),
            (std::vector<int32_t>{3, 3, 1, 1}));
  EXPECT_EQ(broadcast_static_shape({2, 1}, {3}), (Shape{2, 3}));
  EXPECT_THROW(broadcast_static_shape({2, 4}, {3}), ValueError);
}

template <class F>
std::string invalid_argument_of(F&& f) {
  try {
    f();
  } catch (const InvalidArgumentError& e) {
    return e.what();
  }
  return "nothing was thrown";
}
#define EXPECT_SAYS(expression, words)                                               \
  EXPECT_NE(invalid_argument_of([&] { expression; }).find(words), std::string::npos) \
      << #expression

TEST(ArrayErrors, UseTensorFlowsWords) {
  const Tensor x = reshape(range(6, float32), {2, 3});
  EXPECT_SAYS(
      reshape(x, {2, 2}),
      "Input to reshape is a tensor with 6 values, but the requested shape has 4");
  EXPECT_SAYS(reshape(x, {4, -1}), "the requested shape requires a multiple of 4");
  EXPECT_SAYS(reshape(x, {-1, -1}), "Only one input size may be -1, not both 0 and 1");
  EXPECT_SAYS(concat({x, zeros({2, 4})}, {.axis = 0}),
              "ConcatOp : Dimension 1 in both shapes must be equal: shape[0] = [2,3] vs. "
              "shape[1] "
              "= [2,4]");
  EXPECT_SAYS(stack({x, zeros({2})}), "Shapes of all inputs must match");
  EXPECT_SAYS(slice(x, {0, 1}, {2, 3}), "Expected size[1] in [0, 2], but got 3");
  EXPECT_SAYS(index(x, {2}), "slice index 2 of dimension 0 out of bounds.");
  EXPECT_SAYS(index(x, {0, 0, 0}),
              "Index out of range using input dim 2; input has only 2 dims");
  EXPECT_SAYS(transpose(x, {{0, 0}}), "1 is missing from {0,0}.");
  EXPECT_SAYS(broadcast_to(x, {2, 4}), "Incompatible shapes: [2,3] vs. [2,4]");
  EXPECT_SAYS(pad(x, Paddings{{0, -1}, {0, 0}}), "Paddings must be non-negative: 0 -1");
  EXPECT_SAYS(mirror_pad(x, Paddings{{0, 2}, {0, 0}}),
              "paddings must be less than the dimension size: 0, 2 not less than 2");
  EXPECT_SAYS(split(x, SplitAttrs{2, 1}), "should evenly divide the split dimension");
  EXPECT_SAYS(range(0, 10, 0, int32), "Requires delta != 0: 0");
  EXPECT_SAYS(check_numerics(divide(x, zeros_like(x)), {"here"}).wait(),
              "here : Tensor had Inf and NaN values");
  EXPECT_SAYS(reverse_sequence(x, constant({4, 1}), {.seq_axis = 1}).wait(),
              "seq_lens(0) > input.dims(1)");
  EXPECT_SAYS(invert_permutation(constant({0, 0})).wait(),
              "0 is duplicated in the input.");
  EXPECT_SAYS(ensure_shape(x, {2, 4}), "is not compatible with expected shape [2,4].");
}

// d²/dx² of sum(f(x)³) through every linear op: 6 f(x) pulled back twice.
TEST(ArrayGradients, SecondOrder) {
  const std::vector<std::function<Tensor(const Tensor&)>> functions = {
      [](const Tensor& x) { return transpose(x); },
      [](const Tensor& x) { return index(x, {Index::slice({}, {}, -2), 1}); },
      [](const Tensor& x) { return slice(x, {1, 0}, {2, 2}); },
      [](const Tensor& x) { return concat({x, x}, {.axis = 1}); },
      [](const Tensor& x) { return stack({x, x}); },
      [](const Tensor& x) { return split(x, SplitAttrs{3, 0})[1]; },
      [](const Tensor& x) { return tile(x, Ints{2, 3}); },
      [](const Tensor& x) { return pad(x, Paddings{{1, 0}, {0, 2}}); },
      [](const Tensor& x) { return mirror_pad(x, Paddings{{1, 1}, {0, 2}}); },
      [](const Tensor& x) { return repeat(x, constant({1, 0, 2}), {.axis = 0}); },
      [](const Tensor& x) { return roll(x, {{1}, {1}}); },
      [](const Tensor& x) { return matrix_diag_part(x, {.lower = -1, .upper = 1}); },
      [](const Tensor& x) { return matrix_set_diag(x, matrix_diag_part(x)); },
      [](const Tensor& x) { return broadcast_to(expand_dims(x, 0), {2, 3, 4}); },
  };
  for (size_t i = 0; i < functions.size(); ++i) {
    SCOPED_TRACE(i);
    const auto& f = functions[i];
    const Tensor x = reshape(range(12, float64), {3, 4});
    GradientTape outer;
    outer.watch(x);
    Tensor first;
    {
      GradientTape inner;
      inner.watch(x);
      const Tensor y = f(x);
      const Tensor loss = reduce_sum(y * y * y);
      first = inner.gradient(loss, {x})[0].dense();
    }
    const Tensor second = outer.gradient(reduce_sum(first), {x})[0].dense();
    // Each element of x enters the sum n times as itself: n·6x.
    const Tensor uses = [&] {
      GradientTape count;
      count.watch(x);
      const Tensor y = f(x);
      return count.gradient(reduce_sum(y), {x})[0].dense();
    }();
    EXPECT_EQ(second.to_vector<double>(), (6.0 * x * uses).to_vector<double>());
  }
}

}  // namespace
}  // namespace tandem

#undef EXPECT_SAYS
