// Tensors from host values, on the device of the current scope.
#include <cmath>

#include <fmt/format.h>

#include "device/runtime.h"
#include "op/emitter.h"
#include "op/placement.h"
#include "tandem/tensor.h"
#include "tensor/tensor_impl.h"

namespace tandem {

Tensor tensor_from(const void* data, DType dtype, const Shape& shape) {
  return make_host_copy(constant_device(dtype), dtype, shape, data);
}

Tensor tensor_from_strings(const std::vector<std::string>& values, const Shape& shape) {
  if (shape.num_elements() != static_cast<int64_t>(values.size())) {
    throw InvalidArgumentError(fmt::format("constant: {} strings do not fill shape {}",
                                           values.size(), shape.str()));
  }
  Tensor t = make_tensor(constant_device(DType::kString), DType::kString, shape);
  auto* p = static_cast<std::string*>(t.impl()->data());
  for (size_t i = 0; i < values.size(); ++i) p[i] = values[i];
  return t;
}

Tensor scalar(Scalar value, DType dtype) {
  auto make = [dtype]<class T>(T v) { return tensor_from(&v, dtype, {}); };
  auto integer = [&]<class T>(T) {
    const double d = value.as_double();
    if (value.is_float() && d != std::floor(d)) {
      throw InvalidArgumentError(fmt::format(
          "Cannot convert {} to a tensor of dtype {}. Cast the tensor, or use a "
          "whole number.",
          d, dtype_name(dtype)));
    }
    return make(static_cast<T>(value.as_int()));
  };
  const double d = value.as_double();
  switch (dtype) {
    case DType::kBool:
      return make(value.as_int() != 0);
    case DType::kInt8:
      return integer(int8_t{});
    case DType::kInt16:
      return integer(int16_t{});
    case DType::kInt32:
      return integer(int32_t{});
    case DType::kInt64:
      return integer(int64_t{});
    case DType::kUInt8:
      return integer(uint8_t{});
    case DType::kUInt16:
      return integer(uint16_t{});
    case DType::kUInt32:
      return integer(uint32_t{});
    case DType::kUInt64:
      return integer(uint64_t{});
    case DType::kFloat16:
      return make(float16(static_cast<float>(d)));
    case DType::kBFloat16:
      return make(bfloat16(static_cast<float>(d)));
    case DType::kFloat32:
      return make(static_cast<float>(d));
    case DType::kFloat64:
      return make(d);
    case DType::kComplex64:
      return make(std::complex<float>(static_cast<float>(d)));
    case DType::kComplex128:
      return make(std::complex<double>(d));
    case DType::kInvalid:
      throw InvalidArgumentError(
          "A number meets a tensor that is not defined. A gradient is undefined when the "
          "target "
          "does not depend on the source: check defined(), or ask with "
          "Unconnected::kZero.");
    default:
      throw InvalidArgumentError(
          fmt::format("A number cannot become a tensor of dtype {}", dtype_name(dtype)));
  }
}

}  // namespace tandem
