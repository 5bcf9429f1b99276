// Single ops. Shapes are small, and only their forms count: equal shapes, one element and
// many, a row or a column beside a matrix.
#include "tandem/ops.h"

#include "calls.h"

namespace tandem::prebuild {

namespace {

using Tensors = std::vector<Tensor>;
constexpr DType kHalf[] = {DType::kFloat16, DType::kBFloat16};
constexpr DType kFloating[] = {DType::kFloat32, DType::kFloat16, DType::kBFloat16};
constexpr DType kInts[] = {DType::kInt32, DType::kInt64};
constexpr DType kAll[] = {DType::kFloat32, DType::kFloat16, DType::kBFloat16,
                          DType::kInt32,   DType::kInt64,   DType::kBool};
const Shape kMatrix{32, 64};

/// What training uses, in every floating dtype.
Tensors common_unary(const Tensor& x) {
  return {negative(x), square(x), sqrt(x),    rsqrt(x),    exp(x),
          log(x),      tanh(x),   sigmoid(x), nn::relu(x), nn::gelu(x, {true}),
          nn::silu(x)};
}
Tensors more_unary(const Tensor& x) {
  return {abs(x),   reciprocal(x), nn::softplus(x), nn::gelu(x), sign(x),
          floor(x), ceil(x),       sin(x),          cos(x),      log1p(x),
          expm1(x), erf(x),        is_finite(x),    nn::selu(x), log_sigmoid(x)};
}
Tensors common_gradients(const Tensor& x, const Tensor& y) {
  return {nn::relu_grad(x, y), sigmoid_grad(x, y), tanh_grad(x, y),
          nn::gelu_grad(x, y, {true}), nn::silu_grad(x, y)};
}
Tensors more_gradients(const Tensor& x, const Tensor& y) {
  return {sqrt_grad(x, y), rsqrt_grad(x, y), nn::gelu_grad(x, y),
          nn::softplus_grad(x, y)};
}
Tensors arithmetic(const Tensor& x, const Tensor& y) {
  return {x + y, x - y, x * y, maximum(x, y), minimum(x, y)};
}
Tensors comparisons(const Tensor& x, const Tensor& y) {
  return {equal(x, y),      not_equal(x, y), less(x, y),
          less_equal(x, y), greater(x, y),   greater_equal(x, y)};
}
Tensors reductions(const Tensor& x) {
  return {reduce_sum(x), reduce_mean(x), reduce_max(x), reduce_min(x)};
}
Tensors moves(const Tensor& x) {
  return {transpose(x),
          concat({x, x}, {0}),
          concat({x, x}, {1}),
          slice(x, {1, 1}, {4, 8}),
          tile(x, {2, 1}),
          stack({x, x}),
          zeros_like(x),
          ones_like(x),
          broadcast_to(slice(x, {0, 0}, {1, 64}), kMatrix),
          broadcast_to(slice(x, {0, 0}, {32, 1}), kMatrix)};
}

}  // namespace

std::vector<Graph> op_graphs() {
  std::vector<Graph> graphs;
  const auto add = [&](const std::vector<Argument>& arguments,
                       const std::function<Tensors(const Tensors&)>& body) {
    graphs.push_back(trace(arguments, false, body));
  };
  for (const DType t : kFloating) {
    add({{t, kMatrix}}, [](const Tensors& x) { return common_unary(x[0]); });
    add({{t, kMatrix}, {t, kMatrix}},
        [](const Tensors& x) { return common_gradients(x[0], x[1]); });
    // Equal shapes, a number beside many, a bias.
    for (const Shape& other : {kMatrix, Shape{}}) {
      add({{t, kMatrix}, {t, other}}, [](const Tensors& x) {
        return Tensors{x[0] + x[1], x[0] - x[1], x[0] * x[1], x[0] / x[1]};
      });
    }
    add({{t, kMatrix}, {t, {64}}}, [](const Tensors& x) {
      return Tensors{x[0] + x[1], x[0] * x[1], nn::bias_add(x[0], x[1])};
    });
    add({{t, kMatrix}}, [](const Tensors& x) { return reductions(x[0]); });
    add({{t, kMatrix}}, [](const Tensors& x) {
      return Tensors{nn::softmax(x[0], {.axis = 0}), argmax(x[0], {.axis = 1})};
    });
    // One length for each way of keeping a row (kernels/cuda/row_form.h).
    for (const int64_t n : {10, 64, 128, 500, 1000, 2000, 4000, 8000, 9000}) {
      add({{t, {32, n}}}, [](const Tensors& x) { return Tensors{nn::softmax(x[0])}; });
    }
    for (const int64_t n : {10, 64, 128, 1000, 9000}) {
      add({{t, {32, n}}, {DType::kInt32, {32}}}, [](const Tensors& x) {
        return Tensors{nn::sparse_softmax_cross_entropy(x[1], x[0])};
      });
    }
  }
  add({{DType::kFloat32, kMatrix}, {DType::kFloat32, kMatrix}}, [](const Tensors& x) {
    Tensors made = more_gradients(x[0], x[1]);
    made.insert(made.end(), {maximum(x[0], x[1]), minimum(x[0], x[1]), pow(x[0], x[1]),
                             squared_difference(x[0], x[1])});
    return made;
  });
  add({{DType::kFloat32, kMatrix}, {DType::kFloat32, {}}}, [](const Tensors& x) {
    return Tensors{x[1] - x[0], x[1] / x[0], maximum(x[0], x[1]), minimum(x[0], x[1])};
  });
  // A row or a factor of each row beside a matrix.
  for (const Shape& other : {Shape{64}, Shape{32, 1}}) {
    add({{DType::kFloat32, kMatrix}, {DType::kFloat32, other}}, [](const Tensors& x) {
      return Tensors{x[0] + x[1], x[0] - x[1], x[0] * x[1], x[0] / x[1]};
    });
  }
  add({{DType::kFloat32, kMatrix}}, [](const Tensors& x) {
    Tensors made = more_unary(x[0]);
    made.push_back(reduce_prod(x[0]));
    made.push_back(reduce_logsumexp(x[0]));
    made.push_back(reduce_variance(x[0]));
    made.push_back(cumsum(x[0]));
    made.push_back(random::uniform({32, 64}));
    return made;
  });
  for (const DType t : {DType::kFloat32, DType::kInt32, DType::kInt64}) {
    add({{t, kMatrix}, {t, kMatrix}},
        [](const Tensors& x) { return comparisons(x[0], x[1]); });
    add({{t, kMatrix}, {t, {}}},
        [](const Tensors& x) { return comparisons(x[0], x[1]); });
  }
  for (const DType t : kInts) {
    for (const Shape& other : {kMatrix, Shape{}}) {
      add({{t, kMatrix}, {t, other}},
          [](const Tensors& x) { return arithmetic(x[0], x[1]); });
    }
    add({{t, kMatrix}, {t, {}}}, [](const Tensors& x) {
      return Tensors{floordiv(x[0], x[1]), floormod(x[0], x[1])};
    });
    add({{t, kMatrix}}, [](const Tensors& x) {
      Tensors made = reductions(x[0]);
      made.insert(made.end(), {negative(x[0]), abs(x[0])});
      return made;
    });
    add({{DType::kFloat32, kMatrix}, {t, {8}}},
        [](const Tensors& x) { return Tensors{gather(x[0], x[1]), one_hot(x[1], 10)}; });
  }
  add({{DType::kBool, kMatrix}, {DType::kBool, kMatrix}}, [](const Tensors& x) {
    return Tensors{logical_and(x[0], x[1]), logical_or(x[0], x[1]), logical_not(x[0]),
                   reduce_any(x[0]), reduce_all(x[0])};
  });
  for (const DType from : kAll) {
    add({{from, kMatrix}}, [from](const Tensors& x) {
      Tensors made = moves(x[0]);
      for (const DType to : kAll) {
        if (to != from) made.push_back(cast(x[0], to));
      }
      return made;
    });
    add({{from, {}}}, [](const Tensors& x) { return Tensors{fill({32, 64}, x[0])}; });
  }
  for (const DType t : {DType::kFloat32, DType::kInt32}) {
    add({{DType::kBool, kMatrix}, {t, kMatrix}, {t, kMatrix}},
        [](const Tensors& x) { return Tensors{where(x[0], x[1], x[2])}; });
  }
  for (const DType t : kHalf) {
    add({{t, kMatrix}, {t, kMatrix}},
        [](const Tensors& x) { return Tensors{greater(x[0], x[1])}; });
  }
  return graphs;
}

}  // namespace tandem::prebuild
