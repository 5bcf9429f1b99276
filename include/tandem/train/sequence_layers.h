// Layers over sequences: embedding, LSTM, attention. See layers.h for what a layer is.
#pragma once

#include "tandem/train/layers.h"

namespace tandem::layers {

struct EmbeddingOptions {
  int64_t seed = 0;
  std::string name = "embedding";
};
/// Rows of a table by integer ids [b…]; its gradient is slices.
struct Embedding {
  Variable table;  // [rows, features]

  Embedding(int64_t rows, int64_t features, EmbeddingOptions options = {});
  Tensor operator()(const Tensor& ids) const;
  std::vector<Variable> variables() const;
};

struct LSTMOptions {
  /// All outputs [batch, time, units] instead of the last one [batch, units].
  bool return_sequences = false;
  bool go_backwards = false;
  /// The bias of the forget gate starts at 1.
  bool unit_forget_bias = true;
  int64_t seed = 0;
  std::string name = "lstm";
};
/// Keras's LSTM with its default activations over x [batch, time, inputs]; gates in the
/// order i, f, c, o.
struct LSTM {
  Variable kernel;            // [inputs, 4 * units]
  Variable recurrent_kernel;  // [units, 4 * units]
  Variable bias;              // [4 * units]
  bool return_sequences, go_backwards;

  LSTM(int64_t inputs, int64_t units, LSTMOptions options = {});
  /// `mask` [batch, time] may be undefined; steps where it is false keep the state.
  Tensor operator()(const Tensor& x, const Tensor& mask = {}) const;
  std::vector<Variable> variables() const;
};

struct MultiHeadAttentionOptions {
  int64_t heads = 1;
  int64_t key_size = 0;    // of each head
  int64_t value_size = 0;  // 0: as key_size
  bool use_bias = true;
  int64_t seed = 0;
  std::string name = "multi_head_attention";
};
struct AttentionCall {
  /// True where attention is allowed; broadcasts to [batch, heads, queries, keys]. May be
  /// undefined.
  Tensor mask = {};
  /// Only to positions up to the query's own.
  bool causal = false;
};
/// Keras's MultiHeadAttention without dropout, over [batch, time, features].
struct MultiHeadAttention {
  Variable query_kernel, query_bias;    // [features, heads, key size], [heads, key size]
  Variable key_kernel, key_bias;        // the same
  Variable value_kernel, value_bias;    // [features, heads, value size], …
  Variable output_kernel, output_bias;  // [heads, value size, features], [features]

  MultiHeadAttention(int64_t features, MultiHeadAttentionOptions options);
  Tensor operator()(const Tensor& query, const Tensor& value, const Tensor& key,
                    const AttentionCall& options) const;
  /// Attention of a sequence to itself.
  Tensor operator()(const Tensor& x, const AttentionCall& options = {}) const {
    return (*this)(x, x, x, options);
  }
  std::vector<Variable> variables() const;
};

}  // namespace tandem::layers
