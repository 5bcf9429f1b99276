#include "kernels/cpu/fourier.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace tandem::cpu {

namespace {

constexpr int kLargestFactor = 13;

template <class T>
std::complex<T> root(int64_t k, int64_t n) {
  const double angle =
      -2 * std::numbers::pi * static_cast<double>(k % n) / static_cast<double>(n);
  return {static_cast<T>(std::cos(angle)), static_cast<T>(std::sin(angle))};
}

/// The small factors, largest first; empty when there are others.
std::vector<int> small_factors(int64_t n) {
  std::vector<int> factors;
  for (const int p : {4, 2, 3, 5, 7, 11, kLargestFactor}) {
    while (n % p == 0) {
      factors.push_back(p);
      n /= p;
    }
  }
  return n == 1 ? factors : std::vector<int>{};
}

template <class T>
std::complex<T> times(std::complex<T> a, std::complex<T> b) {
  return {a.real() * b.real() - a.imag() * b.imag(),
          a.real() * b.imag() + a.imag() * b.real()};
}

}  // namespace

template <class T>
Fourier<T>::Fourier(int64_t n) : n_(n), factors_(small_factors(n)) {
  if (n <= 1) return;
  if (!factors_.empty()) {
    for (int64_t k = 0; k < n; ++k) roots_.push_back(root<T>(k, n));
    return;
  }
  int64_t m = 1;
  while (m < 2 * n - 1) m *= 2;
  inner_ = std::make_unique<Fourier>(m);
  chirp_filter_.assign(static_cast<size_t>(m), Complex());
  for (int64_t k = 0; k < n; ++k) {
    chirp_.push_back(root<T>(k * k % (2 * n), 2 * n));
    const Complex value = std::conj(chirp_.back()) / static_cast<T>(m);
    chirp_filter_[static_cast<size_t>(k)] = value;
    chirp_filter_[static_cast<size_t>((m - k) % m)] = value;
  }
  std::vector<Complex> scratch(static_cast<size_t>(inner_->scratch()));
  inner_->run(chirp_filter_.data(), scratch.data(), false);
}

template <class T>
int64_t Fourier<T>::scratch() const {
  return inner_ ? inner_->size() + inner_->scratch() : n_;
}

template <class T>
void Fourier<T>::run(Complex* x, Complex* scratch, bool inverse) const {
  if (n_ <= 1) return;
  if (inner_) {
    run_chirp(x, scratch, inverse);
  } else {
    run_factors(x, scratch, inverse);
  }
}

// Before a step with factor p the array is [l][m·p]: row j holds frequency j of the
// transforms of length l of every (n/l)-th element. The step makes it [l·p][m].
template <class T>
void Fourier<T>::run_factors(Complex* x, Complex* scratch, bool inverse) const {
  Complex *from = x, *to = scratch;
  int64_t l = 1, m = n_;
  const auto turn = [&](int64_t k) {
    const Complex r = roots_[static_cast<size_t>(k % n_)];
    return inverse ? std::conj(r) : r;
  };
  for (const int p : factors_) {
    m /= p;
    Complex corner[kLargestFactor];  // roots of order p
    for (int q = 0; q < p; ++q) corner[q] = turn(n_ / p * q);
    for (int64_t j = 0; j < l; ++j) {
      Complex twist[kLargestFactor];
      for (int r = 0; r < p; ++r) twist[r] = turn(j * m * r);
      const Complex* row = from + j * m * p;
      for (int q = 0; q < p; ++q) {
        Complex* out = to + (j + l * q) * m;
        for (int64_t k = 0; k < m; ++k) out[k] = row[k];
        for (int r = 1; r < p; ++r) {
          const Complex w = times(twist[r], corner[q * r % p]);
          const Complex* in = row + m * r;
          for (int64_t k = 0; k < m; ++k) out[k] += times(w, in[k]);
        }
      }
    }
    std::swap(from, to);
    l *= p;
  }
  if (from != x) std::copy_n(from, n_, x);
}

template <class T>
void Fourier<T>::run_chirp(Complex* x, Complex* scratch, bool inverse) const {
  const int64_t m = inner_->size();
  Complex *padded = scratch, *rest = scratch + m;
  const auto turned = [inverse](Complex v) { return inverse ? std::conj(v) : v; };
  // The inverse is the conjugate of the transform of the conjugate.
  for (int64_t k = 0; k < n_; ++k) {
    padded[k] = times(turned(x[k]), chirp_[static_cast<size_t>(k)]);
  }
  std::fill(padded + n_, padded + m, Complex());
  inner_->run(padded, rest, false);
  for (int64_t k = 0; k < m; ++k) {
    padded[k] = times(padded[k], chirp_filter_[static_cast<size_t>(k)]);
  }
  inner_->run(padded, rest, true);
  for (int64_t k = 0; k < n_; ++k) {
    x[k] = turned(times(padded[k], chirp_[static_cast<size_t>(k)]));
  }
}

template class Fourier<float>;
template class Fourier<double>;

}  // namespace tandem::cpu
