// exp, log and tanh that vectorise inside `omp simd` loops: libm's functions declared
// with their vector forms in glibc's libmvec (at most 4 ulp). Only for files compiled per
// instruction set.
#pragma once

#include <cmath>

#if defined(__x86_64__) && defined(__GLIBC__) && defined(__GLIBC_PREREQ)
#if __GLIBC_PREREQ(2, 35)
#define TANDEM_NN_LIBMVEC __attribute__((simd("notinbranch")))
#endif
#endif
#ifndef TANDEM_NN_LIBMVEC
#define TANDEM_NN_LIBMVEC
#endif

extern "C" {
TANDEM_NN_LIBMVEC double exp(double) noexcept;
TANDEM_NN_LIBMVEC float expf(float) noexcept;
TANDEM_NN_LIBMVEC double log(double) noexcept;
TANDEM_NN_LIBMVEC float logf(float) noexcept;
TANDEM_NN_LIBMVEC double tanh(double) noexcept;
TANDEM_NN_LIBMVEC float tanhf(float) noexcept;
}

namespace tandem::cpu::TANDEM_ISA {

// The C names are needed: std::exp(float) is another declaration.
inline float vexp(float x) { return ::expf(x); }
inline double vexp(double x) { return ::exp(x); }
inline float vlog(float x) { return ::logf(x); }
inline double vlog(double x) { return ::log(x); }
inline float vtanh(float x) { return ::tanhf(x); }
inline double vtanh(double x) { return ::tanh(x); }

}  // namespace tandem::cpu::TANDEM_ISA
