// Whole-sequence ops: attention, LSTM, GRU. Each is one op with a gradient op of its own.
#pragma once

#include "tandem/ops/attrs.h"
#include "tandem/tensor.h"

namespace tandem::nn {

struct AttentionAttrs {
  /// 0: 1 / sqrt(head size).
  double scale = 0;
  /// Position t attends to positions up to t + (keys - queries).
  bool causal = false;
  /// False: [batch, time, heads, size] (Keras). True: [batch, heads, time, size].
  bool heads_first = false;
  TANDEM_ATTRS(AttentionAttrs, scale, causal, heads_first)
};
/// softmax(query · keyᵀ * scale + bias) · value for each head, without the matrix of
/// scores in memory. query [b, t, n, h], key [b, s, m, h] and value [b, s, m, v] with n a
/// multiple of m (grouped queries). `bias` (may be undefined) is added to the scores,
/// `mask` (bool, may be undefined) is true where attention is allowed; both broadcast to
/// [b, n, t, s]. A row with nothing allowed gives zeros.
Tensor scaled_dot_product_attention(const Tensor& query, const Tensor& key,
                                    const Tensor& value, const Tensor& mask = {},
                                    const Tensor& bias = {}, AttentionAttrs attrs = {});

struct RecurrentAttrs {
  /// True: [time, batch, features], else [batch, time, features].
  bool time_major = false;
  /// Steps run from the last to the first; outputs are in the order of the steps, as in
  /// Keras.
  bool go_backwards = false;
  TANDEM_ATTRS(RecurrentAttrs, time_major, go_backwards)
};

struct LstmResult {
  Tensor sequence;  // all outputs, [batch, time, units] or time major
  Tensor h, c;      // final states
};
/// Keras's LSTM: gates i, f, c, o; kernel [in, 4u], recurrent_kernel [u, 4u], bias [4u]
/// (may be undefined). `mask` [batch, time] (or time major; may be undefined): steps
/// where it is false keep the state. Undefined initial states are zeros.
LstmResult lstm(const Tensor& x, const Tensor& kernel, const Tensor& recurrent_kernel,
                const Tensor& bias = {}, const Tensor& h0 = {}, const Tensor& c0 = {},
                const Tensor& mask = {}, RecurrentAttrs attrs = {});

struct GruResult {
  Tensor sequence;
  Tensor h;
};
/// Keras's GRU with reset_after: gates z, r, h; kernel [in, 3u], recurrent_kernel [u,
/// 3u], bias [2, 3u] (input and recurrent part; may be undefined).
GruResult gru(const Tensor& x, const Tensor& kernel, const Tensor& recurrent_kernel,
              const Tensor& bias = {}, const Tensor& h0 = {}, const Tensor& mask = {},
              RecurrentAttrs attrs = {});

}  // namespace tandem::nn
