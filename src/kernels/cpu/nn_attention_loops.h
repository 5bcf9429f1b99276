// Inner loops of attention over one row of a block of scores.
#pragma once

#include <cstdint>

#include "kernels/cpu/nn_isa.h"

namespace tandem::cpu {

/// What is added to (bias) or allowed in (mask) a row of scores; null when there is none.
/// Steps are 0 or
/// 1. Keys at and past `allowed` are hidden (causal attention).
template <class T>
struct ScoreRow {
  T scale;
  const T* bias;
  int64_t bias_step;
  const bool* mask;
  int64_t mask_step;
  int64_t allowed;
};

template <class T>
struct AttentionLoops {
  // Scores → exp(score - new maximum); updates maximum and sum, returns what earlier sums
  // and outputs must be multiplied by.
  T (*online_softmax)(const ScoreRow<T>& row, T* scores, int64_t n, T* max, T* sum);
  // Scores → probabilities, given the logarithm of the whole row's sum.
  void (*probabilities)(const ScoreRow<T>& row, T* scores, int64_t n, T log_sum);
  // dscores[i] = p[i] * (dp[i] - dot), in place of dp.
  void (*score_grad)(const T* p, T* dp, T dot, int64_t n);
  T (*dot)(const T* x, const T* y, int64_t n);
  void (*scale)(T* x, T factor, int64_t n);
};

TANDEM_ISA_TABLE(AttentionLoops<float>, attention_loops_f32)
TANDEM_ISA_TABLE(AttentionLoops<double>, attention_loops_f64)

namespace best {
template <class T>
const AttentionLoops<T>& attention_loops();
template <>
inline const AttentionLoops<float>& attention_loops<float>() {
  return attention_loops_f32();
}
template <>
inline const AttentionLoops<double>& attention_loops<double>() {
  return attention_loops_f64();
}
}  // namespace best

}  // namespace tandem::cpu
