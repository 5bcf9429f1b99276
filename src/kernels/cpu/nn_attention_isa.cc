#include <algorithm>
#include <limits>

#include "kernels/cpu/nn_attention_loops.h"
#include "kernels/cpu/nn_vecmath.h"

namespace tandem::cpu::TANDEM_ISA {

namespace {

// Scale, bias and mask; hidden scores become -inf.
template <class T>
void finish_scores(const ScoreRow<T>& row, T* s, int64_t n) {
  const T scale = row.scale;
  const int64_t visible = std::clamp<int64_t>(row.allowed, 0, n);
  if (row.bias) {
    const T* bias = row.bias;
    const int64_t step = row.bias_step;
#pragma omp simd
    for (int64_t i = 0; i < visible; ++i) s[i] = s[i] * scale + bias[i * step];
  } else {
#pragma omp simd
    for (int64_t i = 0; i < visible; ++i) s[i] *= scale;
  }
  constexpr T kHidden = -std::numeric_limits<T>::infinity();
  if (row.mask) {
    for (int64_t i = 0; i < visible; ++i) {
      if (!row.mask[i * row.mask_step]) s[i] = kHidden;
    }
  }
  std::fill(s + visible, s + n, kHidden);
}

template <class T>
T online_softmax(const ScoreRow<T>& row, T* s, int64_t n, T* max, T* sum) {
  finish_scores(row, s, n);
  T top = *max;
#pragma omp simd reduction(max : top)
  for (int64_t i = 0; i < n; ++i) top = s[i] > top ? s[i] : top;
  if (top == -std::numeric_limits<T>::infinity()) {
    std::fill_n(s, n, T(0));
    return T(1);
  }
  T added = 0;
#pragma omp simd reduction(+ : added)
  for (int64_t i = 0; i < n; ++i) {
    const T e = vexp(s[i] - top);
    s[i] = e;
    added += e;
  }
  const T correction = std::exp(*max - top);
  *sum = *sum * correction + added;
  *max = top;
  return correction;
}

template <class T>
void probabilities(const ScoreRow<T>& row, T* s, int64_t n, T log_sum) {
  finish_scores(row, s, n);
#pragma omp simd
  for (int64_t i = 0; i < n; ++i) s[i] = vexp(s[i] - log_sum);
}

template <class T>
void score_grad(const T* p, T* dp, T dot, int64_t n) {
#pragma omp simd
  for (int64_t i = 0; i < n; ++i) dp[i] = p[i] * (dp[i] - dot);
}

template <class T>
T dot_product(const T* x, const T* y, int64_t n) {
  T sum = 0;
#pragma omp simd reduction(+ : sum)
  for (int64_t i = 0; i < n; ++i) sum += x[i] * y[i];
  return sum;
}

template <class T>
void scale_by(T* x, T factor, int64_t n) {
#pragma omp simd
  for (int64_t i = 0; i < n; ++i) x[i] *= factor;
}

template <class T>
constexpr AttentionLoops<T> kAttentionLoops = {
    online_softmax<T>, probabilities<T>, score_grad<T>, dot_product<T>, scale_by<T>};

}  // namespace

const AttentionLoops<float>& attention_loops_f32() { return kAttentionLoops<float>; }
const AttentionLoops<double>& attention_loops_f64() { return kAttentionLoops<double>; }

}  // namespace tandem::cpu::TANDEM_ISA
