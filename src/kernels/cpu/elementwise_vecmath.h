// Math functions that vectorise: libm's functions declared with their vector forms in
// glibc's libmvec, so that loops over them call eight or sixteen lanes at a time without
// -ffast-math. Elsewhere they are libm's scalar functions. Those that libmvec has with an
// error above twice TensorFlow's are our own (vector_math.h). Only for files compiled per
// ISA.
#pragma once

#include <cmath>

#include "kernels/cpu/vector_math.h"

#if defined(__x86_64__) && defined(__GLIBC__) && defined(__GLIBC_PREREQ)
#if __GLIBC_PREREQ(2, 35)
#define TANDEM_LIBMVEC __attribute__((simd("notinbranch")))
#endif
#endif
#ifndef TANDEM_LIBMVEC
#define TANDEM_LIBMVEC
#endif

extern "C" {
#define TANDEM_VECTOR_FUNCTION(name)           \
  TANDEM_LIBMVEC double name(double) noexcept; \
  TANDEM_LIBMVEC float name##f(float) noexcept
#define TANDEM_VECTOR_FUNCTION2(name)                  \
  TANDEM_LIBMVEC double name(double, double) noexcept; \
  TANDEM_LIBMVEC float name##f(float, float) noexcept
TANDEM_VECTOR_FUNCTION(acosh);
TANDEM_VECTOR_FUNCTION(asinh);
TANDEM_VECTOR_FUNCTION(atan);
TANDEM_VECTOR_FUNCTION(atanh);
TANDEM_VECTOR_FUNCTION(erf);
TANDEM_VECTOR_FUNCTION(erfc);
TANDEM_VECTOR_FUNCTION(expm1);
TANDEM_VECTOR_FUNCTION(log1p);
TANDEM_VECTOR_FUNCTION(sinh);
TANDEM_VECTOR_FUNCTION(tanh);
TANDEM_VECTOR_FUNCTION2(atan2);
TANDEM_VECTOR_FUNCTION2(pow);
TANDEM_LIBMVEC float acosf(float) noexcept;
TANDEM_LIBMVEC float asinf(float) noexcept;
TANDEM_LIBMVEC float cosf(float) noexcept;
TANDEM_LIBMVEC float sinf(float) noexcept;
#undef TANDEM_VECTOR_FUNCTION
#undef TANDEM_VECTOR_FUNCTION2
}

namespace tandem::cpu::TANDEM_ISA::vm {

// Overloads on the element type; the C names are needed, std::exp(float) is another
// declaration.
#define TANDEM_OVERLOAD(name)                         \
  inline float name(float x) { return ::name##f(x); } \
  inline double name(double x) { return ::name(x); }
TANDEM_OVERLOAD(acosh)
TANDEM_OVERLOAD(asinh)
TANDEM_OVERLOAD(atan)
TANDEM_OVERLOAD(atanh)
TANDEM_OVERLOAD(erf)
TANDEM_OVERLOAD(erfc)
TANDEM_OVERLOAD(expm1)
TANDEM_OVERLOAD(log1p)
TANDEM_OVERLOAD(sinh)
TANDEM_OVERLOAD(tanh)
#undef TANDEM_OVERLOAD
inline float acos(float x) { return ::acosf(x); }
inline float asin(float x) { return ::asinf(x); }
inline float cos(float x) { return ::cosf(x); }
inline float sin(float x) { return ::sinf(x); }
inline float atan2(float y, float x) { return ::atan2f(y, x); }
inline double atan2(double y, double x) { return ::atan2(y, x); }
inline float pow(float x, float y) { return ::powf(x, y); }
inline double pow(double x, double y) { return ::pow(x, y); }

}  // namespace tandem::cpu::TANDEM_ISA::vm
