// Products that swallow their bias and activation.
#include "fusion_testing.h"
#include "graph/verify.h"
#include "ops/fused_products.h"
#include "run/graph_interpreter.h"

namespace tandem {
namespace {

using namespace testing;

Graph with_fused_epilogues(const Tensors& arguments, const Body& body) {
  const Graph before = traced(arguments, body);
  Graph after = fuse_epilogue(before);
  verify(after);
  expect_same(before, after, arguments, kClose);
  return after;
}
std::string activation(const Graph& g) {
  const Node& n = only(g, "FusedMatMul");
  return n.attrs.ref().as<FusedMatMulAttrs>().activation;
}

Tensors dense() { return {numbers({6, 4}, 1), numbers({4, 5}, 2), numbers({5}, 3)}; }

TEST(FuseEpilogue, BiasAndActivationGoIntoTheProduct) {
  const Graph g = with_fused_epilogues(dense(), [](auto& x) {
    return Tensors{nn::relu(nn::bias_add(matmul(x[0], x[1]), x[2]))};
  });
  EXPECT_EQ(op_list(g), "FusedMatMul");
  EXPECT_EQ(activation(g), "Relu");
  EXPECT_EQ(only(g, "FusedMatMul").name, "fused/MatMul_Bias_Relu");
}

TEST(FuseEpilogue, ABiasMayBeAnAddition) {
  for (const Shape& shape : {Shape{5}, Shape{1, 5}}) {
    const Tensors given = {numbers({6, 4}, 1), numbers({4, 5}, 2), numbers(shape, 3)};
    const Graph g = with_fused_epilogues(
        given, [](auto& x) { return Tensors{tanh(x[2] + matmul(x[0], x[1]))}; });
    EXPECT_EQ(count_kernels(g), 1);
    EXPECT_EQ(activation(g), "Tanh");
  }
}

TEST(FuseEpilogue, OtherAdditionsAreNoBias) {
  // One number per row, and a whole matrix.
  for (const Shape& shape : {Shape{6, 1}, Shape{6, 5}}) {
    const Tensors given = {numbers({6, 4}, 1), numbers({4, 5}, 2), numbers(shape, 3)};
    const Graph g = with_fused_epilogues(
        given, [](auto& x) { return Tensors{nn::relu(matmul(x[0], x[1]) + x[2])}; });
    EXPECT_EQ(op_list(g), "MatMul AddV2 Relu");
  }
}

TEST(FuseEpilogue, OfTwoProductsOfOneRowOneIsTheOthersBias) {
  const Tensors given = {numbers({1, 4}, 1), numbers({4, 5}, 2), numbers({4, 5}, 3)};
  const Graph g = with_fused_epilogues(given, [](auto& x) {
    return Tensors{tanh(matmul(x[0], x[1]) + matmul(x[0], x[2]))};
  });
  EXPECT_EQ(op_list(g), "MatMul Reshape FusedMatMul");  // a bias has one dimension
}

TEST(FuseEpilogue, AttributesOfTheProductAreKept) {
  const Tensors given = {numbers({4, 6}, 1), numbers({5, 4}, 2)};
  const Graph g = with_fused_epilogues(given, [](auto& x) {
    return Tensors{nn::leaky_relu(
        matmul(x[0], x[1], {.transpose_a = true, .transpose_b = true}), {.alpha = 0.3})};
  });
  EXPECT_EQ(op_list(g), "FusedMatMul");
  const auto& attrs = only(g, "FusedMatMul").attrs.ref().as<FusedMatMulAttrs>();
  EXPECT_TRUE(attrs.transpose_a && attrs.transpose_b);
  EXPECT_EQ(attrs.alpha, 0.3);
}

TEST(FuseEpilogue, BothGelusHaveTheirName) {
  for (bool approximate : {false, true}) {
    const Graph g = with_fused_epilogues(dense(), [&](auto& x) {
      return Tensors{nn::gelu(matmul(x[0], x[1]) + x[2], {.approximate = approximate})};
    });
    EXPECT_EQ(activation(g), approximate ? "GeluTanh" : "GeluErf");
  }
}

TEST(FuseEpilogue, AProductThatOthersUseStays) {
  const Graph g = with_fused_epilogues(dense(), [](auto& x) {
    const Tensor product = matmul(x[0], x[1]);
    return Tensors{nn::relu(product + x[2]), product};
  });
  EXPECT_EQ(op_list(g), "MatMul AddV2 Relu");
}

TEST(FuseEpilogue, AReturnedSumKeepsTheActivationOut) {
  const Graph g = with_fused_epilogues(dense(), [](auto& x) {
    const Tensor sum = matmul(x[0], x[1]) + x[2];
    return Tensors{nn::relu(sum), sum};
  });
  EXPECT_EQ(op_list(g), "FusedMatMul Relu");
  EXPECT_EQ(activation(g), "");
}

// The gradient asks where the input was positive; there the output is.
TEST(FuseEpilogue, GradientsOfReluLookAtTheResult) {
  const Graph g = with_fused_epilogues(dense(), [](auto& x) {
    const Tensor sum = matmul(x[0], x[1]) + x[2];
    const Tensor y = nn::relu(sum);
    return Tensors{y, nn::relu_grad(y + 1, sum)};
  });
  EXPECT_EQ(op_list(g), "FusedMatMul AddV2 ReluGrad");
  EXPECT_EQ(activation(g), "Relu");
}

TEST(FuseEpilogue, GradientsOfLeakyReluDoSoForPositiveSlopes) {
  for (double alpha : {0.2, -0.2}) {
    const Graph g = with_fused_epilogues(dense(), [&](auto& x) {
      const Tensor sum = matmul(x[0], x[1]) + x[2];
      const Tensor y = nn::leaky_relu(sum, {.alpha = alpha});
      return Tensors{y, nn::leaky_relu_grad(y, sum, {.alpha = alpha})};
    });
    EXPECT_EQ(activation(g), alpha > 0 ? "LeakyRelu" : "");
  }
}

TEST(FuseEpilogue, TheGradientOfGeluNeedsTheSum) {
  const Graph g = with_fused_epilogues(dense(), [](auto& x) {
    const Tensor sum = matmul(x[0], x[1]) + x[2];
    const Tensor y = nn::gelu(sum);
    return Tensors{y, nn::gelu_grad(y, sum)};
  });
  EXPECT_EQ(activation(g), "");
  EXPECT_EQ(count_ops(g, "Gelu"), 1);
}

// A dense layer on three dimensions: reshape, product, reshape, bias.
TEST(FuseEpilogue, ReshapesThatKeepTheColumnsDoNotSeparate) {
  const Tensors given = {numbers({2, 3, 4}, 1), numbers({4, 5}, 2), numbers({5}, 3)};
  const Graph g = with_fused_epilogues(given, [](auto& x) {
    const Tensor product = matmul(reshape(x[0], {6, 4}), x[1]);
    return Tensors{nn::relu(nn::bias_add(reshape(product, {2, 3, 5}), x[2]))};
  });
  EXPECT_EQ(count_kernels(g), 1);
  EXPECT_EQ(activation(g), "Relu");
}

TEST(FuseEpilogue, ConvolutionsInBothLayouts) {
  for (bool first : {false, true}) {
    const auto format = first ? nn::DataFormat::kNCHW : nn::DataFormat::kNHWC;
    const Tensors given = {numbers(first ? Shape{2, 3, 6, 6} : Shape{2, 6, 6, 3}, 1),
                           numbers({3, 3, 3, 4}, 2), numbers({4}, 3)};
    const Graph g = with_fused_epilogues(given, [&](auto& x) {
      const Tensor y = nn::conv2d(
          x[0], x[1],
          {.strides = {2}, .padding = nn::Padding::kSame, .data_format = format});
      return Tensors{nn::relu(nn::bias_add(y, x[2], {.data_format = format}))};
    });
    EXPECT_EQ(op_list(g), "FusedConv2D");
    EXPECT_EQ(only(g, "FusedConv2D").attrs.ref().as<FusedConvAttrs>().strides, (Ints{2}));
  }
}

TEST(FuseEpilogue, DevicesAreNotMixed) {
  Graph g =
      traced(dense(), [](auto& x) { return Tensors{nn::relu(matmul(x[0], x[1]))}; });
  for (int32_t i = 0; i < g.size(); ++i) {
    if (g.node(i).is_op("Relu")) g.node(i).device = "/device:GPU:0";
  }
  EXPECT_EQ(op_list(fuse_epilogue(g)), "MatMul Relu");
}

TEST(FuseEpilogue, BranchesToo) {
  const Graph g = traced({numbers({4, 4}, 1)}, [](auto& x) {
    return trace_if(
        reduce_sum(x[0]) > 0, [&] { return Tensors{nn::relu(matmul(x[0], x[0]))}; },
        [&] { return Tensors{x[0]}; });
  });
  FusionNotes notes;
  const Graph made = fuse_epilogue(g, &notes);
  verify(made);
  EXPECT_EQ(op_list(*find_node(made, "If").subgraphs[0]), "FusedMatMul");
  ASSERT_EQ(notes.size(), 1u);
  EXPECT_EQ(notes[0].text, "MatMul ends with Relu");
}

}  // namespace
}  // namespace tandem
