// What tapes and autodiff share: the gradient of one call, and the sum of two gradients.
// Both emit ops, so they run or are traced as the thread's emitter says.
#pragma once

#include <span>
#include <vector>

#include "op/attrs.h"
#include "tandem/gradient.h"

namespace tandem {

struct OpDef;

/// Gradients flow through these: floats, complex numbers, and lists, whose gradients are
/// lists.
constexpr bool trainable_dtype(DType t) {
  return is_floating(t) || is_complex(t) || t == DType::kVariant;
}

/// Adds two gradients; slices stay slices when both are.
Gradient add_gradients(const Gradient& a, const Gradient& b);
/// Gradients of an op's inputs from those of its outputs.
std::vector<Gradient> call_gradient(const OpDef& op, AttrsRef attrs,
                                    std::span<const Tensor> inputs,
                                    std::span<const Tensor> outputs,
                                    std::span<const Gradient> output_grads,
                                    std::span<const bool> needs);

}  // namespace tandem
