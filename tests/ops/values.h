// Conversions between tensors and the double-precision Ref of the cases, random inputs,
// comparison.
#pragma once

#include <random>
#include <string>

#include "ops/case.h"

namespace tandem::testing {

/// Numbers as the input asks for, already rounded to `dtype` so that the reference sees
/// what the op sees.
Ref make_values(const In& in, DType dtype, std::mt19937_64& random);
/// A CPU tensor with these values. `misalign` elements lie before them in the same
/// buffer.
Tensor to_tensor(const Ref& ref, DType dtype, int misalign = 0);
Ref to_ref(const Tensor& tensor);
/// The value after a round trip through `dtype`.
std::complex<double> rounded(std::complex<double> v, DType dtype);

/// Empty when equal within the tolerance (scaled to the dtype), else the first
/// difference.
std::string difference(const Ref& got, const Ref& expected, DType dtype,
                       double tolerance);
double scaled_tolerance(DType dtype, double float32_tolerance);

}  // namespace tandem::testing
