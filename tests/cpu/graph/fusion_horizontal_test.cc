// Horizontal fusion: whole optimizer steps over many variables, and the traps.
#include "fusion_testing.h"
#include "graph/passes/passes.h"
#include "graph/verify.h"
#include "run/graph_interpreter.h"

namespace tandem {
namespace {

using namespace testing;

// Matrices, vectors, filters and single numbers, in no order.
std::vector<Shape> mixed_shapes(int count) {
  const std::vector<Shape> kinds = {{16, 8}, {8},       {3, 3, 4, 5}, {},
                                    {1},     {40},      {2, 3, 4, 1}, {7, 9},
                                    {5, 1},  {300, 300}};
  std::vector<Shape> shapes;
  for (int i = 0; i < count; ++i) {
    shapes.push_back(kinds[static_cast<size_t>(i) % kinds.size()]);
  }
  return shapes;
}

// Adam as Keras writes it, variable by variable.
class Adam {
 public:
  explicit Adam(const std::vector<Shape>& shapes) {
    uint32_t seed = 0;
    for (const Shape& s : shapes) {
      w_.emplace_back(numbers(s, ++seed));
      m_.emplace_back(zeros(s));
      v_.emplace_back(zeros(s));
    }
    iteration_ = Variable(constant(int64_t{0}), {.trainable = false});
    rate_ = Variable(constant(0.1f), {.trainable = false});
  }
  void apply(const Tensors& grads) {
    for (size_t i = 0; i < grads.size(); ++i) {
      // The optimizer computes these for every variable again; they are the same.
      const Tensor step = cast(iteration_.read() + 1, float32);
      const Tensor power1 = pow(constant(0.9f), step),
                   power2 = pow(constant(0.999f), step);
      const Tensor alpha = rate_.read() * sqrt(1 - power2) / (1 - power1);
      const Tensor& g = grads[i];
      m_[i].assign_add((g - m_[i].read()) * (1 - 0.9f));
      v_[i].assign_add((square(g) - v_[i].read()) * (1 - 0.999f));
      w_[i].assign_sub(m_[i].read() * alpha / (sqrt(v_[i].read()) + 1e-7f));
    }
    iteration_.assign_add(constant(int64_t{1}));
  }
  std::vector<Tensor> values() const {
    std::vector<Tensor> all;
    for (size_t i = 0; i < w_.size(); ++i) {
      for (const Variable* v : {&w_[i], &m_[i], &v_[i]}) all.push_back(v->read());
    }
    all.push_back(cast(iteration_.read(), float32));
    return all;
  }

