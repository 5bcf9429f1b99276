// DType: the element types of tensors, with TensorFlow's names.
#pragma once

#include <complex>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "tandem/half.h"

namespace tandem {

enum class DType : uint8_t {
  kInvalid,
  kBool,
  kInt8,
  kInt16,
  kInt32,
  kInt64,
  kUInt8,
  kUInt16,
  kUInt32,
  kUInt64,
  kFloat16,
  kBFloat16,
  kFloat32,
  kFloat64,
  kComplex64,
  kComplex128,
  kString,
  kResource,  // a handle to a variable; never has a buffer of its own
  kVariant,   // a list of tensors or an optional one; a value of graphs and of the host
};
inline constexpr int kDTypeCount = 19;

inline constexpr DType bool_ = DType::kBool, int8 = DType::kInt8, int16 = DType::kInt16,
                       int32 = DType::kInt32, int64 = DType::kInt64,
                       uint8 = DType::kUInt8, uint16 = DType::kUInt16,
                       uint32 = DType::kUInt32, uint64 = DType::kUInt64,
                       half = DType::kFloat16, bf16 = DType::kBFloat16,
                       float32 = DType::kFloat32, float64 = DType::kFloat64,
                       complex64 = DType::kComplex64, complex128 = DType::kComplex128,
                       string = DType::kString;

/// Bytes of one element in a buffer (a string element is a std::string).
size_t dtype_size(DType dtype);
/// TensorFlow's name: "float32", "bool", "bfloat16", …
std::string_view dtype_name(DType dtype);
/// TensorFlow's C++ spelling in kernel errors: "float", "double", "half", …
std::string_view dtype_short_name(DType dtype);
/// The dtype of that name; throws ValueError when there is none.
DType dtype_from_name(std::string_view name);

constexpr bool is_floating(DType t) {
  return t >= DType::kFloat16 && t <= DType::kFloat64;
}
constexpr bool is_complex(DType t) {
  return t == DType::kComplex64 || t == DType::kComplex128;
}
constexpr bool is_integer(DType t) { return t >= DType::kInt8 && t <= DType::kUInt64; }
constexpr bool is_unsigned(DType t) { return t >= DType::kUInt8 && t <= DType::kUInt64; }
constexpr bool is_numeric(DType t) {
  return t >= DType::kInt8 && t <= DType::kComplex128;
}
/// complex64 → float32, complex128 → float64, else the same.
constexpr DType real_dtype(DType t) {
  return t == DType::kComplex64    ? DType::kFloat32
         : t == DType::kComplex128 ? DType::kFloat64
                                   : t;
}

/// The dtype of a C++ element type.
template <class T>
struct DTypeOf;
#define TANDEM_DTYPE_OF(T, D)                \
  template <>                                \
  struct DTypeOf<T> {                        \
    static constexpr DType value = DType::D; \
  }
TANDEM_DTYPE_OF(bool, kBool);
TANDEM_DTYPE_OF(int8_t, kInt8);
TANDEM_DTYPE_OF(int16_t, kInt16);
TANDEM_DTYPE_OF(int32_t, kInt32);
TANDEM_DTYPE_OF(int64_t, kInt64);
TANDEM_DTYPE_OF(long long, kInt64);
TANDEM_DTYPE_OF(uint8_t, kUInt8);
TANDEM_DTYPE_OF(uint16_t, kUInt16);
TANDEM_DTYPE_OF(uint32_t, kUInt32);
TANDEM_DTYPE_OF(uint64_t, kUInt64);
TANDEM_DTYPE_OF(float16, kFloat16);
TANDEM_DTYPE_OF(bfloat16, kBFloat16);
TANDEM_DTYPE_OF(float, kFloat32);
TANDEM_DTYPE_OF(double, kFloat64);
TANDEM_DTYPE_OF(std::complex<float>, kComplex64);
TANDEM_DTYPE_OF(std::complex<double>, kComplex128);
TANDEM_DTYPE_OF(std::string, kString);
#undef TANDEM_DTYPE_OF
template <class T>
inline constexpr DType dtype_of = DTypeOf<T>::value;

}  // namespace tandem
