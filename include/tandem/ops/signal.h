// Discrete Fourier transforms over the last one, two or three dimensions.
#pragma once

#include "tandem/tensor.h"

namespace tandem::signal {

/// Of complex numbers; `dimensions` is 1, 2 or 3. The inverse is divided by the sizes.
Tensor fft(const Tensor& input, int dimensions = 1);
Tensor ifft(const Tensor& input, int dimensions = 1);
/// Of real numbers, cut or filled with zeros to `length` (one size for each dimension):
/// the half of the last dimension that says all.
Tensor rfft(const Tensor& input, const Tensor& length, int dimensions = 1);
/// Real numbers from such a half.
Tensor irfft(const Tensor& input, const Tensor& length, int dimensions = 1);

}  // namespace tandem::signal
