#include <algorithm>
#include <limits>

#include "kernels/cpu/nn_rows.h"
#include "kernels/cpu/nn_vecmath.h"

namespace tandem::cpu::TANDEM_ISA {

namespace {

template <class T>
T row_max(const T* x, int64_t n) {
  T m = -std::numeric_limits<T>::infinity();
#pragma omp simd reduction(max : m)
  for (int64_t i = 0; i < n; ++i) m = x[i] > m ? x[i] : m;
  return m;
}

constexpr int64_t kTailLanes = 16;

// exp(x - max) of the elements behind the last whole vector, all lanes at once: single
// calls would take longer than the rest of a row.
template <class T>
T tail_exp(const T* x, T max, T* y, int64_t n) {
  alignas(64) T lanes[kTailLanes];
  std::fill_n(lanes, kTailLanes, max);
  std::copy_n(x, n, lanes);
#pragma omp simd
  for (int64_t i = 0; i < kTailLanes; ++i) lanes[i] = vexp(lanes[i] - max);
  T sum = 0;
  for (int64_t i = 0; i < n; ++i) sum += lanes[i];
  if (y) std::copy_n(lanes, n, y);
  return sum;
}

template <class T>
T sum_exp(const T* x, T max, int64_t n) {
  const int64_t whole = n - n % kTailLanes;
  T sum = 0;
#pragma omp simd reduction(+ : sum)
  for (int64_t i = 0; i < whole; ++i) sum += vexp(x[i] - max);
  return whole == n ? sum : sum + tail_exp<T>(x + whole, max, nullptr, n - whole);
}

template <class T>
T store_exp(const T* x, T max, T* y, int64_t n) {
  const int64_t whole = n - n % kTailLanes;
  T sum = 0;
#pragma omp simd reduction(+ : sum)
  for (int64_t i = 0; i < whole; ++i) {
    const T e = vexp(x[i] - max);
    y[i] = e;
    sum += e;
  }
  return whole == n ? sum : sum + tail_exp(x + whole, max, y + whole, n - whole);
}

template <class T>
void softmax(const T* x, T* y, int64_t n) {
  const T scale = T(1) / store_exp(x, row_max(x, n), y, n);
#pragma omp simd
  for (int64_t i = 0; i < n; ++i) y[i] *= scale;
}

template <class T>
void log_softmax(const T* x, T* y, int64_t n) {
  const T max = row_max(x, n);
  const T log_sum = std::log(sum_exp(x, max, n));
#pragma omp simd
  for (int64_t i = 0; i < n; ++i) y[i] = x[i] - max - log_sum;
}

template <class T>
void softmax_grad(const T* y, const T* g, T* out, int64_t n) {
  T dot = 0;
#pragma omp simd reduction(+ : dot)
  for (int64_t i = 0; i < n; ++i) dot += y[i] * g[i];
#pragma omp simd
  for (int64_t i = 0; i < n; ++i) out[i] = y[i] * (g[i] - dot);
}

template <class T>
void log_softmax_grad(const T* y, const T* g, T* out, int64_t n) {
  T sum = 0;
#pragma omp simd reduction(+ : sum)
  for (int64_t i = 0; i < n; ++i) sum += g[i];
#pragma omp simd
  for (int64_t i = 0; i < n; ++i) out[i] = g[i] - vexp(y[i]) * sum;
}

// Maxima and sums of exponentials down columns.
template <class T, bool kStore>
void column_sums(const T* x, T* y, int64_t n, int64_t stride, int64_t width, T* max,
                 T* sum) {
  std::fill_n(max, width, -std::numeric_limits<T>::infinity());
  std::fill_n(sum, width, T(0));
  for (int64_t r = 0; r < n; ++r) {
    const T* row = x + r * stride;
#pragma omp simd
    for (int64_t i = 0; i < width; ++i) max[i] = row[i] > max[i] ? row[i] : max[i];
  }
  for (int64_t r = 0; r < n; ++r) {
    const T* row = x + r * stride;
    [[maybe_unused]] T* out = y + r * stride;
#pragma omp simd
    for (int64_t i = 0; i < width; ++i) {
      const T e = vexp(row[i] - max[i]);
      if constexpr (kStore) out[i] = e;
      sum[i] += e;
    }
  }
}

template <class T>
void softmax_columns(const T* x, T* y, int64_t n, int64_t stride, int64_t width) {
  T max[kColumns], sum[kColumns];
  column_sums<T, true>(x, y, n, stride, width, max, sum);
  for (int64_t i = 0; i < width; ++i) sum[i] = T(1) / sum[i];
  for (int64_t r = 0; r < n; ++r) {
    T* out = y + r * stride;
#pragma omp simd
    for (int64_t i = 0; i < width; ++i) out[i] *= sum[i];
  }
}

template <class T>
void log_softmax_columns(const T* x, T* y, int64_t n, int64_t stride, int64_t width) {
  T max[kColumns], sum[kColumns];
  column_sums<T, false>(x, y, n, stride, width, max, sum);
  for (int64_t i = 0; i < width; ++i) sum[i] = std::log(sum[i]);
  for (int64_t r = 0; r < n; ++r) {
    const T* row = x + r * stride;
    T* out = y + r * stride;
#pragma omp simd
    for (int64_t i = 0; i < width; ++i) out[i] = row[i] - max[i] - sum[i];
  }
}

template <class T>
void softmax_grad_columns(const T* y, const T* g, T* out, int64_t n, int64_t stride,
                          int64_t width) {
  T dot[kColumns] = {};
  for (int64_t r = 0; r < n; ++r) {
    const T *yr = y + r * stride, *gr = g + r * stride;
#pragma omp simd
    for (int64_t i = 0; i < width; ++i) dot[i] += yr[i] * gr[i];
  }
  for (int64_t r = 0; r < n; ++r) {
    const T *yr = y + r * stride, *gr = g + r * stride;
    T* to = out + r * stride;
#pragma omp simd
    for (int64_t i = 0; i < width; ++i) to[i] = yr[i] * (gr[i] - dot[i]);
  }
}

template <class T>
void log_softmax_grad_columns(const T* y, const T* g, T* out, int64_t n, int64_t stride,
                              int64_t width) {
  T sum[kColumns] = {};
  for (int64_t r = 0; r < n; ++r) {
    const T* gr = g + r * stride;
#pragma omp simd
    for (int64_t i = 0; i < width; ++i) sum[i] += gr[i];
  }
  for (int64_t r = 0; r < n; ++r) {
    const T *yr = y + r * stride, *gr = g + r * stride;
    T* to = out + r * stride;
#pragma omp simd
    for (int64_t i = 0; i < width; ++i) to[i] = gr[i] - vexp(yr[i]) * sum[i];
  }
}

template <class T>
T cross_entropy(const T* x, int64_t x_step, const T* labels, int64_t label_step,
                T* backprop, int64_t n) {
  // backprop holds the exponentials for a while; a broadcast row is written out first.
  if (x_step == 0) {
    std::fill_n(backprop, n, x[0]);
    x = backprop;
  }
  const T max = row_max(x, n);
  const T log_sum = std::log(sum_exp(x, max, n));
  T loss = 0;
#pragma omp simd reduction(+ : loss)
  for (int64_t i = 0; i < n; ++i) {
    const T label = labels[i * label_step];
    const T log_p = x[i] - max - log_sum;
    loss -= label * log_p;
    backprop[i] = vexp(log_p) - label;
  }
  return loss;
}

template <class T>
T sparse_cross_entropy(const T* x, int64_t label, T* backprop, int64_t n) {
  const T max = row_max(x, n);
  const T sum = store_exp(x, max, backprop, n);
  const T scale = T(1) / sum;
#pragma omp simd
  for (int64_t i = 0; i < n; ++i) backprop[i] *= scale;
  backprop[label] -= T(1);
  return std::log(sum) - (x[label] - max);
}

template <class T>
void row_moments(const T* x, T epsilon, int64_t n, T* mean, T* r) {
  T sum = 0;
#pragma omp simd reduction(+ : sum)
  for (int64_t i = 0; i < n; ++i) sum += x[i];
  const T m = sum / static_cast<T>(n);
  T squares = 0;
#pragma omp simd reduction(+ : squares)
  for (int64_t i = 0; i < n; ++i) squares += (x[i] - m) * (x[i] - m);
  *mean = m;
  *r = T(1) / std::sqrt(squares / static_cast<T>(n) + epsilon);
}

template <class T>
void layer_norm(const T* x, const T* gamma, const T* beta, T epsilon, T* y, int64_t n) {
  T mean, r;
  row_moments(x, epsilon, n, &mean, &r);
  if (gamma && beta) {
#pragma omp simd
    for (int64_t i = 0; i < n; ++i) y[i] = (x[i] - mean) * r * gamma[i] + beta[i];
  } else if (gamma) {
#pragma omp simd
    for (int64_t i = 0; i < n; ++i) y[i] = (x[i] - mean) * r * gamma[i];
  } else if (beta) {
#pragma omp simd
    for (int64_t i = 0; i < n; ++i) y[i] = (x[i] - mean) * r + beta[i];
  } else {
#pragma omp simd
    for (int64_t i = 0; i < n; ++i) y[i] = (x[i] - mean) * r;
  }
}

template <class T, bool kGamma>
void layer_norm_grad_row(const T* dy, const T* x, const T* gamma, T mean, T r, T* dx,
                         T* dgamma, T* dbeta, int64_t n) {
  T sum = 0, dot = 0;
#pragma omp simd reduction(+ : sum, dot)
  for (int64_t i = 0; i < n; ++i) {
    const T w = kGamma ? dy[i] * gamma[i] : dy[i];
    sum += w;
    dot += w * ((x[i] - mean) * r);
  }
  sum /= static_cast<T>(n);
  dot /= static_cast<T>(n);
#pragma omp simd
  for (int64_t i = 0; i < n; ++i) {
    const T h = (x[i] - mean) * r;
    const T w = kGamma ? dy[i] * gamma[i] : dy[i];
    dx[i] = r * (w - sum - h * dot);
    dgamma[i] += dy[i] * h;
    dbeta[i] += dy[i];
  }
}

template <class T>
void layer_norm_grad(const T* dy, const T* x, const T* gamma, T epsilon, T* dx, T* dgamma,
                     T* dbeta, int64_t n) {
  T mean, r;
  row_moments(x, epsilon, n, &mean, &r);
  if (gamma) {
    layer_norm_grad_row<T, true>(dy, x, gamma, mean, r, dx, dgamma, dbeta, n);
  } else {
    layer_norm_grad_row<T, false>(dy, x, gamma, mean, r, dx, dgamma, dbeta, n);
  }
}

template <class T>
constexpr RowLoops<T> kRowLoops = {softmax<T>,
                                   log_softmax<T>,
                                   softmax_grad<T>,
                                   log_softmax_grad<T>,
                                   softmax_columns<T>,
                                   log_softmax_columns<T>,
                                   softmax_grad_columns<T>,
                                   log_softmax_grad_columns<T>,
                                   cross_entropy<T>,
                                   sparse_cross_entropy<T>,
                                   layer_norm<T>,
                                   layer_norm_grad<T>};

}  // namespace

const RowLoops<float>& row_loops_f32() { return kRowLoops<float>; }
const RowLoops<double>& row_loops_f64() { return kRowLoops<double>; }

}  // namespace tandem::cpu::TANDEM_ISA
