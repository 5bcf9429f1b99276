// Training steps of usual models: what is run while the fused kernels of a new step are
// still being compiled.

#include "calls.h"
#include "tandem/tandem.h"
#include "tandem/train.h"

namespace tandem::prebuild {

namespace {

using Tensors = std::vector<Tensor>;

struct Mlp {
  layers::Dense first, second;
  Mlp(int64_t inputs, int64_t units) : first(inputs, units), second(units, 10) {}
  Tensor operator()(const Tensor& x, DType compute) const {
    return cast(second(nn::relu(first(cast(x, compute)))), float32);
  }
  std::vector<Variable> variables() const {
    return layers::join_variables({first.variables(), second.variables()});
  }
};

Graph mlp_step(int64_t batch, int64_t inputs, int64_t units,
               optimizers::GradientOptimizer& optimizer, DType compute = float32) {
  const Mlp mlp(inputs, units);
  optimizer.build(mlp.variables());
  return trace({{float32, {batch, inputs}}, {DType::kInt32, {batch}}}, true,
               [&](const Tensors& x) {
                 GradientTape tape;
                 const Tensor logits = mlp(x[0], compute);
                 const Tensor loss = losses::sparse_categorical_crossentropy(
                     x[1], logits, {.from_logits = true});
                 optimizer.apply(tape.gradient(loss, mlp.variables()), mlp.variables());
                 const Tensor right =
                     equal(argmax(logits, {.axis = 1}), cast(x[1], DType::kInt64));
                 return Tensors{loss, reduce_mean(cast(right, float32))};
               });
}

/// Other losses, with their gradients.
Graph losses_step() {
  return trace({{float32, {32, 10}}, {float32, {32, 10}}}, true, [](const Tensors& x) {
    GradientTape tape;
    tape.watch(x[0]);
    const Tensor p = nn::softmax(x[0]), s = sigmoid(x[0]);
    const Tensors each = {
        losses::categorical_crossentropy(x[1], x[0], {.from_logits = true}),
        losses::categorical_crossentropy(x[1], p), losses::binary_crossentropy(x[1], s),
        losses::mean_squared_error(x[1], x[0]), losses::mean_absolute_error(x[1], x[0])};
    Tensor sum = each[0];
    for (size_t i = 1; i < each.size(); ++i) sum = sum + each[i];
    return Tensors{sum, tape.gradient(sum, x[0]).dense()};
  });
}

}  // namespace

std::vector<Graph> step_graphs() {
  std::vector<Graph> graphs;
  // The sizes of usual examples and a few around them: forms of small products.
  for (const int64_t batch : {32, 128}) {
    for (const int64_t inputs : {100, 784}) {
      optimizers::Adam adam;
      graphs.push_back(mlp_step(batch, inputs, 128, adam));
    }
  }
  optimizers::SGD plain, momentum({.momentum = 0.9});
  optimizers::RMSprop rms;
  optimizers::AdamW adamw;
  optimizers::Adagrad adagrad;
  for (optimizers::GradientOptimizer* optimizer :
       std::initializer_list<optimizers::GradientOptimizer*>{&plain, &momentum, &rms,
                                                             &adamw, &adagrad}) {
    graphs.push_back(mlp_step(32, 100, 64, *optimizer));
  }
  for (const DType half : {DType::kFloat16, DType::kBFloat16}) {
    optimizers::Adam adam;
    graphs.push_back(mlp_step(32, 784, 128, adam, half));
  }
  graphs.push_back(losses_step());
  return graphs;
}

}  // namespace tandem::prebuild
