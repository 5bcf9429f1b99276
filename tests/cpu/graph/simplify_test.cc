// simplify: each rule where it holds and where it must not.
#include <cmath>
#include <limits>

#include <gtest/gtest.h>

#include "graph/passes/passes.h"
#include "graph/verify.h"
#include "op/emitter.h"
#include "ops/tensor_list.h"
#include "run/graph_interpreter.h"
#include "support/trace_support.h"
#include "tandem/tandem.h"

namespace tandem::testing {
namespace {

// What is left of a function of one tensor, dead nodes removed.
std::string left(const Argument& argument,
                 const std::function<Tensor(const Tensor&)>& f) {
  const Graph g = trace({argument}, [&](const Tensors& x) { return Tensors{f(x[0])}; });
  const Graph made = remove_dead_nodes(simplify(g));
  verify(made);
  return op_list(made);
}

const Argument kMatrix{float32, {2, 3}};
const Argument kInts{int32, {2, 3}};

TEST(Simplify, NeutralElements) {
  EXPECT_EQ(left(kMatrix, [](const Tensor& x) { return x + 0.f; }), "");
  EXPECT_EQ(left(kMatrix, [](const Tensor& x) { return 0.f + x; }), "");
  EXPECT_EQ(left(kMatrix, [](const Tensor& x) { return x - 0.f; }), "");
  EXPECT_EQ(left(kMatrix, [](const Tensor& x) { return 0.f - x; }), "Sub");
  EXPECT_EQ(left(kMatrix, [](const Tensor& x) { return x * 1.f; }), "");
  EXPECT_EQ(left(kMatrix, [](const Tensor& x) { return x / 1.f; }), "");
  EXPECT_EQ(left(kMatrix, [](const Tensor& x) { return 1.f / x; }), "RealDiv");
  EXPECT_EQ(left(kMatrix, [](const Tensor& x) { return x + constant({{0.f}}); }), "");
  // The constant has more elements than x: the shape changes.
  EXPECT_EQ(left({float32, {}}, [](const Tensor& x) { return x + constant({0.f}); }),
            "AddV2");
  EXPECT_EQ(
      left({complex64, {2}}, [](const Tensor& x) { return x * scalar(1.f, complex64); }),
      "Mul");
}

TEST(Simplify, TimesZeroOnlyForIntegers) {
  EXPECT_EQ(left(kMatrix, [](const Tensor& x) { return x * 0.f; }), "Mul");
  EXPECT_EQ(left(kInts, [](const Tensor& x) { return x * 0; }), "Fill");
}

TEST(Simplify, QuotientsByPowersOfTwoAreProducts) {
  EXPECT_EQ(left(kMatrix, [](const Tensor& x) { return x / 8.f; }), "Mul");
  EXPECT_EQ(left(kMatrix, [](const Tensor& x) { return x / -0.25f; }), "Mul");
  EXPECT_EQ(left(kMatrix, [](const Tensor& x) { return x / 3.f; }), "RealDiv");
  EXPECT_EQ(left(kMatrix, [](const Tensor& x) { return x / 0.f; }), "RealDiv");
  // The inverse of the smallest numbers is not one.
  EXPECT_EQ(left(kMatrix, [](const Tensor& x) { return x / std::ldexp(1.f, -140); }),
            "RealDiv");
  const Graph g =
      trace({{float32, {5}}}, [](const Tensors& x) { return Tensors{x[0] / 8.f}; });
  const float inf = std::numeric_limits<float>::infinity();
  const Tensor x = constant({1.f, -3e-45f, 1e-38f, inf, 7.1f});
  EXPECT_EQ(interpret(simplify(g), Tensors{x})[0].to_vector<float>(),
            (x / 8.f).to_vector<float>());
}

TEST(Simplify, NegationsPowersAndFriends) {
  EXPECT_EQ(left(kMatrix, [](const Tensor& x) { return negative(negative(x)); }), "");
  EXPECT_EQ(left(kMatrix, [](const Tensor& x) { return x + negative(sin(x)); }),
            "Sin Sub");
  EXPECT_EQ(left(kMatrix, [](const Tensor& x) { return x - negative(sin(x)); }),
            "Sin AddV2");
  EXPECT_EQ(left(kMatrix, [](const Tensor& x) { return pow(x, constant(1.f)); }), "");
  EXPECT_EQ(left(kMatrix, [](const Tensor& x) { return pow(x, constant(2.f)); }),
            "Square");
  EXPECT_EQ(left(kMatrix, [](const Tensor& x) { return pow(x, constant(-1.f)); }),
            "Reciprocal");
  EXPECT_EQ(left(kMatrix, [](const Tensor& x) { return pow(x, constant(0.5f)); }), "Pow");
  EXPECT_EQ(left(kMatrix, [](const Tensor& x) { return abs(abs(x)); }), "Abs");
  EXPECT_EQ(left(kMatrix, [](const Tensor& x) { return maximum(x, x); }), "");
  EXPECT_EQ(left(kMatrix, [](const Tensor& x) { return add_n({x}); }), "");
  EXPECT_EQ(left(kMatrix, [](const Tensor& x) { return add_n({x, x}); }), "AddV2");
  EXPECT_EQ(left(kMatrix, [](const Tensor& x) { return add_n({x, x, x}); }), "AddN");
}

TEST(Simplify, SelectionsByConstants) {
  EXPECT_EQ(
      left(kMatrix, [](const Tensor& x) { return where(constant(true), x, x * x); }), "");
  EXPECT_EQ(
      left(kMatrix, [](const Tensor& x) { return where(constant(false), x, x * x); }),
      "Mul");
  EXPECT_EQ(left({float32, {3}},
                 [](const Tensor& x) {
                   return where(constant(true), x, zeros({2, 3}, float32));
                 }),
            "BroadcastTo");
  EXPECT_EQ(left(kMatrix, [](const Tensor& x) { return where(x > 0.f, x, x); }), "");
  EXPECT_EQ(
      left({bool_, {4}}, [](const Tensor& x) { return logical_and(x, constant(true)); }),
      "");
  EXPECT_EQ(
      left({bool_, {4}}, [](const Tensor& x) { return logical_and(x, constant(false)); }),
      "Fill");
}

TEST(Simplify, IdentitiesAndCasts) {
  EXPECT_EQ(left(kMatrix, [](const Tensor& x) { return identity(stop_gradient(x)); }),
            "");
  EXPECT_EQ(left(kMatrix, [](const Tensor& x) { return ensure_shape(x, {2, 3}); }), "");
  EXPECT_EQ(left({float32, {kUnknownDim}},
                 [](const Tensor& x) { return ensure_shape(x, {2}); }),
            "EnsureShape");
  EXPECT_EQ(left(kMatrix, [](const Tensor& x) { return cast(x, float32); }), "");
  EXPECT_EQ(
      left(kMatrix, [](const Tensor& x) { return cast(cast(x, float64), float32); }), "");
  EXPECT_EQ(
      left({int8, {2}}, [](const Tensor& x) { return cast(cast(x, int32), int64); }),
      "Cast");
  // Through float16 or int32 digits are lost.
  EXPECT_EQ(left(kMatrix, [](const Tensor& x) { return cast(cast(x, half), float32); }),
            "Cast Cast");
  EXPECT_EQ(left(kMatrix, [](const Tensor& x) { return cast(cast(x, int32), float32); }),
            "Cast Cast");
  EXPECT_EQ(
      left({int32, {2}}, [](const Tensor& x) { return cast(cast(x, float32), int32); }),
      "Cast Cast");
  EXPECT_EQ(
      left({int8, {2}}, [](const Tensor& x) { return cast(cast(x, uint8), int32); }),
      "Cast Cast");
}

TEST(Simplify, Transpositions) {
  EXPECT_EQ(left(kMatrix, [](const Tensor& x) { return transpose(transpose(x)); }), "");
  EXPECT_EQ(left(kMatrix, [](const Tensor& x) { return transpose(x, {{0, 1}}); }), "");
  EXPECT_EQ(left({float32, {2, 1, 3}},
                 [](const Tensor& x) { return transpose(x, {{1, 0, 2}}); }),
            "Reshape");
  const Graph g = trace({{float32, {2, 3, 4}}}, [](const Tensors& x) {
    return Tensors{transpose(transpose(x[0], {{1, 2, 0}}), {{1, 2, 0}})};
  });
  const Graph made = remove_dead_nodes(simplify(g));
  EXPECT_EQ(op_list(made), "Transpose");
  EXPECT_EQ(find_node(made, "Transpose").attrs.ref().as<TransposeAttrs>().perm,
            (Ints{2, 0, 1}));
  EXPECT_EQ(
      left({complex64, {2, 3}},
           [](const Tensor& x) { return transpose(transpose(x, {.conjugate = true})); }),
      "Transpose Transpose");
}

TEST(Simplify, ChangesOfShape) {
  EXPECT_EQ(
      left(kMatrix, [](const Tensor& x) { return reshape(reshape(x, {6}), {2, 3}); }),
      "");
  EXPECT_EQ(
      left(kMatrix, [](const Tensor& x) { return expand_dims(reshape(x, {6}), 0); }),
      "Reshape");
  EXPECT_EQ(left(kMatrix, [](const Tensor& x) { return squeeze(expand_dims(x, 1)); }),
            "");
  EXPECT_EQ(left({float32, {2, 1, 3}},
                 [](const Tensor& x) { return reduce_sum(x, {.axis = {1}}); }),
            "Reshape");
  EXPECT_EQ(left({float32, {2, 1, 3}},
                 [](const Tensor& x) {
                   return reduce_max(x, {.axis = {1}, .keepdims = true});
                 }),
            "");
  EXPECT_EQ(left(kMatrix, [](const Tensor& x) { return sum_like(x, x); }), "");
  EXPECT_EQ(left(kMatrix,
                 [](const Tensor& x) { return sum_like(x, constant({1.f, 2.f, 3.f})); }),
            "Sum");
  EXPECT_EQ(left({float32, {4, 2, 3}},
                 [](const Tensor& x) { return sum_like(x, zeros({2, 1}, float32)); }),
            "Sum Reshape");
}

TEST(Simplify, LayoutThatChangesNothing) {
  EXPECT_EQ(left(kMatrix, [](const Tensor& x) { return broadcast_to(x, {2, 3}); }), "");
  EXPECT_EQ(left(kMatrix, [](const Tensor& x) { return tile(x, {1, 1}); }), "");
  EXPECT_EQ(left(kMatrix, [](const Tensor& x) { return slice(x, {0, 0}, {2, -1}); }), "");
  EXPECT_EQ(left(kMatrix, [](const Tensor& x) { return slice(x, {1, 0}, {1, -1}); }),
            "Slice");
  const Tensor no_padding = zeros({2, 2}, int32);
  EXPECT_EQ(left(kMatrix, [&](const Tensor& x) { return pad(x, no_padding); }), "");
  EXPECT_EQ(left(kMatrix, [](const Tensor& x) { return concat({x}, {0}); }), "");
  EXPECT_EQ(
      left(kMatrix,
           [](const Tensor& x) { return concat({x, zeros({0, 3}, float32)}, {0}); }),
      "");
  const auto strided = [](int64_t stride) {
    return [stride](const Tensor& x) {
      return strided_slice(
          x, constant({int64_t{0}, int64_t{0}}), constant({int64_t{0}, int64_t{0}}),
          constant({int64_t{1}, stride}), {.begin_mask = 3, .end_mask = 3});
    };
  };
  EXPECT_EQ(left(kMatrix, strided(1)), "");
  EXPECT_EQ(left(kMatrix, strided(-1)), "StridedSlice");
}

TEST(Simplify, BroadcastsThatElementwiseOpsDoAnyway) {
  EXPECT_EQ(
      left(kMatrix,
           [](const Tensor& x) { return x * broadcast_to(sin(constant(2.f)), {2, 3}); }),
      "Sin Mul");
  EXPECT_EQ(left(kMatrix, [](const Tensor& x) { return maximum(x, zeros_like(x)); }),
            "Maximum");
  EXPECT_EQ(left(kMatrix, [](const Tensor& x) { return x + zeros_like(x); }), "AddV2");
  // Both are needed for the shape of the sum.
  EXPECT_EQ(
      left({float32, {3}}, [](const Tensor& x) { return x + broadcast_to(x, {2, 3}); }),
      "BroadcastTo AddV2");
  // Constants with equal elements are numbers.
  EXPECT_EQ(
      left(kMatrix, [](const Tensor& x) { return x + constant({{0.f, 0.f, 0.f}}); }),
      "AddV2");
  const Graph g = trace({kMatrix}, [](const Tensors& x) {
    return Tensors{x[0] * constant({3.f, 3.f, 3.f}), x[0] * constant({3.f, 3.f, 4.f})};
  });
  const Graph made = simplify(g);
  const auto factor = [&](size_t k) {
    return made.info(made.node(made.results()[k].node).inputs[1]).shape;
  };
  EXPECT_EQ(factor(0), Shape{});
  EXPECT_EQ(factor(1), Shape{3});
  // One number in another shape is one number.
  EXPECT_EQ(left({float32, {}},
                 [](const Tensor& x) {
                   const Tensor one = expand_dims(broadcast_to(sin(x), {700}), 1);
                   return one * ones({700, 2}, float32);
                 }),
            "Sin Fill Mul");
  // As a result a fill is a fill, but it does not hold on to x.
  EXPECT_EQ(left(kMatrix, [](const Tensor& x) { return zeros_like(sin(x)); }), "Fill");
}

TEST(Simplify, TransposedOperandsOfProducts) {
  const Graph g = trace({{float32, {2, 3}}, {float32, {2, 4}}}, [](const Tensors& x) {
    return Tensors{matmul(transpose(x[0]), x[1]),
                   matmul(transpose(x[1]), transpose(x[0]), {.transpose_b = true})};
  });
  const Graph made = remove_dead_nodes(simplify(g));
  verify(made);
  EXPECT_EQ(op_list(made), "MatMul MatMul");
  const auto attrs = [&](size_t k) {
    return made.node(made.results()[k].node).attrs.ref().as<MatMulAttrs>();
  };
  EXPECT_TRUE(attrs(0).transpose_a && !attrs(0).transpose_b);
  EXPECT_TRUE(attrs(1).transpose_a && !attrs(1).transpose_b);
  EXPECT_EQ(left({float32, {5, 2, 3}},
                 [](const Tensor& x) { return matmul(x, transpose(x, {{0, 2, 1}})); }),
            "MatMul");
  EXPECT_EQ(left({float32, {3, 3, 3}},
                 [](const Tensor& x) { return matmul(x, transpose(x, {{1, 2, 0}})); })
                .substr(0, 9),
            "Transpose");
}

// total + zeros with updates added at indices along an axis; total is a parameter.
std::string sum_of_rows(const Shape& shape, const Shape& updates, int64_t axis,
                        bool parameter) {
  static const OpHandle grad("GatherV2Grad");
  const Graph g =
      trace({{float32, shape}, {float32, updates}, {int32, {2}}}, [&](const Tensors& x) {
        const Tensor total = parameter ? x[0] : sin(x[0]);
        const Tensor rows = emit(grad, {x[1], x[2], x[0]}, GatherAttrs{.axis = axis});
        return Tensors{total + rows, rows + total};
      });
  const Graph made = remove_dead_nodes(simplify(g));
  verify(made);
  Tensors given = {reshape(cast(range(24), float32), shape), ones(updates) * 100.f,
                   constant({1, 0})};
  const Tensors expected = interpret(g, given), got = interpret(made, given);
  for (size_t k = 0; k < expected.size(); ++k) {
    EXPECT_EQ(got[k].to_vector<float>(), expected[k].to_vector<float>());
  }
  return op_list(made);
}

TEST(Simplify, RowsAreAddedToTheirPlaces) {
  EXPECT_EQ(sum_of_rows({12, 2}, {2, 2}, 0, true),
            "Reshape TensorScatterAdd Reshape TensorScatterAdd");
  // Of each of two blocks; the result in the shape of the sum.
  EXPECT_EQ(sum_of_rows({2, 4, 3}, {2, 2, 3}, 1, true),
            "Reshape BroadcastTo Reshape Pack Reshape TensorScatterAdd Reshape "
            "BroadcastTo Reshape Pack Reshape TensorScatterAdd");
  // Only sums that are kept from turn to turn.
  EXPECT_EQ(sum_of_rows({12, 2}, {2, 2}, 0, false), "Sin GatherV2Grad AddV2 AddV2");
}

// Not the row of the next block.
TEST(Simplify, RowsOutOfRangeAreFound) {
  static const OpHandle grad("GatherV2Grad");
  const Graph g = trace(
      {{float32, {2, 4, 3}}, {float32, {2, 1, 3}}, {int32, {1}}}, [&](const Tensors& x) {
        return Tensors{x[0] + emit(grad, {x[1], x[2], x[0]}, GatherAttrs{.axis = 1})};
      });
  const Graph made = remove_dead_nodes(simplify(g));
  EXPECT_EQ(count_ops(made, "GatherV2Grad"), 0);
  const Tensors given = {zeros({2, 4, 3}), ones({2, 1, 3}), constant({4})};
  EXPECT_THROW(interpret(made, given), InvalidArgumentError);
}

TEST(Simplify, ElementsAreAddedToTheirPlaces) {
  static const OpHandle reserve("TensorListReserve"), zeros("TensorListZerosLike"),
      set("TensorListSetItem"), add("TensorListAdd"), stack_op("TensorListStack");
  const Graph g = trace({{float32, {2}}, {int32, {}}}, [](const Tensors& x) {
    const TensorListAttrs attrs{float32, {2}};
    const Tensor list = emit(reserve, {constant(3)}, attrs);
    const Tensor total = emit(set, {list, constant(1), x[0]});
    const Tensor one = emit(set, {emit(zeros, {list}), x[1], x[0] * 10.f});
    const Tensor two = emit(set, {emit(zeros, {list}), constant(0), x[0] * 100.f});
    const Tensor sum = emit(add, {total, emit(add, {one, two})});
    return Tensors{emit(stack_op, {sum, Tensor()}, attrs)};
  });
  const Graph made = remove_dead_nodes(simplify(g));
  verify(made);
  EXPECT_EQ(count_ops(made, "TensorListAdd"), 0) << made.dump();
  EXPECT_EQ(count_ops(made, "TensorListZerosLike"), 0) << made.dump();
  EXPECT_EQ(count_ops(made, "TensorListScatterIntoExistingList"), 2) << made.dump();
  const Tensor x = constant({1.f, 2.f});
  EXPECT_EQ(interpret(made, Tensors{x, constant(1)})[0].to_vector<float>(),
            std::vector<float>({100, 200, 11, 22, 0, 0}));
  EXPECT_EQ(interpret(made, Tensors{x, constant(0)})[0].to_vector<float>(),
            std::vector<float>({110, 220, 1, 2, 0, 0}));
}

TEST(Simplify, UnknownShapesAreLeftAlone) {
  const Argument any{float32, {kUnknownDim, kUnknownDim}};
  EXPECT_EQ(left(any, [](const Tensor& x) { return x + 0.f; }), "AddV2");
  EXPECT_EQ(left(any, [](const Tensor& x) { return sum_like(x, x); }), "SumLike");
  EXPECT_EQ(left(any, [](const Tensor& x) { return transpose(transpose(x)); }), "");
}

}  // namespace
}  // namespace tandem::testing
