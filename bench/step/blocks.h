// Parts that several models of the benchmarks are made of: transformer blocks and
// convolutions with batch normalisation. torch_step.py and jax_step.py have the same.
#pragma once

#include <vector>

#include "tandem/tandem.h"
#include "tandem/train.h"

namespace bench::step {

namespace layers = tandem::layers;

struct BlockOptions {
  int64_t features = 256, heads = 4, feed_forward = 1024;
  layers::Activation activation = tandem::nn::relu;
  bool causal = false;
  double epsilon = 1e-3;
};

/// x + attention(norm(x)), then the same with two dense layers.
struct Block {
  layers::LayerNorm norm_1;
  layers::MultiHeadAttention attention;
  layers::LayerNorm norm_2;
  layers::Dense wide, narrow;
  bool causal;

  explicit Block(const BlockOptions& o)
      : norm_1(o.features, {.epsilon = o.epsilon}),
        attention(o.features, {.heads = o.heads, .key_size = o.features / o.heads}),
        norm_2(o.features, {.epsilon = o.epsilon}),
        wide(o.features, o.feed_forward, {.activation = o.activation}),
        narrow(o.feed_forward, o.features),
        causal(o.causal) {}

  tandem::Tensor operator()(const tandem::Tensor& x) const {
    const tandem::Tensor y = x + attention(norm_1(x), {.causal = causal});
    return y + narrow(wide(norm_2(y)));
  }
  std::vector<tandem::Variable> variables() const {
    return layers::join_variables({norm_1.variables(), attention.variables(),
                                   norm_2.variables(), wide.variables(),
                                   narrow.variables()});
  }
};

/// Convolution with symmetric padding and without bias, then batch normalisation.
struct ConvNorm {
  layers::Conv2D conv;
  layers::BatchNorm norm;

  ConvNorm(int64_t inputs, int64_t filters, int64_t size, int64_t stride)
      : conv(inputs, filters, {size, size},
             {.strides = {stride},
              .padding = tandem::nn::Padding::kExplicit,
              .explicit_paddings = {size / 2, size / 2, size / 2, size / 2},
              .use_bias = false}),
        norm(filters) {}
  tandem::Tensor operator()(const tandem::Tensor& x) const { return norm(conv(x), true); }
  std::vector<tandem::Variable> variables() const {
    return layers::join_variables({conv.variables(), norm.variables()});
  }
};

/// The pooling after the first convolution of a ResNet.
inline tandem::Tensor stem_pool(const tandem::Tensor& x) {
  return tandem::nn::max_pool2d(x, {.ksize = {3},
                                    .strides = {2},
                                    .padding = tandem::nn::Padding::kExplicit,
                                    .explicit_paddings = {1, 1, 1, 1}});
}

}  // namespace bench::step
