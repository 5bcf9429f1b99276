// Discrete Fourier transforms of one length: mixed radix where the length has small
// factors, else Bluestein's convolution. Made once, immutable afterwards; any thread may
// run it. Computes in T, with roots of unity rounded from double.
#pragma once

#include <complex>
#include <cstdint>
#include <memory>
#include <vector>

namespace tandem::cpu {

template <class T>
class Fourier {
 public:
  using Complex = std::complex<T>;
  explicit Fourier(int64_t n);

  int64_t size() const { return n_; }
  /// Elements that `run` needs as scratch.
  int64_t scratch() const;
  /// Transforms n elements in place. The inverse is not divided by n.
  void run(Complex* x, Complex* scratch, bool inverse) const;

 private:
  void run_factors(Complex* x, Complex* scratch, bool inverse) const;
  void run_chirp(Complex* x, Complex* scratch, bool inverse) const;

  int64_t n_ = 1;
  std::vector<int> factors_;
  std::vector<Complex> roots_;  // exp(-2πi k / n)
  // Bluestein: the transform as a convolution with a chirp, of a length with small
  // factors.
  std::unique_ptr<Fourier> inner_;
  std::vector<Complex> chirp_;         // exp(-πi k² / n)
  std::vector<Complex> chirp_filter_;  // the transform of its conjugate, over the length
};

extern template class Fourier<float>;
extern template class Fourier<double>;

}  // namespace tandem::cpu
