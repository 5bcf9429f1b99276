// layout: transposes that cancel, where they stay, and what becomes channels last; each
// with the number of transposes worked out by hand.
#include <gtest/gtest.h>

#include "graph/equal.h"
#include "graph/passes/layout_cut.h"
#include "graph/passes/passes.h"
#include "graph/verify.h"
#include "run/graph_interpreter.h"
#include "support/layouts.h"
#include "support/random_graph.h"
#include "support/trace_support.h"
#include "support/traced.h"
#include "tandem/gradient.h"
#include "tandem/tandem.h"

namespace tandem::testing {
namespace {

using nn::DataFormat;
using nn::Padding;

const Argument kLast{float32, {2, 6, 5, 3}};   // NHWC
const Argument kFirst{float32, {2, 3, 6, 5}};  // NCHW

Tensor numbers(const Shape& shape, float scale = 1) {
  std::vector<float> data;
  for (int64_t i = 0; i < shape.num_elements(); ++i) {
    data.push_back(scale * static_cast<float>((i * 37 + 11) % 23 - 11) / 11.f);
  }
  return constant(data, shape);
}

// The graph after all passes; it must give what the graph as traced gives.
Graph optimised(const std::vector<Argument>& arguments, const Function& f,
                const LayoutTarget& target = {}) {
  Tensors inputs;
  for (const Argument& a : arguments) inputs.push_back(numbers(a.shape));
  const Graph g = *trace(f, inputs);
  const auto run_node = [](const Node& n, std::span<const Tensor> given) {
    return interpret_node(n, given);
  };
  const Evaluate evaluate = run_node;
  PassOptions options;
  options.evaluate = &evaluate;
  options.layout_target = target;
  const Graph made = optimize(g, options);
  verify(made);
  EXPECT_EQ(difference_of(interpret(made, inputs), interpret(g, inputs), 1e-4), "")
      << made.dump();
  EXPECT_TRUE(equal(made, layout(made, target))) << made.dump();
  return made;
}
std::string left_by_layout(const Argument& argument,
                           const std::function<Tensor(Tensor)>& f,
                           const LayoutTarget& target = {}) {
  return op_list(
      optimised({argument}, [&](const Tensors& x) { return Tensors{f(x[0])}; }, target));
}

TEST(Layout, ASandwichVanishes) {
  EXPECT_EQ(
      left_by_layout(kLast, [](Tensor x) { return to_last(nn::relu(to_first(x))); }),
      "Relu");
  // Constants over channels, columns and scalars are laid out anew.
  EXPECT_EQ(left_by_layout(kLast,
                           [](Tensor x) {
                             Tensor y =
                                 to_first(x) * numbers({3, 1, 1}) + numbers({6, 1});
                             return to_last(maximum(y + 1.f, numbers({1, 3, 6, 5})));
                           }),
            "Mul AddV2 AddV2 Maximum");
  // A matrix and back: a permutation that undoes itself.
  EXPECT_EQ(left_by_layout({float32, {4, 7}},
                           [](Tensor x) {
                             return transpose(exp(transpose(x, {{1, 0}})) + numbers({4}),
                                              {{1, 0}});
                           }),
            "Exp AddV2");
}

TEST(Layout, AxesFollow) {
  EXPECT_EQ(left_by_layout(kLast,
                           [](Tensor x) {
                             const Tensor y = to_first(x);
                             return to_last(concat({y, exp(y)}, {1}));
                           }),
            "Exp ConcatV2");
  EXPECT_EQ(
      left_by_layout(kLast,
                     [](Tensor x) {
                       return to_last(pad(to_first(x), {{0, 0}, {0, 1}, {2, 3}, {0, 0}}));
                     }),
      "Pad");
  EXPECT_EQ(
      left_by_layout(kLast,
                     [](Tensor x) {
                       return to_last(slice(to_first(x), {0, 1, 2, 0}, {-1, 2, 3, -1}));
                     }),
      "Slice");
  EXPECT_EQ(left_by_layout(kLast,
                           [](Tensor x) {
                             return to_last(
                                 index(to_first(x), {Index::all(), Index::slice(1, 3)}));
                           }),
            "Slice");
  EXPECT_EQ(left_by_layout(kLast,
                           [](Tensor x) {
                             const Tensors parts =
                                 split(to_first(x), {.num = 3, .axis = 1});
                             return to_last(parts[0] * parts[1] - parts[2]);
                           }),
            "Split Mul Sub");
  EXPECT_EQ(left_by_layout(kLast,
                           [](Tensor x) {
                             const Tensor y = to_first(x);
                             return to_last(
                                 y - reduce_mean(y, {.axis = {1}, .keepdims = true}));
                           }),
            "Mean Sub");
  EXPECT_EQ(
      left_by_layout(
          kLast, [](Tensor x) { return reduce_sum(to_first(x), {.axis = {-1, -2}}); }),
      "Sum");
  // What is left of the dimensions would come out in another order.
  EXPECT_EQ(left_by_layout(
                kLast, [](Tensor x) { return reduce_sum(to_first(x), {.axis = {2}}); }),
            "Transpose Sum");
}

TEST(Layout, OpsWithAFormatChangeIt) {
  EXPECT_EQ(left_by_layout(kLast,
                           [](Tensor x) {
                             const Tensor y = nn::bias_add(to_first(x), numbers({3}),
                                                           {DataFormat::kNCHW});
                             return to_last(nn::fused_batch_norm(
                                                y, numbers({3}), numbers({3}), {}, {},
                                                {.data_format = DataFormat::kNCHW})
                                                .y);
                           }),
            "BiasAdd FusedBatchNormV3");
  // Also towards channels first, when that is what saves bytes.
  EXPECT_EQ(left_by_layout(kFirst,
                           [](Tensor x) {
                             return to_first(nn::bias_add(to_last(x), numbers({3})));
                           }),
            "BiasAdd");
}

TEST(Layout, TransposesStandWhereTheyAreSmallest) {
  // Behind the sum it would cost the same: nothing changes.
  EXPECT_EQ(
      left_by_layout(kLast, [](Tensor x) { return to_first(x) + numbers({2, 3, 6, 5}); }),
      "Transpose AddV2");
  // Only one of the two is transposed: moving it would make it two.
  const auto two = [](const Tensors& x) {
    return Tensors{to_first(x[0]) + x[1], to_first(x[0])};
  };
  EXPECT_EQ(count_ops(optimised({kLast, kFirst}, two), "Transpose"), 1);
  // Half the bytes behind the cast, a quarter behind the pool.
  EXPECT_EQ(
      left_by_layout(kLast, [](Tensor x) { return cast(to_first(x), DType::kFloat16); }),
      "Cast Transpose");
  EXPECT_EQ(
      left_by_layout(kLast, [](Tensor x) { return cast(to_first(x), DType::kFloat64); }),
      "Transpose Cast");
  EXPECT_EQ(left_by_layout(kLast,
                           [](Tensor x) {
                             return reduce_max(to_first(x),
                                               {.axis = {1}, .keepdims = true});
                           }),
            "Max Reshape");
  // A result that is shown in both layouts costs one transposition.
  const auto both = [](const Tensors& x) {
    const Tensor y = exp(to_first(x[0]));
    return Tensors{y, to_last(y)};
  };
  EXPECT_EQ(op_list(optimised({kLast}, both)), "Exp Transpose");
}

TEST(Layout, ConvolutionsRunChannelsLast) {
  const nn::ConvAttrs attrs{.strides = {1, 1, 2, 1},
                            .padding = Padding::kExplicit,
                            .explicit_paddings = {0, 0, 0, 0, 1, 2, 0, 1},
                            .data_format = DataFormat::kNCHW};
  const auto conv = [&](Tensor x) { return nn::conv2d(x, numbers({2, 2, 3, 4}), attrs); };
  EXPECT_EQ(left_by_layout(kFirst, conv, {.convolution = 2}),
            "Transpose Conv2D Transpose");
  // Alone it costs less than the transposes would, two in a row cost more.
  EXPECT_EQ(left_by_layout(kFirst, conv), "Conv2D");
  const auto two = [](Tensor x) {
    const nn::ConvAttrs same{.padding = Padding::kSame, .data_format = DataFormat::kNCHW};
    return nn::conv2d(nn::conv2d(x, numbers({3, 3, 3, 3}), same), numbers({1, 1, 3, 3}),
                      same);
  };
  EXPECT_EQ(left_by_layout(kFirst, two), "Transpose Conv2D Conv2D Transpose");
  EXPECT_EQ(left_by_layout(kFirst, two, {.convolution = 0}), "Conv2D Conv2D");
  EXPECT_EQ(left_by_layout({float32, {1, 2, 3, 4, 5}},
                           [](Tensor x) {
                             return nn::conv3d(x, numbers({2, 1, 2, 2, 3}),
                                               {.data_format = DataFormat::kNCDHW});
                           },
                           {.convolution = 2}),
            "Transpose Conv3D Transpose");
  const auto pool = [](Tensor x) {
    return nn::avg_pool2d(x, {.ksize = {1, 1, 2, 3},
                              .strides = {1, 1, 2, 1},
                              .padding = Padding::kSame,
                              .data_format = DataFormat::kNCHW});
  };
  EXPECT_EQ(left_by_layout(kFirst, pool), "AvgPool");  // few channels
  EXPECT_EQ(left_by_layout({float32, {2, 8, 6, 5}}, pool), "Transpose AvgPool Transpose");
  // One channel: nothing moves.
  EXPECT_EQ(left_by_layout({float32, {2, 1, 6, 5}},
                           [](Tensor x) {
                             return nn::conv2d(x, numbers({2, 2, 1, 1}),
                                               {.data_format = DataFormat::kNCHW});
                           }),
            "Conv2D");
}

// Two residual blocks in NCHW, with projection, pooling and a dense layer.
Tensor residual_network(const Tensor& x) {
  const auto unit = [](const Tensor& in, int64_t from, int64_t to, int64_t stride) {
    const Tensor y = nn::conv2d(in, numbers({3, 3, from, to}, 0.3f),
                                {.strides = {stride},
                                 .padding = Padding::kSame,
                                 .data_format = DataFormat::kNCHW});
    return nn::fused_batch_norm(y, numbers({to}) + 2.f, numbers({to}), {}, {},
                                {.data_format = DataFormat::kNCHW})
        .y;
  };
  Tensor y = nn::relu(unit(x, 3, 4, 1));
  y = nn::max_pool2d(y, {.ksize = {2}, .data_format = DataFormat::kNCHW});
  y = nn::relu(unit(nn::relu(unit(y, 4, 4, 1)), 4, 4, 1) + y);
  y = nn::relu(unit(nn::relu(unit(y, 4, 8, 2)), 8, 8, 1) + unit(y, 4, 8, 2));
  return matmul(reduce_mean(y, {.axis = {2, 3}}), numbers({8, 2}));
}

// The image comes in channels first: one transposition. The mean over positions has no
// layout, so nothing goes back.
TEST(Layout, AResidualNetworkKeepsOneTranspose) {
  const Graph made = optimised({{float32, {2, 3, 8, 8}}}, [](const Tensors& x) {
    return Tensors{residual_network(x[0])};
  });
  EXPECT_EQ(count_ops(made, "Transpose"), 1) << made.dump();
  for (const Node& n : made.nodes()) {
    if (!n.is_op("Conv2D")) continue;
    EXPECT_FALSE(channels_first(n.attrs.ref().as<nn::ConvAttrs>().data_format));
  }
}

// Its gradient by the image: one transposition in, one back out.
TEST(Layout, AResidualNetworkAndItsGradientKeepTwo) {
  const Graph made = optimised({{float32, {2, 3, 8, 8}}}, [](const Tensors& x) {
    GradientTape tape;
    tape.watch(x[0]);
    const Tensor loss = reduce_sum(square(residual_network(x[0])));
    return Tensors{loss, tape.gradient(loss, x[0]).dense()};
  });
  EXPECT_EQ(count_ops(made, "Transpose"), 2) << made.dump();
}

// ---- The choice itself

TEST(LayoutNetwork, HandComputed) {
  // A moved value of 10 bytes → a → b → somebody who wants it as written; a's value has
  // 10 bytes, b's 4: the cheapest place to go back is behind b.
  LayoutNetwork n;
  const int32_t a = n.add_node(0, 0), b = n.add_node(0, 0);
  n.add_value(LayoutNetwork::kMoved, {a}, 10);
  n.add_value(a, {b}, 10);
  n.add_value(b, {LayoutNetwork::kAsWritten}, 4);
  const std::vector<char> moved = n.solve();
  EXPECT_TRUE(moved[static_cast<size_t>(a)] && moved[static_cast<size_t>(b)]);
  EXPECT_EQ(n.cost(moved), 4);
  EXPECT_EQ(n.cost(n.as_written()), 10);
}

TEST(LayoutNetwork, AValueIsTransposedOnceForAllReaders) {
  LayoutNetwork n;
  const int32_t a = n.add_node(7, 0), b = n.add_node(7, 0);
  n.add_value(LayoutNetwork::kAsWritten, {a, b}, 10);  // 10 once against 7 twice
  EXPECT_EQ(n.cost(n.solve()), 10);
}

TEST(LayoutNetwork, EqualCostsMoveNothing) {
  LayoutNetwork n;
  const int32_t a = n.add_node(0, 0);
  n.add_value(LayoutNetwork::kMoved, {a}, 3);
  n.add_value(a, {LayoutNetwork::kAsWritten}, 3);
  EXPECT_FALSE(n.solve()[static_cast<size_t>(a)]);
}

TEST(LayoutNetwork, CheapestOfAllChoices) {
  uint64_t state = 12345;
  const auto below = [&](uint64_t n) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (state >> 33) % n;
  };
  for (int trial = 0; trial < 200; ++trial) {
    LayoutNetwork n;
    const size_t nodes = 1 + below(8);
    for (size_t i = 0; i < nodes; ++i) {
      n.add_node(static_cast<int64_t>(below(6)), static_cast<int64_t>(below(6)));
    }
    for (size_t i = 0; i < nodes * 2; ++i) {
      std::vector<int32_t> readers;
      for (size_t r = 0; r < 1 + below(3); ++r) {
        readers.push_back(static_cast<int32_t>(below(nodes + 2)));
      }
      n.add_value(static_cast<int32_t>(below(nodes + 2)), readers,
                  static_cast<int64_t>(below(9)));
    }
    int64_t least = n.cost(n.as_written());
    for (size_t bits = 0; bits < size_t{1} << nodes; ++bits) {
      std::vector<char> moved = n.as_written();
      for (size_t i = 0; i < nodes; ++i) moved[i + 2] = bits >> i & 1;
      least = std::min(least, n.cost(moved));
    }
    EXPECT_EQ(n.cost(n.solve()), least) << "trial " << trial;
  }
}

}  // namespace
}  // namespace tandem::testing
