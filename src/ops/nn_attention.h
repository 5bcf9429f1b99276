// Sizes of an attention call and the attributes of its gradient; shared by inference and
// kernels.
#pragma once

#include <string>

#include "tandem/ops/nn_sequence.h"

namespace tandem {
class GradContext;
}

namespace tandem::nn {

struct AttentionGradAttrs {
  double scale = 0;
  bool causal = false;
  bool heads_first = false;
  bool bias_grad = false;  // the gradient of the scores is wanted
  TANDEM_ATTRS(AttentionGradAttrs, scale, causal, heads_first, bias_grad)
};
inline AttentionAttrs forward_attrs(const AttentionGradAttrs& a) {
  return {a.scale, a.causal, a.heads_first};
}

struct AttentionShape {
  int64_t batch = 0, queries = 0, keys = 0, heads = 0, key_heads = 0, size = 0,
          value_size = 0;
};
/// Throws InvalidArgumentError when the shapes do not fit together; unknown dimensions
/// stay unknown.
AttentionShape attention_shape(const std::string& op, const AttentionAttrs& attrs,
                               const Shape& q, const Shape& k, const Shape& v);

/// The gradient of the gradient op.
void grad_attention_grad(GradContext& c);

}  // namespace tandem::nn
