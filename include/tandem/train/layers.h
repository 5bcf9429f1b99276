// Layers: plain structs that own variables. Calling one computes its output eagerly or in
// a traced function. Handles are shared by copies, so that a copy is the same layer.
// A layer computes in the dtype of its input and keeps its variables in float32: inputs
// that are cast to bfloat16 or float16 make a step of mixed precision (see loss_scale.h
// for gradients that float16 cannot hold).
#pragma once

#include <functional>
#include <vector>

#include "tandem/ops/nn_conv.h"
#include "tandem/tensor.h"
#include "tandem/variable.h"

namespace tandem::layers {

/// Applied to a layer's output; empty: none.
using Activation = std::function<Tensor(const Tensor&)>;

struct DenseOptions {
  Activation activation = {};
  bool use_bias = true;
  int64_t seed = 0;
  std::string name = "dense";
};
/// activation(x · kernel + bias) over the last axis.
struct Dense {
  Variable kernel;  // [inputs, units]
  Variable bias;    // [units]; undefined without
  Activation activation;

  Dense(int64_t inputs, int64_t units, DenseOptions options = {});
  Tensor operator()(const Tensor& x) const;
  std::vector<Variable> variables() const;
};

struct Conv2DOptions {
  Ints strides = {1};
  nn::Padding padding = nn::Padding::kValid;
  Ints explicit_paddings = {};  // before and after, height then width (kExplicit)
  Ints dilations = {1};
  /// Input channels in groups, each with filters of its own.
  int64_t groups = 1;
  Activation activation = {};
  bool use_bias = true;
  int64_t seed = 0;
  std::string name = "conv2d";
};
/// activation(conv2d(x, kernel) + bias), channels last.
struct Conv2D {
  Variable kernel;  // [height, width, inputs / groups, filters]
  Variable bias;    // [filters]; undefined without
  nn::ConvAttrs attrs;
  Activation activation;

  struct Size {
    int64_t height, width;
  };
  Conv2D(int64_t inputs, int64_t filters, Size kernel_size, Conv2DOptions options = {});
  Tensor operator()(const Tensor& x) const;
  std::vector<Variable> variables() const;
};

struct BatchNormOptions {
  double momentum = 0.99;
  double epsilon = 1e-3;
  std::string name = "batch_normalization";
};
/// Normalises each channel (the last axis) over all other axes: in training by the
/// batch's moments, which the moving averages follow, else by the moving averages.
struct BatchNorm {
  Variable gamma, beta;
  Variable moving_mean, moving_variance;
  double momentum, epsilon;

  explicit BatchNorm(int64_t channels, BatchNormOptions options = {});
  Tensor operator()(const Tensor& x, bool training = false) const;
  /// What gradients change; the moving averages are in `state()`.
  std::vector<Variable> variables() const;
  std::vector<Variable> state() const;
};

struct LayerNormOptions {
  double epsilon = 1e-3;
  std::string name = "layer_normalization";
};
/// Normalises over the last axis.
struct LayerNorm {
  Variable gamma, beta;
  double epsilon;

  explicit LayerNorm(int64_t features, LayerNormOptions options = {});
  Tensor operator()(const Tensor& x) const;
  std::vector<Variable> variables() const;
};

/// The lists one after the other.
std::vector<Variable> join_variables(const std::vector<std::vector<Variable>>& lists);

}  // namespace tandem::layers