 private:
  std::vector<Variable> w_, m_, v_;
  Variable iteration_, rate_;
};

Graph fused(const Graph& graph, FusionNotes* notes = nullptr) {
  Graph g = fuse(optimize(graph), cpu_fusion_target(), notes);
  verify(g);
  return g;
}

Tensors gradients_like(const std::vector<Shape>& shapes) {
  Tensors grads;
  for (size_t i = 0; i < shapes.size(); ++i) {
    grads.push_back(numbers(shapes[i], static_cast<uint32_t>(1000 + i)));
  }
  return grads;
}

// Steps of equal optimizers, as written, fused, and fused and taken apart again, end at
// the same bits.
template <class Step>
void expect_same_steps(const std::vector<Shape>& shapes, Step&& step,
                       double tolerance = 0) {
  Adam plain(shapes), made(shapes), apart(shapes);
  const Tensors grads = gradients_like(shapes);
  const auto graph_of = [&](Adam& adam) {
    return traced(grads, [&](auto& g) { return step(adam, g); });
  };
  const Graph graphs[] = {graph_of(plain), fused(graph_of(made)),
                          unfused(fused(graph_of(apart)))};
  for (int i = 0; i < 2; ++i) {
    for (const Graph& g : graphs) interpret(g, grads);
  }
  const Tensors a = plain.values(), b = made.values(), c = apart.values();
  for (size_t i = 0; i < a.size(); ++i) {
    const auto x = a[i].to_vector<float>(), y = b[i].to_vector<float>(),
               z = c[i].to_vector<float>();
    for (size_t k = 0; k < x.size(); ++k) {
      ASSERT_NEAR(x[k], y[k], tolerance) << "variable " << i / 3 << " element " << k;
      ASSERT_NEAR(x[k], z[k], tolerance) << "variable " << i / 3 << " element " << k;
    }
  }
}

Tensors plain_step(Adam& adam, const Tensors& grads) {
  adam.apply(grads);
  return {};
}

Tensors clipped(const Tensors& grads, bool stacked) {
  Tensors squares;
  for (const Tensor& g : grads) squares.push_back(reduce_sum(square(g)));
  Tensor total = squares[0];
  if (stacked) {
    total = reduce_sum(stack(squares));
  } else {
    for (size_t i = 1; i < squares.size(); ++i) total = total + squares[i];
  }
  const Tensor norm = sqrt(total);
  const Tensor scale =
      1.f * minimum(1.f / norm, 1.f / scalar(1, float32)) + (norm - norm);
  Tensors result;
  for (const Tensor& g : grads) result.push_back(g * scale);
  return result;
}
Tensors clipped_step(Adam& adam, const Tensors& grads) {
  adam.apply(clipped(grads, true));
  return {};
}
Tensors clipped_sum_step(Adam& adam, const Tensors& grads) {
  adam.apply(clipped(grads, false));
  return {};
}

// The update happens only when all gradients are finite.
Tensors scaled_step(Adam& adam, const Tensors& grads) {
  Tensors unscaled, finite;
  for (const Tensor& g : grads) unscaled.push_back(g * (1.f / 1024.f));
  for (const Tensor& g : unscaled) finite.push_back(reduce_all(is_finite(g)));
  trace_if(
      reduce_all(stack(finite)),
      [&] {
        adam.apply(clipped(unscaled, true));
        return Tensors{};
      },
      [] { return Tensors{}; });
  return {};
}

constexpr int kVariables = 200;

TEST(FuseHorizontal, AdamOverManyVariablesIsTwoKernels) {
  const auto shapes = mixed_shapes(kVariables);
  Adam adam(shapes);
  const Graph g = fused(traced(gradients_like(shapes),
                               [&](auto& grads) { return plain_step(adam, grads); }));
  EXPECT_LE(count_kernels(g), 4);  // what is promised
  EXPECT_EQ(count_kernels(g), 2) << kernel_list(g);
  const Node& update = only(g, "FusedMulti");
  EXPECT_EQ(update.attrs.ref().as<FusedAttrs>().groups, kVariables);
  EXPECT_EQ(update.outputs.size(), size_t{3} * kVariables);
}

TEST(FuseHorizontal, AdamComputesTheSame) {
  expect_same_steps(mixed_shapes(12), plain_step);
}

TEST(FuseHorizontal, GlobalNormsTakeThreeKernelsMore) {
  const auto shapes = mixed_shapes(kVariables);
  for (bool stacked : {true, false}) {
    Adam adam(shapes);
    const Graph g = fused(traced(gradients_like(shapes), [&](auto& grads) {
      return stacked ? clipped_step(adam, grads) : clipped_sum_step(adam, grads);
    }));
    EXPECT_LE(count_kernels(g), 5) << kernel_list(g);
    EXPECT_EQ(count_ops(g, "FusedMulti"), 2);
    EXPECT_EQ(count_ops(g, stacked ? "Pack" : "AddN"), 1);
  }
}

TEST(FuseHorizontal, ClippedAdamComputesTheSame) {
  expect_same_steps(mixed_shapes(12), clipped_step, 1e-6);
  expect_same_steps(mixed_shapes(12), clipped_sum_step, 1e-6);
}

TEST(FuseHorizontal, UpdatesUnderLossScalingAreFusedInTheirBranch) {
  const auto shapes = mixed_shapes(kVariables);
  Adam adam(shapes);
  const Graph g = fused(traced(gradients_like(shapes),
                               [&](auto& grads) { return scaled_step(adam, grads); }));
  const Graph& branch = *find_node(g, "If").subgraphs[0];
  EXPECT_LE(count_kernels(branch), 5) << kernel_list(branch);
  EXPECT_EQ(count_ops(branch, "FusedMulti"), 2);
  // Unscale and check in one kernel, pack, reduce.
  EXPECT_LE(count_kernels(g), 3) << kernel_list(g);
  EXPECT_EQ(only(g, "FusedMulti").outputs.size(), size_t{2} * kVariables);
}

TEST(FuseHorizontal, ScaledAdamComputesTheSame) {
  expect_same_steps(mixed_shapes(12), scaled_step, 1e-6);
}

// tanh(x) → matmul → tanh: the second depends on the first.
TEST(FuseHorizontal, NodesOnOnePathStayApart) {
  const Tensors x = {numbers({4, 4}, 1), numbers({4, 4}, 2)};
  const Graph g = traced(x, [](auto& x_) {
    const Tensor a = tanh(x_[0]);
    return Tensors{tanh(matmul(a, a)), tanh(x_[1])};
  });
  const Graph made = fuse_horizontal(g, cpu_fusion_target());
  verify(made);
  expect_same(g, unfused(made), x);
  // The first joins the third; the second comes after.
  EXPECT_EQ(op_list(made), "FusedMulti MatMul Tanh");
}

// tanh(a) feeds exp(p) and exp(b) feeds tanh(q): either pair may be one node, not both.
TEST(FuseHorizontal, TwoGroupsDoNotMakeACycle) {
  const Tensors x = {numbers({4, 4}, 1), numbers({4, 4}, 2)};
  const Graph g = traced(x, [](auto& x_) {
    const Tensor tanh1 = tanh(x_[0]), exp1 = exp(x_[1]);
    const Tensor exp2 = exp(matmul(tanh1, tanh1)), tanh2 = tanh(matmul(exp1, exp1));
    return Tensors{exp2, tanh2};
  });
  const Graph made = fuse_horizontal(g, cpu_fusion_target());
  verify(made);
  expect_same(g, unfused(made), x);
  EXPECT_EQ(count_ops(made, "FusedMulti"), 1);
  EXPECT_EQ(count_ops(made, "Tanh") + count_ops(made, "Exp"), 2);
}

TEST(FuseHorizontal, OtherProgramsAndDevicesStayApart) {
  Graph g = traced({numbers({4}, 1), numbers({5}, 2), numbers({6}, 3)},
                   [](auto& x) { return Tensors{tanh(x[0]), exp(x[1]), tanh(x[2])}; });
  EXPECT_EQ(count_kernels(fuse_horizontal(g, cpu_fusion_target())), 2);
  for (int32_t i = 0; i < g.size(); ++i) {
    if (g.node(i).is_op("Tanh")) {
      g.node(i).device = "/device:GPU:0";
      break;
    }
  }
  EXPECT_EQ(count_kernels(fuse_horizontal(g, cpu_fusion_target())), 3);
}

// Two large kernels gain nothing by waiting for each other; many do, and so do updates.
TEST(FuseHorizontal, LargeTensorsAreGroupedOnlyInNumbers) {
  const auto graph = [](size_t count, int64_t size) {
    Tensors x;
    for (size_t i = 0; i < count; ++i) x.push_back(numbers({size}, 1));
    return traced(x, [](auto& x_) {
      Tensors y;
      for (const Tensor& t : x_) y.push_back(tanh(t));
      return y;
    });
  };
  const FusionTarget target = cpu_fusion_target();
  EXPECT_EQ(count_kernels(fuse_horizontal(graph(2, 100000), target)), 2);
  EXPECT_EQ(count_kernels(fuse_horizontal(graph(2, 1000), target)), 1);
  EXPECT_EQ(count_kernels(fuse_horizontal(graph(10, 100000), target)), 1);
}

// Bias gradients of many layers: each frees a large matrix for a short vector, and has to
// run while the next layer's is not there yet.
TEST(FuseHorizontal, SumsThatFreeMemoryAreNotHeldBack) {
  const auto graph = [](bool used_later) {
    Tensors x;
    for (uint32_t i = 0; i < 10; ++i) x.push_back(numbers({400, 200}, i));
    return traced(x, [&](auto& x_) {
      Tensors large, sums, results;
      for (const Tensor& t : x_) large.push_back(cumsum(t, {.axis = 0}));
      for (const Tensor& t : large) sums.push_back(reduce_sum(t, {.axis = {0}}));
      const Tensor all = reduce_sum(stack(sums));
      if (!used_later) return Tensors{all};
      for (const Tensor& t : large)
        results.push_back(matmul(t, t, {.transpose_a = true}) * all);
      for (const Tensor& t : large) results.push_back(cumsum(t * all, {.axis = 0}));
      return results;
    });
  };
  const FusionTarget target = cpu_fusion_target();
  EXPECT_EQ(count_ops(fuse_horizontal(graph(false), target), "Sum"), 11);
  EXPECT_EQ(count_ops(fuse_horizontal(graph(true), target), "Sum"), 1);
}

TEST(FuseHorizontal, GroupsAreLimited) {
  Tensors x;
  for (uint32_t i = 0; i < 10; ++i) x.push_back(numbers({4}, i));
  const Graph g = traced(x, [](auto& x_) {
    Tensors y;
    for (const Tensor& t : x_) y.push_back(tanh(t));
    return y;
  });
  FusionTarget target = cpu_fusion_target();
  target.max_groups = 4;
  const Graph made = fuse_horizontal(g, target);
  EXPECT_EQ(count_kernels(made), 3);
  expect_same(g, unfused(made), x);
}

TEST(FuseHorizontal, EqualInputsAreComputedOnce) {
  const Tensors x = {numbers({4}, 1), numbers({5}, 2)};
  const Graph g =
      traced(x, [](auto& x_) { return Tensors{tanh(x_[0]), tanh(x_[0]), tanh(x_[1])}; });
  const Graph made = fuse_horizontal(g, cpu_fusion_target());
  EXPECT_EQ(only(made, "FusedMulti").outputs.size(), 2u);
  expect_same(g, unfused(made), x);
}

TEST(FuseHorizontal, DecisionsAreNoted) {
  FusionNotes notes;
  const Graph g =
      fuse_horizontal(traced({numbers({4}, 1), numbers({5}, 2)},
                             [](auto& x) { return Tensors{tanh(x[0]), tanh(x[1])}; }),
                      cpu_fusion_target(), &notes);
  ASSERT_EQ(notes.size(), 1u);
  EXPECT_EQ(notes[0].node, only(g, "FusedMulti").name);
  EXPECT_EQ(notes[0].node, "multi/Tanh(1 ops x 2)");
  EXPECT_EQ(notes[0].text,
            "2 kernels with one program of 1 ops over 9 elements in all are one launch");
}

}  // namespace
}  // namespace tandem
