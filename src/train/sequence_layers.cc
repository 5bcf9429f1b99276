#include "tandem/train/sequence_layers.h"

#include <fmt/format.h>

#include "tandem/ops.h"
#include "tandem/train/initializers.h"
#include "train/compute_dtype.h"
#include "train/project.h"

namespace tandem::layers {

Embedding::Embedding(int64_t rows, int64_t features, EmbeddingOptions options)
    : table(initializers::uniform({rows, features}, 0.05, options.seed),
            {.name = options.name + "/embeddings"}) {}

Tensor Embedding::operator()(const Tensor& ids) const {
  return nn::embedding_lookup(table, ids);
}

std::vector<Variable> Embedding::variables() const { return {table}; }

LSTM::LSTM(int64_t inputs, int64_t units, LSTMOptions options)
    : kernel(initializers::glorot_uniform({inputs, 4 * units}, options.seed),
             {.name = options.name + "/kernel"}),
      recurrent_kernel(initializers::orthogonal({units, 4 * units}, options.seed),
                       {.name = options.name + "/recurrent_kernel"}),
      return_sequences(options.return_sequences),
      go_backwards(options.go_backwards) {
  const Tensor zeros_of_gate = initializers::constant({units}, 0);
  const Tensor forget = initializers::constant({units}, options.unit_forget_bias ? 1 : 0);
  bias = Variable(concat({zeros_of_gate, forget, zeros_of_gate, zeros_of_gate}, {0}),
                  {.name = options.name + "/bias"});
}

Tensor LSTM::operator()(const Tensor& x, const Tensor& mask) const {
  const nn::LstmResult result =
      nn::lstm(x, as_input(kernel, x), as_input(recurrent_kernel, x), as_input(bias, x),
               {}, {}, mask, {.go_backwards = go_backwards});
  return return_sequences ? result.sequence : result.h;
}

std::vector<Variable> LSTM::variables() const { return {kernel, recurrent_kernel, bias}; }

namespace {

/// x [b, t, features] · kernel [features, heads, size] + bias → [b, t, heads, size].
Tensor to_heads(const Tensor& x, const Variable& kernel, const Variable& bias) {
  const Shape& k = kernel.shape();
  Tensor y = project(x, reshape(as_input(kernel, x), {k[0], k[1] * k[2]}));
  if (bias.defined()) y = nn::bias_add(y, reshape(as_input(bias, x), {k[1] * k[2]}));
  if (x.shape().is_known()) return reshape(y, {x.dim(0), x.dim(1), k[1], k[2]});
  const Tensor leading = slice(shape(x), constant({0}), constant({2}));
  const Tensor heads = constant({static_cast<int>(k[1]), static_cast<int>(k[2])});
  return reshape(y, concat({leading, heads}, {0}));
}

Tensor from_heads(const Tensor& x, const Variable& kernel, const Variable& bias) {
  const Shape& k = kernel.shape();
  const int64_t inputs = k[0] * k[1];
  Tensor flat;
  if (x.shape().is_known()) {
    flat = reshape(x, {x.dim(0), x.dim(1), inputs});
  } else {
    const Tensor leading = slice(shape(x), constant({0}), constant({2}));
    flat = reshape(x, concat({leading, constant({static_cast<int>(inputs)})}, {0}));
  }
  const Tensor y = project(flat, reshape(as_input(kernel, x), {inputs, k[2]}));
  return bias.defined() ? nn::bias_add(y, as_input(bias, x)) : y;
}

}  // namespace

MultiHeadAttention::MultiHeadAttention(int64_t features,
                                       MultiHeadAttentionOptions options) {
  const int64_t heads = options.heads, size = options.key_size;
  const int64_t value_size = options.value_size ? options.value_size : size;
  if (heads < 1 || size < 1) {
    throw ValueError(
        fmt::format("MultiHeadAttention: {} heads of size {}. Both must be at least 1.",
                    heads, size));
  }
  const auto make = [&](const char* name, const Shape& shape, const Shape& bias_shape,
                        Variable& kernel, Variable& bias) {
    const std::string prefix = options.name + "/" + name;
    const int64_t seed = options.seed ? options.seed++ : 0;
    kernel =
        Variable(initializers::glorot_uniform(shape, seed), {.name = prefix + "/kernel"});
    if (options.use_bias) {
      bias = Variable(initializers::constant(bias_shape, 0), {.name = prefix + "/bias"});
    }
  };
  make("query", {features, heads, size}, {heads, size}, query_kernel, query_bias);
  make("key", {features, heads, size}, {heads, size}, key_kernel, key_bias);
  make("value", {features, heads, value_size}, {heads, value_size}, value_kernel,
       value_bias);
  make("attention_output", {heads, value_size, features}, {features}, output_kernel,
       output_bias);
}

Tensor MultiHeadAttention::operator()(const Tensor& query, const Tensor& value,
                                      const Tensor& key,
                                      const AttentionCall& options) const {
  const Tensor attended = nn::scaled_dot_product_attention(
      to_heads(query, query_kernel, query_bias), to_heads(key, key_kernel, key_bias),
      to_heads(value, value_kernel, value_bias), options.mask, {},
      {.causal = options.causal});
  return from_heads(attended, output_kernel, output_bias);
}

std::vector<Variable> MultiHeadAttention::variables() const {
  std::vector<Variable> all;
  for (const Variable& v : {query_kernel, query_bias, key_kernel, key_bias, value_kernel,
                            value_bias, output_kernel, output_bias}) {
    if (v.defined()) all.push_back(v);
  }
  return all;
}

}  // namespace tandem::layers
