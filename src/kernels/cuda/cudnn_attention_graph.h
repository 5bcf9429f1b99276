// Attention and its gradient as graphs that cuDNN knows as one kernel each: scores never
// exist as a whole. Half precision, float32 inside. Pure; any thread.
#pragma once

#include "kernels/cuda/cudnn_graph.h"
#include "ops/nn_attention.h"

namespace tandem::cuda {

/// Names of the tensors. The last two are work memory of the gradient, in float32.
enum AttentionTensor : int64_t {
  kAttentionQuery = 1,
  kAttentionKey,
  kAttentionValue,
  kAttentionOutput,
  kAttentionLogSums,
  kAttentionGrad,
  kAttentionByQuery,
  kAttentionByKey,
  kAttentionByValue,
  kAttentionScale,      // on the host
  kAttentionHidden,     // on the host: the score of what is not looked at
  kAttentionOne,        // on the host
  kAttentionSums,       // of output × gradient: [batch, heads, queries]
  kAttentionQuerySums,  // [batch, heads, queries, size]
};

struct AttentionCase {
  nn::AttentionShape shape;
  DType dtype = DType::kBFloat16;
  bool heads_first = false;
  bool causal = false;  // queries and keys are as many
};

/// These throw InternalError when the library does not take the description.
DnnGraph attention_graph(const AttentionCase& c);
DnnGraph attention_grad_graph(const AttentionCase& c);

}  // namespace tandem::cuda
