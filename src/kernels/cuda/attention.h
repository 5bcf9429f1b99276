// What the two families of attention kernels share: the call as they see it, and their
// texts. Pure; any thread.
#pragma once

#include <string>

#include "op/kernel.h"
#include "ops/nn_attention.h"

namespace tandem::cuda {

/// As device/attention.cuh and device/attention_tiles.cuh have them.
struct AttentionSizes {
  int64_t batch, queries, keys, heads, key_heads;
  int64_t mask_steps[4], bias_steps[4];
  double scale;
  int causal, together;
};
struct AttentionInputs {
  const void *q, *k, *v, *mask, *bias;
};

/// A call of ScaledDotProductAttention or of its gradient.
struct AttentionCall {
  nn::AttentionShape shape;
  nn::AttentionAttrs attrs;
  AttentionSizes sizes{};
  bool mask = false, bias = false, scores = false;

  int64_t rows() const { return shape.batch * shape.heads * shape.queries; }
  AttentionInputs inputs(const LaunchArgs& a) const {
    return {a.inputs[0], a.inputs[1], a.inputs[2], mask ? a.inputs[3] : nullptr,
            bias ? a.inputs[4] : nullptr};
  }
};
AttentionCall attention_call(const Signature& s);

/// A warp per query or key.
std::string attention_text(DType dtype, int64_t size, int64_t value_size,
                           bool heads_first);

/// On tensor cores: a block has 16 rows for each warp, tiles of `tile` rows pass by.
struct AttentionForm {
  int64_t size = 64, value_size = 64;
  bool heads_first = false, causal = false, mask = false, bias = false, scores = false;
  int warps = 4, tile = 64;
};
/// With the kernels of the gradient, or with those of the forward direction.
std::string attention_tiles_text(DType dtype, const AttentionForm& form, bool gradient);
/// Shared memory of a block in bytes.
size_t attention_tiles_shared(DType dtype, const AttentionForm& form, bool gradient);
/// Bits of a variant: another form than the one that is likely the best, to be measured.
inline constexpr int kHalfTile = 1, kOtherWarps = 2;
/// The form for a GPU; `warps` is 0 when no form fits into its shared memory.
AttentionForm attention_form(const AttentionCall& call, DType dtype, bool gradient,
                             int arch, int multiprocessors, int variant = 0);
/// Whether the tensor-core kernels can serve the call on its device.
bool attention_tiles_fit(const Signature& s);

}  // namespace tandem::cuda
