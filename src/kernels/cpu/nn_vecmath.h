// exp, log and tanh that vectorise inside `omp simd` loops: our own, and libm's tanh
// declared with its vector forms in glibc's libmvec. Only for files compiled per
// instruction set.
#pragma once

#include <cmath>

#include "kernels/cpu/vector_math.h"

#if defined(__x86_64__) && defined(__GLIBC__) && defined(__GLIBC_PREREQ)
#if __GLIBC_PREREQ(2, 35)
#define TANDEM_NN_LIBMVEC __attribute__((simd("notinbranch")))
#endif
#endif
#ifndef TANDEM_NN_LIBMVEC
#define TANDEM_NN_LIBMVEC
#endif

extern "C" {
TANDEM_NN_LIBMVEC double tanh(double) noexcept;
TANDEM_NN_LIBMVEC float tanhf(float) noexcept;
}

namespace tandem::cpu::TANDEM_ISA {

// The C names are needed: std::tanh(float) is another declaration.
inline float vexp(float x) { return vm::exp(x); }
inline double vexp(double x) { return vm::exp(x); }
inline float vlog(float x) { return vm::log(x); }
inline double vlog(double x) { return vm::log(x); }
inline float vtanh(float x) { return ::tanhf(x); }
inline double vtanh(double x) { return ::tanh(x); }

}  // namespace tandem::cpu::TANDEM_ISA
