// OpenBLAS and LAPACKE with std::complex. Calls are single-threaded; parallel loops are
// ours.
#pragma once

#include <complex>

#define LAPACK_COMPLEX_CUSTOM
#define lapack_complex_float std::complex<float>
#define lapack_complex_double std::complex<double>
#include <cblas.h>
#include <lapacke.h>
