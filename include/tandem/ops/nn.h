// Neural-network ops.
#pragma once

#include "tandem/ops/nn_conv.h"
#include "tandem/ops/nn_image.h"
#include "tandem/ops/nn_loss.h"
#include "tandem/ops/nn_norm.h"
#include "tandem/ops/nn_sequence.h"
#include "tandem/ops/random.h"

namespace tandem::nn {

Tensor relu(const Tensor& x);

struct DropoutAttrs {
  /// The share of elements that become zero, in [0, 1); the others are divided by 1 -
  /// rate.
  double rate = 0.5;
  /// Shape of the decisions, broadcast to x; -1 stands for x's dimension. Empty: x's
  /// shape.
  Ints noise_shape = {};
  int64_t seed = -1;  // -1: none given
  TANDEM_ATTRS(DropoutAttrs, rate, noise_shape, seed)
};
/// Sets elements to zero at random.
Tensor dropout(const Tensor& x, DropoutAttrs attrs = {});
/// The same from a seed that decides everything.
Tensor stateless_dropout(const Tensor& x, random::Seed2 seed, DropoutAttrs attrs = {});

}  // namespace tandem::nn
