#include <complex>

#include <fmt/format.h>

#include "python/convert_parts.h"
#include "python/dtypes.h"
#include "python/errors.h"
#include "python/numpy_api.h"
#include "tandem/error.h"
#include "tandem/half.h"

namespace tandem::python {

namespace {

// A NumPy scalar is first of all its own dtype; of Python's numbers, bool is an int.
enum class Kind { kNone, kBool, kInt, kFloat, kComplex, kString };

Kind kind_of(PyObject* v) {
  if (PyFloat_Check(v)) return Kind::kFloat;
  if (PyBool_Check(v) || PyArray_IsScalar(v, Bool)) return Kind::kBool;
  if (PyLong_Check(v) || PyArray_IsScalar(v, Integer)) return Kind::kInt;
  if (PyArray_IsScalar(v, Floating)) return Kind::kFloat;
  if (PyComplex_Check(v) || PyArray_IsScalar(v, ComplexFloating)) return Kind::kComplex;
  if (PyUnicode_Check(v) || PyBytes_Check(v)) return Kind::kString;
  return Kind::kNone;
}

template <class T>
void put(void* place, T value) {
  std::memcpy(place, &value, sizeof value);
}

// Integers wrap around in narrow dtypes, as TensorFlow's cast from int32 does.
bool write_integer(uint64_t bits, DType dtype, void* place) {
  switch (dtype) {
    case DType::kInt8:
    case DType::kUInt8:
      return put(place, static_cast<uint8_t>(bits)), true;
    case DType::kInt16:
    case DType::kUInt16:
      return put(place, static_cast<uint16_t>(bits)), true;
    case DType::kInt32:
    case DType::kUInt32:
      return put(place, static_cast<uint32_t>(bits)), true;
    case DType::kInt64:
    case DType::kUInt64:
      return put(place, bits), true;
    default:
      return false;
  }
}

bool write_float(double v, DType dtype, void* place) {
  switch (dtype) {
    case DType::kFloat16:
      return put(place, float16(static_cast<float>(v))), true;
    case DType::kBFloat16:
      return put(place, bfloat16(static_cast<float>(v))), true;
    case DType::kFloat32:
      return put(place, static_cast<float>(v)), true;
    case DType::kFloat64:
      return put(place, v), true;
    case DType::kComplex64:
      return put(place, std::complex<float>(static_cast<float>(v))), true;
    case DType::kComplex128:
      return put(place, std::complex<double>(v)), true;
    default:
      return false;
  }
}

[[noreturn]] void raise_out_of_range() {
  PyErr_Clear();
  raise(PyExc_ValueError,
        "Can't convert Python sequence with out-of-range integer to Tensor.");
}

bool write_python_int(PyObject* value, DType dtype, void* place) {
  const nb::object index = nb::steal(PyNumber_Index(value));
  if (!index.is_valid()) throw nb::python_error();
  if (is_integer(dtype)) {
    if (dtype == DType::kUInt64) {
      const unsigned long long u = PyLong_AsUnsignedLongLong(index.ptr());
      if (!PyErr_Occurred()) return write_integer(u, dtype, place);
      PyErr_Clear();
    }
    const long long v = PyLong_AsLongLong(index.ptr());
    if (v == -1 && PyErr_Occurred()) raise_out_of_range();
    return write_integer(static_cast<uint64_t>(v), dtype, place);
  }
  const double d = PyLong_AsDouble(index.ptr());
  if (d == -1.0 && PyErr_Occurred()) raise_out_of_range();
  return write_float(d, dtype, place);
}

}  // namespace

bool write_number(PyObject* value, DType dtype, void* place) {
  switch (kind_of(value)) {
    case Kind::kBool: {
      const int truth = PyObject_IsTrue(value);
      if (dtype == DType::kBool) return put(place, truth != 0), true;
      return write_integer(static_cast<uint64_t>(truth), dtype, place) ||
             write_float(truth, dtype, place);
    }
    case Kind::kInt:
      return dtype != DType::kBool && write_python_int(value, dtype, place);
    case Kind::kFloat: {
      const double d = PyFloat_AsDouble(value);
      if (d == -1.0 && PyErr_Occurred()) throw nb::python_error();
      return write_float(d, dtype, place);
    }
    case Kind::kComplex: {
      const Py_complex c = PyComplex_AsCComplex(value);
      if (PyErr_Occurred()) throw nb::python_error();
      if (dtype == DType::kComplex128) {
        return put(place, std::complex<double>(c.real, c.imag)), true;
      }
      if (dtype != DType::kComplex64) return false;
      return put(place, std::complex<float>(static_cast<float>(c.real),
                                            static_cast<float>(c.imag))),
             true;
    }
    default:
      return false;
  }
}

bool integer_fits(PyObject* value, DType dtype) {
  if (!is_integer(dtype) || kind_of(value) != Kind::kInt) return true;
  const nb::object index = nb::steal(PyNumber_Index(value));
  if (!index.is_valid()) throw nb::python_error();
  int overflow = 0;
  const long long v = PyLong_AsLongLongAndOverflow(index.ptr(), &overflow);
  const int bits = static_cast<int>(dtype_size(dtype)) * 8;
  const bool is_unsigned = dtype == DType::kUInt8 || dtype == DType::kUInt16 ||
                           dtype == DType::kUInt32 || dtype == DType::kUInt64;
  if (overflow) return false;
  if (is_unsigned) return v >= 0 && (bits == 64 || v >> bits == 0);
  return bits == 64 || (v >= -(1LL << (bits - 1)) && v < (1LL << (bits - 1)));
}

void raise_does_not_fit(PyObject* value, DType dtype) {
  throw InvalidArgumentError(
      fmt::format("{} is out of the range of {}, the dtype of this size or index. Give "
                  "smaller numbers, or tensors of dtype int64.",
                  repr_of(value), dtype_name(dtype)));
}

bool is_scalar(PyObject* value) { return kind_of(value) != Kind::kNone; }

std::string to_bytes(PyObject* value) {
  if (PyBytes_Check(value)) {
    return {PyBytes_AS_STRING(value), static_cast<size_t>(PyBytes_GET_SIZE(value))};
  }
  Py_ssize_t size = 0;
  const char* text = PyUnicode_AsUTF8AndSize(value, &size);
  if (!text) throw nb::python_error();
  return {text, static_cast<size_t>(size)};
}

Tensor from_scalar(PyObject* value, const ConvertOptions& options) {
  const Kind kind = kind_of(value);
  DType wanted = options.dtype != DType::kInvalid ? options.dtype : options.hint;
  if (options.exact && wanted != DType::kInvalid && !integer_fits(value, wanted)) {
    if (options.dtype != DType::kInvalid) raise_does_not_fit(value, wanted);
    wanted = DType::kInvalid;
  }
  if (kind == Kind::kString) {
    if (options.dtype != DType::kInvalid && options.dtype != DType::kString) {
      raise_dtype(value, options.dtype);
    }
    return tensor_from_strings({to_bytes(value)}, {});
  }
  alignas(16) unsigned char bytes[16];
  if (wanted != DType::kInvalid) {
    if (write_number(value, wanted, bytes))
      return make_constant(bytes, wanted, {}, options);
    // NumPy's scalars are cast as its arrays are: 1.5 becomes the integer 1.
    if (PyArray_CheckScalar(value) && (is_integer(wanted) || is_floating(wanted))) {
      const nb::object array = nb::steal(PyArray_FromScalar(value, nullptr));
      if (!array.is_valid()) throw nb::python_error();
      ConvertOptions exact = options;
      exact.dtype = wanted;
      return from_array(array.ptr(), exact);
    }
    if (options.dtype != DType::kInvalid) raise_dtype(value, wanted);
  }
  DType natural = DType::kBool;
  if (PyArray_CheckScalar(value)) {
    PyArray_Descr* descr = PyArray_DescrFromScalar(value);
    natural = dtype_of_numpy(descr->type_num);
    Py_DECREF(descr);
    if (natural == DType::kInvalid) raise_unsupported(value);
  } else if (kind == Kind::kInt) {
    int overflow = 0;
    const long long v = PyLong_AsLongLongAndOverflow(value, &overflow);
    if (overflow) raise_out_of_range();
    natural = v == static_cast<int32_t>(v) ? DType::kInt32 : DType::kInt64;
  } else if (kind == Kind::kFloat) {
    natural = DType::kFloat32;
  } else if (kind == Kind::kComplex) {
    natural = DType::kComplex128;
  }
  if (!write_number(value, natural, bytes)) raise_unsupported(value);
  return make_constant(bytes, natural, {}, options);
}

}  // namespace tandem::python
