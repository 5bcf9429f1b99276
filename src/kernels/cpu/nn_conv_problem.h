// Sizes of a convolution call in whichever of its three directions, and which of its
// tensors is which.
#pragma once

#include "op/kernel.h"
#include "ops/nn_geometry.h"

namespace tandem::cpu {

enum class ConvDirection { kForward, kByInput, kByFilter };

struct ConvProblem {
  nn::ConvShape shape;
  ConvDirection direction = ConvDirection::kForward;
  /// Positions of the three tensors among inputs or, for the one that is computed,
  /// outputs.
  int input = 0, filter = 1, output = 0;
  DType dtype = DType::kFloat32;
  bool empty() const;  // nothing to multiply: the result is zeros (or has no elements)
  int64_t result_elements = 0;
};

ConvProblem conv_problem(const Signature& s);

/// The names of the ops of one direction.
std::span<const char* const> conv_ops(ConvDirection direction);

}  // namespace tandem::cpu
