// Producer-consumer fusion of elementwise ops: which nodes join, which must not, and what
// the joined programs compute.
#include "fusion_testing.h"

namespace tandem {
namespace {

using namespace testing;

TEST(FuseElementwise, AChainIsOneProgram) {
  const Graph g =
      fused_and_checked({numbers({4, 3}, 1), numbers({4, 3}, 2)},
                        [](auto& x) { return Tensors{nn::relu(x[0] * x[1] + x[0])}; });
  EXPECT_EQ(instructions(only(g, "Fused")), "Mul AddV2 Relu");
  EXPECT_EQ(only(g, "Fused").name, "fused/Mul_AddV2_Relu(3 ops)");
  EXPECT_EQ(only(g, "Fused").inputs.size(), 2u);
  EXPECT_EQ(count_kernels(g), 1);
}

TEST(FuseElementwise, OneOpStaysAsItIs) {
  const Graph g =
      fused_and_checked({numbers({4}, 1)}, [](auto& x) { return Tensors{exp(x[0])}; });
  EXPECT_EQ(count_ops(g, "Fused"), 0);
  EXPECT_EQ(count_ops(g, "Exp"), 1);
}

TEST(FuseElementwise, InputsBroadcast) {
  const Graph g = fused_and_checked(
      {numbers({2, 3, 4}, 1), numbers({4}, 2), numbers({3, 1}, 3), numbers({}, 4)},
      [](auto& x) { return Tensors{(x[0] + x[1]) * x[2] - x[3]}; });
  EXPECT_EQ(instructions(only(g, "Fused")), "AddV2 Mul Sub");
  EXPECT_EQ(count_kernels(g), 1);
}

TEST(FuseElementwise, AValueThatOthersUseIsAnOutputToo) {
  const Graph g =
      fused_and_checked({numbers({3, 3}, 1), numbers({3, 3}, 2)}, [](auto& x) {
        const Tensor y = x[0] * x[1];
        return Tensors{tanh(y), matmul(y, x[1])};
      });
  EXPECT_EQ(only(g, "Fused").outputs.size(), 2u);
  EXPECT_EQ(instructions(only(g, "Fused")), "Mul Tanh");
}

// exp(x) → matmul → add(exp(x), ·): exp and add must not be one node.
TEST(FuseElementwise, NoPathLeadsOutAndBackIn) {
  const Graph g = fused_and_checked({numbers({3, 3}, 1)}, [](auto& x) {
    const Tensor e = exp(x[0]);
    return Tensors{e + matmul(e, e)};
  });
  EXPECT_EQ(count_ops(g, "Fused"), 0);
  EXPECT_EQ(count_kernels(g), 3);
}

// The same over a longer way, with parts on both sides that may join.
TEST(FuseElementwise, ALongWayOutAndBackInIsSeen) {
  const Graph g = fused_and_checked({numbers({3, 3}, 1)}, [](auto& x) {
    const Tensor a = exp(x[0]) * x[0];
    const Tensor b = nn::relu(matmul(a, x[0])) - x[0];
    const Tensor c = sigmoid(matmul(b, x[0]));
    return Tensors{a + b * c};
  });
  // {Exp, Mul}, {Relu, Sub}, {Sigmoid, Mul, AddV2}
  EXPECT_EQ(count_ops(g, "Fused"), 3);
  EXPECT_EQ(count_kernels(g), 5);
}

TEST(FuseElementwise, SmallerShapesAreProgramsOfTheirOwn) {
  const Graph g = fused_and_checked({numbers({64, 8}, 1), numbers({8}, 2)}, [](auto& x) {
    const Tensor scale = exp(x[1]) + 1;
    return Tensors{tanh(x[0] * scale)};
  });
  EXPECT_EQ(count_ops(g, "Fused"), 2);
}

TEST(FuseElementwise, ReshapesBetweenWholeValuesDoNotSeparate) {
  const Graph g = fused_and_checked({numbers({4, 6}, 1), numbers({24}, 2)}, [](auto& x) {
    const Tensor y = reshape(exp(x[0]), {24}) + x[1];
    return Tensors{tanh(expand_dims(y, 0)), squeeze(expand_dims(y, 1))};
  });
  EXPECT_EQ(instructions(only(g, "Fused")), "Exp AddV2 Tanh");
  EXPECT_EQ(count_kernels(g), 1);
}

// [4,6] + [6] broadcasts along rows; after a reshape to [24] the rows are gone.
TEST(FuseElementwise, ABroadcastFixesTheShape) {
  const Graph g = fused_and_checked(
      {numbers({4, 6}, 1), numbers({6}, 2), numbers({3, 8}, 3), numbers({8}, 4)},
      [](auto& x) {
        const Tensor y = x[0] + x[1];
        return Tensors{(reshape(y, {3, 8}) * x[2]) - x[3]};
      });
  // The product joins either side, the sum of each side keeps its shape.
  EXPECT_EQ(count_kernels(g), 2);
}

TEST(FuseElementwise, BroadcastNodesAndFillsAreReadThrough) {
  const Graph g = fused_and_checked({numbers({4, 6}, 1), numbers({6}, 2)}, [](auto& x) {
    const Tensor b = broadcast_to(x[1], Shape{4, 6});
    return Tensors{tanh(x[0] * b + fill({4, 6}, scalar(2, DType::kFloat32)))};
  });
  EXPECT_EQ(instructions(only(g, "Fused")), "Mul AddV2 Tanh");
  EXPECT_EQ(count_kernels(g), 1);
}

// ReluGrad wants equal shapes: the broadcast is made for it.
TEST(FuseElementwise, OpsThatDoNotBroadcastReadTheWhole) {
  const Graph g = fused_and_checked({numbers({6}, 1), numbers({4, 6}, 2)}, [](auto& x) {
    const Tensor spread = broadcast_to(x[0], Shape{4, 6});
    return Tensors{exp(nn::relu_grad(spread, x[1]) + spread)};
  });
  EXPECT_EQ(count_ops(g, "BroadcastTo"), 1);
  EXPECT_EQ(instructions(only(g, "Fused")), "ReluGrad AddV2 Exp");
}

// The broadcast is itself spread by the sum, and by another one that only it can reach.
TEST(FuseElementwise, BroadcastsInsideBroadcasts) {
  const Graph g = fused_and_checked(
      {numbers({6}, 1), numbers({3, 4, 6}, 2), numbers({3, 1, 6}, 3)}, [](auto& x) {
        const Tensor spread = broadcast_to(x[0], Shape{4, 6});
        return Tensors{exp(x[1] + spread), tanh(x[2] * spread - 1)};
      });
  EXPECT_EQ(count_ops(g, "Fused"), 2);
  EXPECT_EQ(count_ops(g, "BroadcastTo"), 1);
}

// Nothing else has the wide shape: the broadcast itself has to be made.
TEST(FuseElementwise, ABroadcastThatGivesTheShapeStays) {
  const Graph g = fused_and_checked({numbers({6}, 2)}, [](auto& x) {
    return Tensors{exp(tanh(broadcast_to(x[0], Shape{4, 6})))};
  });
  EXPECT_EQ(count_ops(g, "BroadcastTo"), 1);
  EXPECT_EQ(instructions(only(g, "Fused")), "Tanh Exp");
}

TEST(FuseElementwise, BiasesAreAddedAlongTheirAxis) {
  const Tensors given = {numbers({2, 5, 5, 3}, 1), numbers({3}, 2),
                         numbers({2, 3, 4, 4}, 3)};
  const Graph g = fused_and_checked(given, [](auto& x) {
    return Tensors{
        nn::relu(nn::bias_add(x[0], x[1])),
        nn::relu(nn::bias_add(x[2], x[1], {.data_format = nn::DataFormat::kNCHW}))};
  });
  EXPECT_EQ(count_ops(g, "Fused"), 2);
  EXPECT_EQ(count_ops(g, "BiasAdd"), 0);
}

TEST(FuseElementwise, ShortSumsOfTensorsJoin) {
  const Graph g = fused_and_checked(
      {numbers({7}, 1), numbers({7}, 2), numbers({7}, 3)},
      [](auto& x) { return Tensors{exp(add_n({x[0] * x[1], x[1], x[2]}))}; });
  EXPECT_EQ(instructions(only(g, "Fused")), "Mul AddV2 AddV2 Exp");
}

TEST(FuseElementwise, DtypesChangeInside) {
  const Graph g = fused_and_checked({numbers({5}, 1)}, [](auto& x) {
    const Tensor half = cast(x[0], DType::kFloat16) * scalar(3, DType::kFloat16);
    const Tensor positive = x[0] > 0;
    return Tensors{where(positive, cast(half, DType::kFloat32), x[0])};
  });
  EXPECT_EQ(instructions(only(g, "Fused")), "Cast Mul Greater Cast SelectV2");
}

// Two kernels read a cast: each casts for itself, and the wide result is never written.
TEST(FuseElementwise, CheapOpsAreCopiedIntoTheirReaders) {
  const Tensor half = cast(numbers({6, 6}, 1), DType::kFloat16);
  const Graph g = fused_and_checked({half, numbers({6, 6}, 2)}, [](auto& x) {
    const Tensor wide = cast(x[0], float32);
    const Tensor a = tanh(wide) * x[1];
    const Tensor b = matmul(a, x[1]);
    return Tensors{exp(b - wide)};
  });
  EXPECT_EQ(count_kernels(g), 3);
  int casts = 0;
  for (const Node& n : g.nodes()) {
    if (!n.is_op("Fused")) continue;
    EXPECT_EQ(n.outputs.size(), 1u);
    casts += instructions(n).find("Cast") != std::string::npos;
  }
  EXPECT_EQ(casts, 2);
}

// A product reads the cast as well: it has to be written, and is read by the others.
TEST(FuseElementwise, WhatIsWrittenAnywayIsNotCopied) {
  const Tensor half = cast(numbers({6, 6}, 1), DType::kFloat16);
  const Graph g = fused_and_checked({half, numbers({6, 6}, 2)}, [](auto& x) {
    const Tensor wide = cast(x[0], float32);
    const Tensor b = matmul(tanh(wide) * x[1], wide);
    return Tensors{exp(b - wide)};
  });
  int casts = 0;
  for (const Node& n : g.nodes()) {
    casts += n.is_op("Cast") ||
             (n.is_op("Fused") && instructions(n).find("Cast") != std::string::npos);
  }
  EXPECT_EQ(casts, 1);
}

TEST(FuseElementwise, DevicesAreNotMixed) {
  const Tensors given = {numbers({5}, 1)};
  const Body body = [](auto& x) { return Tensors{exp(tanh(x[0]))}; };
  Graph g = traced(given, body);
  for (int32_t i = 0; i < g.size(); ++i) {
    if (g.node(i).is_op("Exp")) g.node(i).device = "/device:GPU:0";
  }
  const Graph apart = fuse_elementwise(g, cpu_fusion_target());
  EXPECT_EQ(count_ops(apart, "Fused"), 0);
  for (int32_t i = 0; i < g.size(); ++i) {
    if (g.node(i).is_op("Tanh")) g.node(i).device = "/device:GPU:0";
  }
  const Graph together = fuse_elementwise(g, cpu_fusion_target());
  EXPECT_EQ(only(together, "Fused").device, "/device:GPU:0");
}

TEST(FuseElementwise, LimitsHold) {
  Tensors given;
  for (uint32_t i = 0; i < 10; ++i) given.push_back(numbers({5}, i));
  const Body body = [](auto& x) {
    Tensor sum = x[0];
    for (size_t i = 1; i < x.size(); ++i) sum = sum * x[i];
    return Tensors{sum};
  };
  const Graph g = traced(given, body);
  FusionTarget target = cpu_fusion_target();
  EXPECT_EQ(count_kernels(fuse_elementwise(g, target)), 1);
  target.max_inputs = 4;
  const Graph few_inputs = fuse_elementwise(g, target);
  EXPECT_EQ(count_kernels(few_inputs), 3);
  for (const Node& n : few_inputs.nodes()) {
    if (n.is_op("Fused")) {
      EXPECT_LE(n.inputs.size(), 4u);
    }
  }
  expect_same(g, unfused(few_inputs), given);
  target = cpu_fusion_target();
  target.max_instructions = 5;
  EXPECT_EQ(count_kernels(fuse_elementwise(g, target)), 2);
  target.can_fuse = [](const OpDef&, AttrsRef, auto, DType) { return false; };
  EXPECT_EQ(count_kernels(fuse_elementwise(g, target)), 9);
}

TEST(FuseElementwise, OutputsAreLimited) {
  const Graph g = traced({numbers({5}, 1)}, [](auto& x) {
    Tensors all = {x[0]};
    for (int i = 0; i < 6; ++i) all.push_back(tanh(all.back()));
    return all;
  });
  FusionTarget target = cpu_fusion_target();
  target.max_outputs = 3;
  EXPECT_EQ(count_kernels(fuse_elementwise(g, target)), 2);
}

// The number of copies is wanted on the host before there are kernels.
TEST(FuseElementwise, SizesForTheHostAreLeftAlone) {
  const Tensors given = {constant({2, 3}), numbers({7}, 1)};
  const Graph g = traced(given, [](auto& x) {
    return Tensors{tile(x[1], reduce_max(x[0] * 2 + 1, {.keepdims = true})),
                   abs(x[0] * 2 - 5)};
  });
  const Graph made = fuse_elementwise(g, cpu_fusion_target());
  EXPECT_EQ(count_ops(made, "Max"), 1);
  EXPECT_EQ(count_ops(made, "Tile"), 1);
  expect_same(g, made, given);
}

TEST(FuseElementwise, EmptyAndUnknownShapesAreLeftAlone) {
  const Graph g = trace({{float32, {-1, 3}}, {float32, {0, 3}}}, [](const Tensors& x) {
    return Tensors{exp(tanh(x[0])), exp(tanh(x[1]))};
  });
  EXPECT_EQ(count_kernels(fuse_elementwise(g, cpu_fusion_target())), 4);
}

TEST(FuseElementwise, ReadersStayBeforeTheNextWriter) {
  Variable v(numbers({6}, 1));
  const Tensors given = {numbers({6}, 2)};
  const Graph g = fuse_elementwise(traced(given,
                                          [&](auto& x) {
                                            const Tensor old = v.read();
                                            const Tensor next = old * x[0] + 1;
                                            v.assign(next);
                                            return Tensors{tanh(next) - old};
                                          }),
                                   cpu_fusion_target());
  EXPECT_EQ(count_kernels(g), 1);
  EXPECT_EQ(only(g, "Fused").outputs.size(), 2u);
  int32_t fused = -1, assign = -1;
  for (int32_t i = 0; i < g.size(); ++i) {
    if (g.node(i).is_op("Fused")) fused = i;
    if (g.node(i).is_op("AssignVariableOp")) assign = i;
  }
  EXPECT_LT(fused, assign);
  EXPECT_EQ(g.final_states().size(), 1u);
}

TEST(FuseElementwise, DecisionsAreNoted) {
  FusionNotes notes;
  const Graph g =
      fuse_elementwise(traced({numbers({4, 3}, 1)},
                              [](auto& x) { return Tensors{nn::relu(x[0] * x[0])}; }),
                       cpu_fusion_target(), &notes);
  ASSERT_EQ(notes.size(), 1u);
  EXPECT_EQ(notes[0].node, only(g, "Fused").name);
  EXPECT_EQ(notes[0].text,
            "2 ops over float32[4,3] in one pass, 1 tensors in, 1 out: Mul, Relu");
}

}  // namespace
}  // namespace tandem
