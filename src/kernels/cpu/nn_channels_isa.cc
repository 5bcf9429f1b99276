#include <algorithm>

#include "kernels/cpu/nn_channels.h"

namespace tandem::cpu::TANDEM_ISA {

namespace {

// Sums go through blocks, so that rounding grows with the number of blocks and not of
// rows.
constexpr int64_t kRowBlock = 128, kChannelBlock = 256, kRunBlock = 2048;

// Adds term(row, channel) over the rows to sum, block by block.
template <class T, class Term>
void sum_columns(int64_t rows, int64_t c, T* sum, Term term) {
  T block[kChannelBlock];
  for (int64_t c0 = 0; c0 < c; c0 += kChannelBlock) {
    const int64_t n = std::min(kChannelBlock, c - c0);
    for (int64_t r0 = 0; r0 < rows; r0 += kRowBlock) {
      std::fill_n(block, n, T(0));
      const int64_t end = std::min(rows, r0 + kRowBlock);
      for (int64_t r = r0; r < end; ++r) {
#pragma omp simd
        for (int64_t i = 0; i < n; ++i) block[i] += term(r * c + c0 + i, c0 + i);
      }
      for (int64_t i = 0; i < n; ++i) sum[c0 + i] += block[i];
    }
  }
}

template <class T, class Term>
T sum_line(int64_t n, Term term) {
  T total = 0;
  for (int64_t b = 0; b < n; b += kRunBlock) {
    const int64_t e = std::min(n, b + kRunBlock);
    T sum = 0;
#pragma omp simd reduction(+ : sum)
    for (int64_t i = b; i < e; ++i) sum += term(i);
    total += sum;
  }
  return total;
}

template <class T>
void sum_rows(const T* x, int64_t rows, int64_t c, T* sum) {
  sum_columns(rows, c, sum, [=](int64_t i, int64_t) { return x[i]; });
}
template <class T>
T sum_run(const T* x, int64_t n) {
  return sum_line<T>(n, [=](int64_t i) { return x[i]; });
}
template <class T>
void square_rows(const T* x, const T* mean, int64_t rows, int64_t c, T* sum) {
  sum_columns(rows, c, sum, [=](int64_t i, int64_t k) {
    const T d = x[i] - mean[k];
    return d * d;
  });
}
template <class T>
T square_run(const T* x, T mean, int64_t n) {
  return sum_line<T>(n, [=](int64_t i) { return (x[i] - mean) * (x[i] - mean); });
}

template <class T>
void dot_rows(const T* dy, const T* x, const T* mean, int64_t rows, int64_t c, T* sum,
              T* dot) {
  T s[kChannelBlock], d[kChannelBlock];
  for (int64_t c0 = 0; c0 < c; c0 += kChannelBlock) {
    const int64_t n = std::min(kChannelBlock, c - c0);
    for (int64_t r0 = 0; r0 < rows; r0 += kRowBlock) {
      std::fill_n(s, n, T(0));
      std::fill_n(d, n, T(0));
      const int64_t end = std::min(rows, r0 + kRowBlock);
      for (int64_t r = r0; r < end; ++r) {
        const T *g = dy + r * c + c0, *v = x + r * c + c0, *m = mean + c0;
#pragma omp simd
        for (int64_t i = 0; i < n; ++i) {
          s[i] += g[i];
          d[i] += g[i] * (v[i] - m[i]);
        }
      }
      for (int64_t i = 0; i < n; ++i) sum[c0 + i] += s[i];
      for (int64_t i = 0; i < n; ++i) dot[c0 + i] += d[i];
    }
  }
}
template <class T>
void dot_run(const T* dy, const T* x, T mean, int64_t n, T* sum, T* dot) {
  *sum += sum_line<T>(n, [=](int64_t i) { return dy[i]; });
  *dot += sum_line<T>(n, [=](int64_t i) { return dy[i] * (x[i] - mean); });
}

template <class T>
void affine_rows(const T* x, const T* mean, const T* a, const T* b, int64_t rows,
                 int64_t c, T* y) {
  for (int64_t r = 0; r < rows; ++r) {
    const T* from = x + r * c;
    T* to = y + r * c;
#pragma omp simd
    for (int64_t i = 0; i < c; ++i) to[i] = (from[i] - mean[i]) * a[i] + b[i];
  }
}
template <class T>
void affine_run(const T* x, T mean, T a, T b, int64_t n, T* y) {
#pragma omp simd
  for (int64_t i = 0; i < n; ++i) y[i] = (x[i] - mean) * a + b;
}

template <class T>
void blend_rows(const T* dy, const T* x, const T* mean, const T* a, const T* b,
                const T* shift, int64_t rows, int64_t c, T* dx) {
  for (int64_t r = 0; r < rows; ++r) {
    const T *g = dy + r * c, *v = x + r * c;
    T* to = dx + r * c;
#pragma omp simd
    for (int64_t i = 0; i < c; ++i) {
      to[i] = g[i] * a[i] + (v[i] - mean[i]) * b[i] + shift[i];
    }
  }
}
template <class T>
void blend_run(const T* dy, const T* x, T mean, T a, T b, T shift, int64_t n, T* dx) {
#pragma omp simd
  for (int64_t i = 0; i < n; ++i) dx[i] = dy[i] * a + (x[i] - mean) * b + shift;
}

template <class T>
constexpr ChannelLoops<T> kChannelLoops = {
    sum_rows<T>, sum_run<T>,     square_rows<T>, square_run<T>, dot_rows<T>,
    dot_run<T>,  affine_rows<T>, affine_run<T>,  blend_rows<T>, blend_run<T>};

}  // namespace

const ChannelLoops<float>& channel_loops_f32() { return kChannelLoops<float>; }
const ChannelLoops<double>& channel_loops_f64() { return kChannelLoops<double>; }

}  // namespace tandem::cpu::TANDEM_ISA
