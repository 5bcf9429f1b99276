#include "python/scalar_value.h"

#include <complex>
#include <cstring>
#include <string>

#include <fmt/format.h>

#include "python/errors.h"
#include "python/host_now.h"
#include "python/interrupt.h"
#include "tandem/half.h"

namespace tandem::python {

namespace {

template <class T>
T read(const void* place) {
  T value;
  std::memcpy(&value, place, sizeof value);
  return value;
}

PyObject* number_at(DType dtype, const void* at) {
  switch (dtype) {
    case DType::kBool:
      return PyBool_FromLong(read<uint8_t>(at) != 0);
    case DType::kInt8:
      return PyLong_FromLong(read<int8_t>(at));
    case DType::kInt16:
      return PyLong_FromLong(read<int16_t>(at));
    case DType::kInt32:
      return PyLong_FromLong(read<int32_t>(at));
    case DType::kInt64:
      return PyLong_FromLongLong(read<int64_t>(at));
    case DType::kUInt8:
      return PyLong_FromLong(read<uint8_t>(at));
    case DType::kUInt16:
      return PyLong_FromLong(read<uint16_t>(at));
    case DType::kUInt32:
      return PyLong_FromUnsignedLong(read<uint32_t>(at));
    case DType::kUInt64:
      return PyLong_FromUnsignedLongLong(read<uint64_t>(at));
    case DType::kFloat16:
      return PyFloat_FromDouble(read<float16>(at));
    case DType::kBFloat16:
      return PyFloat_FromDouble(read<bfloat16>(at));
    case DType::kFloat32:
      return PyFloat_FromDouble(read<float>(at));
    case DType::kFloat64:
      return PyFloat_FromDouble(read<double>(at));
    case DType::kComplex64: {
      const auto c = read<std::complex<float>>(at);
      return PyComplex_FromDoubles(c.real(), c.imag());
    }
    case DType::kComplex128: {
      const auto c = read<std::complex<double>>(at);
      return PyComplex_FromDoubles(c.real(), c.imag());
    }
    case DType::kString: {
      const auto& text = *static_cast<const std::string*>(at);
      return PyBytes_FromStringAndSize(text.data(), static_cast<Py_ssize_t>(text.size()));
    }
    default:
      raise(PyExc_ValueError,
            fmt::format("A tensor of dtype {} has no Python value.", dtype_name(dtype)));
  }
}

}  // namespace

nb::object python_scalar(const Tensor& tensor) {
  const TensorImpl& impl = *tensor.impl();
  PyObject* number;
  if (on_host_now(impl)) {
    number = number_at(impl.dtype, impl.data());
  } else {
    Tensor host;
    {
      const Interruptible unlocked;
      host = tensor.to_host();
    }
    number = number_at(impl.dtype, host.host_data());
  }
  if (!number) throw nb::python_error();
  return nb::steal(number);
}

}  // namespace tandem::python
