// Names of dimensions through a graph, by hand.
#include "graph/dim_names.h"

#include <gtest/gtest.h>

#include "graph/autodiff.h"
#include "graph/equal.h"
#include "graph/passes/passes.h"
#include "graph/serialize.h"
#include "support/trace_support.h"
#include "tandem/tandem.h"

namespace tandem::testing {
namespace {

constexpr int64_t kOpen = kUnknownDim;
using Names = std::vector<std::vector<std::string>>;

// The function's graph with names for the dimensions of its parameters.
Graph named(const std::vector<Argument>& arguments, const Names& names,
            const Function& f) {
  Graph g = trace(arguments, f);
  for (size_t i = 0; i < names.size(); ++i) {
    g.node(g.parameters()[i]).outputs[0].dims = names[i];
  }
  return name_dimensions(g);
}

std::string result(const Graph& g, size_t i = 0) {
  return shape_text(g.info(g.results()[i]));
}

std::string of_one(const Argument& argument, const std::vector<std::string>& names,
                   const std::function<Tensor(const Tensor&)>& f) {
  return result(
      named({argument}, {names}, [&](const Tensors& x) { return Tensors{f(x[0])}; }));
}

const Argument kOpenBatch{float32, {kOpen, 4}};

TEST(DimNames, EqualNamesStayWhatTheyAre) {
  const Graph g = named(
      {kOpenBatch, kOpenBatch, {float32, {kOpen}}}, {{"n", ""}, {"n", ""}, {"n"}},
      [](const Tensors& x) { return Tensors{x[0] + x[1], x[2] * x[2], x[0] + 1.f}; });
  EXPECT_EQ(result(g, 0), "[n,4]");
  EXPECT_EQ(result(g, 1), "[n]");
  EXPECT_EQ(result(g, 2), "[n,4]");
}

TEST(DimNames, DifferentOrNoNamesMayBroadcast) {
  const Graph g =
      named({kOpenBatch, kOpenBatch, kOpenBatch}, {{"n", ""}, {"m", ""}, {}},
            [](const Tensors& x) {
              return Tensors{x[0] + x[2], matmul(x[0], x[2], {.transpose_b = true})};
            });
  EXPECT_EQ(result(g, 0), "[?,4]");
  EXPECT_EQ(result(g, 1), "[n,?]");
}

TEST(DimNames, FollowShapesThroughValues) {
  EXPECT_EQ(of_one({float32, {kOpen, 2, 3}}, {"n", "", ""},
                   [](const Tensor& x) {
                     const Tensor n = slice(shape(x), {0}, {1});
                     return reshape(x, concat({n, constant({-1})}, {0}));
                   }),
            "[n,6]");
  // Two ways to lose the batch and find it again.
  EXPECT_EQ(of_one({float32, {kOpen, 8}}, {"n", ""},
                   [](const Tensor& x) {
                     return reshape(reshape(x, Shape{kOpen, 2}) * 2.f, Shape{kOpen, 8});
                   }),
            "[n,8]");
  EXPECT_EQ(of_one({float32, {kOpen, kOpen, 4}}, {"n", "t", ""},
                   [](const Tensor& x) { return transpose(x, {.perm = {1, 2, 0}}); }),
            "[t,4,n]");
}

TEST(DimNames, SizesMadeOfNames) {
  EXPECT_EQ(of_one(kOpenBatch, {"n", ""},
                   [](const Tensor& x) { return concat({x, x, x}, {.axis = 0}); }),
            "[3*n,4]");
  EXPECT_EQ(
      of_one(kOpenBatch, {"n", ""},
             [](const Tensor& x) { return concat({x, zeros({2, 4})}, {.axis = 0}); }),
      "[n+2,4]");
  EXPECT_EQ(of_one({float32, {kOpen, kOpen, 4}}, {"n", "t", ""},
                   [](const Tensor& x) { return reshape(x, Shape{kOpen, 4}); }),
            "[n*t,4]");
}

// A slice that is as long as the tensor for some sizes only has no name.
TEST(DimNames, AreNotGivenToWhatIsEqualOnlySometimes) {
  const auto head = [](int64_t most) {
    return [most](const Tensor& x) {
      const Tensor size = minimum(shape(x), constant({static_cast<int32_t>(most), 4}));
      return slice(x, constant({0, 0}), size);
    };
  };
  for (int64_t most : {int64_t{1}, int64_t{2}, int64_t{5000}, int64_t{1} << 25}) {
    EXPECT_EQ(of_one(kOpenBatch, {"n", ""}, head(most)), "[?,4]") << most;
  }
  EXPECT_EQ(
      of_one({float32, {kOpen}}, {"n"},
             [](const Tensor& x) { return zeros(maximum(shape(x), constant({2}))); }),
      "[?]");
}

TEST(DimNames, InBranchesAndLoops) {
  const Graph g =
      named({kOpenBatch, kOpenBatch}, {{"n", ""}, {"n", ""}}, [](const Tensors& x) {
        const Tensors branch = trace_if(
            reduce_sum(x[0]) > 0.f, [&] { return Tensors{x[0] + x[1]}; },
            [&] { return Tensors{x[1] * 2.f}; });
        const Tensors loop =
            trace_while([](const Tensors& c) { return c[0] < 3; },
                        [&](const Tensors& c) { return Tensors{c[0] + 1, c[1] + x[0]}; },
                        {constant(int32_t{0}), x[1]});
        return Tensors{branch[0], loop[1]};
      });
  EXPECT_EQ(result(g, 0), "[n,4]");
  EXPECT_EQ(result(g, 1), "[n,4]");
  const Graph& then_branch = *find_node(g, "If").subgraphs[0];
  EXPECT_EQ(result(then_branch), "[n,4]");
}

TEST(DimNames, LetPassesDropWhatChangesNothing) {
  const auto f = [](const Tensors& x) {
    return Tensors{reshape(x[0], shape(x[1])) * 2.f};
  };
  const Graph open = trace({kOpenBatch, kOpenBatch}, f);
  EXPECT_EQ(count_ops(simplify(open), "Reshape"), 1);
  const Graph agreeing = named({kOpenBatch, kOpenBatch}, {{"n", ""}, {"n", ""}}, f);
  EXPECT_EQ(op_list(remove_dead_nodes(simplify(agreeing))), "Mul");
  const auto g = [](const Tensors& x) {
    return Tensors{broadcast_to(x[0], shape(x[1]))};
  };
  EXPECT_EQ(count_ops(simplify(trace({kOpenBatch, kOpenBatch}, g)), "BroadcastTo"), 1);
  EXPECT_EQ(op_list(remove_dead_nodes(
                simplify(named({kOpenBatch, kOpenBatch}, {{"n", ""}, {"n", ""}}, g)))),
            "");
}

TEST(DimNames, OfGradients) {
  const Graph product = named({kOpenBatch, kOpenBatch}, {{"n", ""}, {"n", ""}},
                              [](const Tensors& x) { return Tensors{x[0] * x[1]}; });
  const std::vector<ValueRef> wanted{{product.parameters()[0], 0}};
  const std::vector<size_t> results{0};
  const Graph backward = differentiate(product, wanted, results).backward;
  EXPECT_EQ(shape_text(find_node(backward, "Mul").outputs[0]), "[n,4]");
}

TEST(DimNames, StayWhenSizesAreKnown) {
  const Graph g = named({kOpenBatch}, {{"n", ""}},
                        [](const Tensors& x) { return Tensors{x[0] + 1.f}; });
  const Graph known = specialize(g, infos_of({zeros({32, 4})}));
  EXPECT_EQ(result(known), "[n=32,4]");
  EXPECT_NE(known.dump().find("float32[n=32,4]"), std::string::npos) << known.dump();
  EXPECT_NE(g.dump().find("float32[n,4]"), std::string::npos) << g.dump();
}

TEST(DimNames, AreStoredAndLoaded) {
  const Graph g = named({kOpenBatch}, {{"n", ""}},
                        [](const Tensors& x) { return Tensors{x[0] + 1.f}; });
  const Graph back = from_bytes(to_bytes(g), {});
  EXPECT_TRUE(equal(g, back));
  EXPECT_EQ(result(back), "[n,4]");
  Graph other = g;
  other.node(other.parameters()[0]).outputs[0].dims = {"m", ""};
  EXPECT_FALSE(equal(g, other));
}

TEST(DimNames, OfAFunction) {
  auto f = function(
      [](Tensor x, Tensor y) { return matmul(x, y, {.transpose_b = true}) + 1.f; },
      {.name = "scores",
       .input_signature = {{{.shape = {kOpen, 8}, .dims = {"batch", ""}},
                            {.shape = {kOpen, 8}, .dims = {"keys", ""}}}}});
  f.prepare({{.shape = {kOpen, 8}}, {.shape = {kOpen, 8}}});
  EXPECT_NE(f.dump().find("float32[batch,keys]"), std::string::npos) << f.dump();
  EXPECT_EQ(f(zeros({3, 8}), zeros({5, 8})).shape(), (Shape{3, 5}));
  EXPECT_NE(f.explain().find("dimensions: batch = 3, keys = 5"), std::string::npos)
      << f.explain();
  EXPECT_NE(f.dump().find("float32[batch=3,8]"), std::string::npos) << f.dump();
}

}  // namespace
}  // namespace tandem::testing
