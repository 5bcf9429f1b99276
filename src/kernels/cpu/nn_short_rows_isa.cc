#include <limits>

#include "kernels/cpu/nn_short_rows.h"
#include "kernels/cpu/nn_vecmath.h"

namespace tandem::cpu::TANDEM_ISA {

namespace {

constexpr int64_t kRowLanes = 16;

/// Sixteen rows, turned: element j of all of them is one array. Lanes without a row hold
/// zeros.
template <class T>
struct Lanes {
  alignas(64) T v[kShortRow][kRowLanes];
  alignas(64) T max[kRowLanes];
  alignas(64) T sum[kRowLanes];

  void load(const T* x, int64_t n, int64_t rows) {
    for (int64_t j = 0; j < n; ++j) {
      for (int64_t r = rows; r < kRowLanes; ++r) v[j][r] = T(0);
    }
    for (int64_t r = 0; r < rows; ++r) {
      for (int64_t j = 0; j < n; ++j) v[j][r] = x[r * n + j];
    }
  }
  void store(T* y, int64_t n, int64_t rows) const {
    for (int64_t r = 0; r < rows; ++r) {
      for (int64_t j = 0; j < n; ++j) y[r * n + j] = v[j][r];
    }
  }

  void find_max(int64_t n) {
    std::fill_n(max, kRowLanes, -std::numeric_limits<T>::infinity());
    for (int64_t j = 0; j < n; ++j) {
#pragma omp simd
      for (int64_t l = 0; l < kRowLanes; ++l)
        max[l] = v[j][l] > max[l] ? v[j][l] : max[l];
    }
  }
  /// v becomes exp(v - max), or stays; sum is the sum of that either way.
  template <bool kKeep>
  void add_exp(int64_t n) {
    std::fill_n(sum, kRowLanes, T(0));
    for (int64_t j = 0; j < n; ++j) {
#pragma omp simd
      for (int64_t l = 0; l < kRowLanes; ++l) {
        const T e = vexp(v[j][l] - max[l]);
        if constexpr (!kKeep) v[j][l] = e;
        sum[l] += e;
      }
    }
  }
  /// v becomes v / sum.
  void normalise(int64_t n) {
    alignas(64) T scale[kRowLanes];
#pragma omp simd
    for (int64_t l = 0; l < kRowLanes; ++l) scale[l] = T(1) / sum[l];
    for (int64_t j = 0; j < n; ++j) {
#pragma omp simd
      for (int64_t l = 0; l < kRowLanes; ++l) v[j][l] *= scale[l];
    }
  }
  /// sum becomes its logarithm.
  void take_log() {
#pragma omp simd
    for (int64_t l = 0; l < kRowLanes; ++l) sum[l] = vlog(sum[l]);
  }
};

template <class Body>
void for_each_block(int64_t rows, Body body) {
  for (int64_t r = 0; r < rows; r += kRowLanes) body(r, std::min(kRowLanes, rows - r));
}

template <class T>
void short_softmax(const T* x, T* y, int64_t n, int64_t rows) {
  Lanes<T> b;
  for_each_block(rows, [&](int64_t row, int64_t count) {
    b.load(x + row * n, n, count);
    b.find_max(n);
    b.template add_exp<false>(n);
    b.normalise(n);
    b.store(y + row * n, n, count);
  });
}

template <class T>
void short_log_softmax(const T* x, T* y, int64_t n, int64_t rows) {
  Lanes<T> b;
  for_each_block(rows, [&](int64_t row, int64_t count) {
    b.load(x + row * n, n, count);
    b.find_max(n);
    b.template add_exp<true>(n);
    b.take_log();
    for (int64_t j = 0; j < n; ++j) {
#pragma omp simd
      for (int64_t l = 0; l < kRowLanes; ++l) b.v[j][l] = b.v[j][l] - b.max[l] - b.sum[l];
    }
    b.store(y + row * n, n, count);
  });
}

template <class T>
void short_cross_entropy(const T* x, const T* labels, T* loss, T* backprop, int64_t n,
                         int64_t rows) {
  Lanes<T> b, want;
  for_each_block(rows, [&](int64_t row, int64_t count) {
    b.load(x + row * n, n, count);
    want.load(labels + row * n, n, count);
    b.find_max(n);
    b.template add_exp<true>(n);
    b.take_log();
    alignas(64) T total[kRowLanes] = {};
    for (int64_t j = 0; j < n; ++j) {
#pragma omp simd
      for (int64_t l = 0; l < kRowLanes; ++l) {
        const T log_p = b.v[j][l] - b.max[l] - b.sum[l];
        total[l] -= want.v[j][l] * log_p;
        b.v[j][l] = vexp(log_p) - want.v[j][l];
      }
    }
    std::copy_n(total, count, loss + row);
    b.store(backprop + row * n, n, count);
  });
}

template <class T, class Label>
void short_sparse_cross_entropy(const T* x, const Label* labels, T* loss, T* backprop,
                                int64_t n, int64_t rows) {
  Lanes<T> b;
  for_each_block(rows, [&](int64_t row, int64_t count) {
    const T* from = x + row * n;
    T* to = backprop + row * n;
    b.load(from, n, count);
    b.find_max(n);
    b.template add_exp<false>(n);
    b.normalise(n);
    b.take_log();
    for (int64_t r = 0; r < count; ++r) {
      const T own = from[r * n + static_cast<int64_t>(labels[row + r])];
      loss[row + r] = b.sum[r] - (own - b.max[r]);
    }
    b.store(to, n, count);
    for (int64_t r = 0; r < count; ++r) {
      to[r * n + static_cast<int64_t>(labels[row + r])] -= T(1);
    }
  });
}

template <class T>
constexpr ShortRowLoops<T> kShortRowLoops = {
    short_softmax<T>, short_log_softmax<T>, short_cross_entropy<T>,
    short_sparse_cross_entropy<T, int32_t>, short_sparse_cross_entropy<T, int64_t>};

}  // namespace

const ShortRowLoops<float>& short_row_loops_f32() { return kShortRowLoops<float>; }
const ShortRowLoops<double>& short_row_loops_f64() { return kShortRowLoops<double>; }

}  // namespace tandem::cpu::TANDEM_ISA
