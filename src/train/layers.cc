#include "tandem/train/layers.h"

#include "tandem/ops.h"
#include "tandem/train/initializers.h"
#include "train/compute_dtype.h"
#include "train/project.h"

namespace tandem::layers {

std::vector<Variable> join_variables(const std::vector<std::vector<Variable>>& lists) {
  std::vector<Variable> all;
  for (const auto& list : lists) all.insert(all.end(), list.begin(), list.end());
  return all;
}

Dense::Dense(int64_t inputs, int64_t units, DenseOptions options)
    : kernel(initializers::glorot_uniform({inputs, units}, options.seed),
             {.name = options.name + "/kernel"}),
      activation(std::move(options.activation)) {
  if (options.use_bias) {
    bias = Variable(initializers::constant({units}, 0), {.name = options.name + "/bias"});
  }
}

Tensor Dense::operator()(const Tensor& x) const {
  Tensor y = project(x, as_input(kernel, x));
  if (bias.defined()) y = nn::bias_add(y, as_input(bias, x));
  return activation ? activation(y) : y;
}

std::vector<Variable> Dense::variables() const {
  if (!bias.defined()) return {kernel};
  return {kernel, bias};
}

LayerNorm::LayerNorm(int64_t features, LayerNormOptions options)
    : gamma(initializers::constant({features}, 1), {.name = options.name + "/gamma"}),
      beta(initializers::constant({features}, 0), {.name = options.name + "/beta"}),
      epsilon(options.epsilon) {}

Tensor LayerNorm::operator()(const Tensor& x) const {
  return nn::layer_normalization(x, as_input(gamma, x), as_input(beta, x),
                                 {.epsilon = epsilon});
}

std::vector<Variable> LayerNorm::variables() const { return {gamma, beta}; }

}  // namespace tandem::layers
