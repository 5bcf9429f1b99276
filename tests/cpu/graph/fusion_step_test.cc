// Whole training steps, gradients included: how few kernels are left, and that they train
// to the same numbers.
#include "fusion_testing.h"
#include "graph/passes/passes.h"
#include "graph/verify.h"
#include "run/graph_interpreter.h"
#include "support/traced.h"

namespace tandem {
namespace {

using namespace testing;
using Loss = std::function<Tensor(const Tensors& x, const std::vector<Variable>& w)>;

std::vector<Variable> weights(const std::vector<Shape>& shapes) {
  std::vector<Variable> w;
  for (const Shape& s : shapes) {
    w.emplace_back(numbers(s, static_cast<uint32_t>(w.size())) * 0.3f);
  }
  return w;
}

// A step of gradient descent as a graph.
Graph step(const Tensors& given, std::vector<Variable>& w, const Loss& loss) {
  const auto graph = testing::trace(
      [&](const Tensors& x) {
        GradientTape tape;
        const Tensor value = loss(x, w);
        const auto gradients = tape.gradient(value, w);
        for (size_t i = 0; i < w.size(); ++i) {
          w[i].assign_sub(Tensor(gradients[i]) * 0.1f);
        }
        return Tensors{value};
      },
      given);
  return optimize(specialize(*graph, infos_of(given)));
}

// The fused step, after it was seen to do what the step does.
Graph checked_step(const Tensors& given, const std::vector<Shape>& shapes,
                   const Loss& loss) {
  std::vector<Variable> plain_w = weights(shapes), fused_w = weights(shapes);
  const Graph plain = step(given, plain_w, loss);
  Graph made = fuse(step(given, fused_w, loss), cpu_fusion_target());
  verify(made);
  Tensors a, b;
  for (int i = 0; i < 3; ++i) {
    a.push_back(interpret(plain, given)[0]);
    b.push_back(interpret(made, given)[0]);
  }
  for (size_t i = 0; i < plain_w.size(); ++i) {
    a.push_back(plain_w[i].read());
    b.push_back(fused_w[i].read());
  }
  for (size_t i = 0; i < a.size(); ++i) {
    const auto x = a[i].to_vector<float>(), y = b[i].to_vector<float>();
    for (size_t k = 0; k < x.size(); ++k) {
      EXPECT_NEAR(x[k], y[k], 1e-5 * std::max(1.f, std::abs(x[k]))) << i << " " << k;
    }
  }
  EXPECT_LT(b[2].to_vector<float>()[0], b[0].to_vector<float>()[0]) << "does not learn";
  return made;
}

TEST(FuseStep, APerceptron) {
  const Tensors given = {numbers({64, 20}, 1),
                         cast(numbers({64}, 3) * 4 + 5, DType::kInt32)};
  const Graph g = checked_step(
      given, {{20, 30}, {30}, {30, 30}, {30}, {30, 10}, {10}}, [](auto& x, auto& w) {
        Tensor h = nn::relu(nn::bias_add(matmul(x[0], w[0]), w[1]));
        h = nn::relu(nn::bias_add(matmul(h, w[2]), w[3]));
        h = nn::bias_add(matmul(h, w[4]), w[5]);
        return reduce_mean(nn::sparse_softmax_cross_entropy(x[1], h));
      });
  // Three products forward, with bias and activation; the loss and its mean; of the
  // loss's gradient and of each layer one program with the bias's gradient; five products
  // back; one update.
  EXPECT_EQ(count_ops(g, "FusedMatMul"), 3) << kernel_list(g);
  EXPECT_EQ(count_ops(g, "MatMul"), 5);
  EXPECT_EQ(count_ops(g, "Fused"), 3);
  EXPECT_EQ(count_ops(g, "FusedMulti"), 1);
  EXPECT_EQ(count_kernels(g), 14);
}

// Normalisation, two products and a residual, as a transformer has them.
TEST(FuseStep, ANormalizedBlock) {
  const Graph g = checked_step(
      {numbers({16, 4, 32}, 1)}, {{32, 64}, {64}, {64, 32}, {32}, {32}, {32}},
      [](auto& x, auto& w) {
        const ReduceAttrs rows{.axis = {-1}, .keepdims = true};
        const Tensor centred = x[0] - reduce_mean(x[0], rows);
        const Tensor scale = rsqrt(reduce_mean(square(centred), rows) + 1e-3);
        const Tensor n = centred * scale * w[4].read() + w[5].read();
        const Tensor h = nn::gelu(matmul(n, w[0]) + w[1].read());
        return reduce_mean(square(matmul(h, w[2]) + w[3].read() + x[0]));
      });
  EXPECT_EQ(count_ops(g, "FusedMatMul"), 2) << kernel_list(g);
  EXPECT_EQ(count_ops(g, "MatMul"), 4);
  // Normalisation; loss and its gradient; gradient of gelu; gradients of scale and
  // offset.
  EXPECT_EQ(count_ops(g, "Fused"), 4);
  EXPECT_EQ(count_kernels(g), 12);
}

// The gradient of a mean is spread over the image for an op that wants equal shapes.
TEST(FuseStep, AConvolutionWithAResidual) {
  const Graph g = checked_step(
      {numbers({8, 10, 10, 3}, 1)}, {{3, 3, 3, 8}, {8}, {3, 3, 8, 8}, {8}, {8, 5}},
      [](auto& x, auto& w) {
        const nn::ConvAttrs same{.padding = nn::Padding::kSame};
        const Tensor h = nn::relu(nn::bias_add(nn::conv2d(x[0], w[0], same), w[1]));
        const Tensor k = nn::bias_add(nn::conv2d(h, w[2], same), w[3]) + h;
        const Tensor pooled = reduce_mean(nn::relu(k), {.axis = {1, 2}});
        return reduce_mean(square(matmul(pooled, w[4]) - 1));
      });
  EXPECT_EQ(count_ops(g, "FusedConv2D"), 2) << kernel_list(g);
  EXPECT_EQ(count_ops(g, "ReluGrad"), 0);
  EXPECT_EQ(count_ops(g, "FusedMulti"), 1);
}

}  // namespace
}  // namespace tandem
