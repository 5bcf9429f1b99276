#include "python/convert.h"

#include <algorithm>
#include <cstdint>

#include <fmt/format.h>

#include "device/runtime.h"
#include "op/placement.h"
#include "python/convert_parts.h"
#include "python/dtypes.h"
#include "python/errors.h"
#include "python/graph_scopes.h"
#include "python/numpy_api.h"
#include "python/tensor_object.h"
#include "python/variable_object.h"
#include "tensor/tensor_impl.h"

namespace tandem::python {

namespace {

PyObject* g_tensor_shape = nullptr;  // the Python class
PyObject* g_convert_name = nullptr;  // "__tf_tensor__"
PyObject* g_dims_name = nullptr;     // "_dims"
PyObject* g_tensor_types = nullptr;  // Python classes that count as tensors

nb::object call_conversion(PyObject* value, DType dtype) {
  nb::object method = nb::steal(PyObject_GetAttr(value, g_convert_name));
  if (!method.is_valid()) throw nb::python_error();
  PyObject* args[] = {nullptr, dtype_object(dtype)};
  PyObject* result = PyObject_Vectorcall(method.ptr(), args + 1,
                                         1 | PY_VECTORCALL_ARGUMENTS_OFFSET, nullptr);
  if (!result) throw nb::python_error();
  return nb::steal(result);
}

bool converts_itself(PyObject* value) {
  // Looked up on the type, as Python does for special methods.
  return _PyType_Lookup(Py_TYPE(value), g_convert_name) != nullptr;
}

Tensor checked(const Tensor& t, PyObject* value, DType wanted) {
  if (wanted != DType::kInvalid && t.dtype() != wanted) {
    raise(PyExc_ValueError,
          fmt::format("Tensor conversion requested dtype {} for Tensor with dtype {}: {}",
                      dtype_name(wanted), dtype_name(t.dtype()), repr_of(value)));
  }
  return t;
}

bool is_tensor_shape(PyObject* value) {
  return g_tensor_shape &&
         Py_TYPE(value) == reinterpret_cast<PyTypeObject*>(g_tensor_shape);
}

Tensor from_tensor_shape(PyObject* value, const ConvertOptions& options) {
  const Shape shape = to_shape(value);
  if (!shape.is_known()) {
    raise(PyExc_ValueError,
          fmt::format("Cannot convert a partially known TensorShape {} to a Tensor.",
                      shape.str()));
  }
  const Shape form{shape.rank()};
  if (options.dtype == DType::kInt64) {
    return make_constant(shape.begin(), DType::kInt64, form, options);
  }
  const bool large = std::ranges::any_of(shape, [](int64_t d) { return d > INT32_MAX; });
  if (large && options.dtype == DType::kInvalid) {
    return make_constant(shape.begin(), DType::kInt64, form, options);
  }
  if (large) raise_does_not_fit(value, DType::kInt32);
  std::vector<int32_t> dims(shape.begin(), shape.end());
  return make_constant(dims.data(), DType::kInt32, form, options);
}

}  // namespace

void raise_unsupported(PyObject* value) {
  raise(PyExc_ValueError,
        fmt::format(
            "Attempt to convert a value ({}) with an unsupported type ({}) to a Tensor.",
            repr_of(value), repr_of(reinterpret_cast<PyObject*>(Py_TYPE(value)))));
}

void raise_dtype(PyObject* value, DType wanted) {
  raise(PyExc_TypeError, fmt::format("Cannot convert {} to EagerTensor of dtype {}",
                                     repr_of(value), dtype_short_name(wanted)));
}

Tensor make_constant(const void* data, DType dtype, const Shape& shape,
                     const ConvertOptions& options) {
  if (options.on_host) return make_host_copy(Runtime::get().cpu(), dtype, shape, data);
  return tensor_from(data, dtype, shape);
}

bool is_tensor_like(PyObject* value) {
  return is_tensor(value) || is_variable(value) || converts_itself(value);
}

bool needs_int64(PyObject* value) {
  if (is_tensor(value)) {
    const Tensor& t = tensor_of(value);
    return !t.impl()->symbolic && t.dtype() == DType::kInt64;
  }
  if (PyList_Check(value) || PyTuple_Check(value)) {
    const StructureLevel level;
    for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(value); ++i) {
      if (needs_int64(PySequence_Fast_GET_ITEM(value, i))) return true;
    }
    return false;
  }
  if (is_tensor_shape(value)) {
    const Shape shape = to_shape(value);
    return shape.has_rank() &&
           std::ranges::any_of(shape, [](int64_t d) { return d > INT32_MAX; });
  }
  return is_scalar(value) && !integer_fits(value, DType::kInt32);
}

namespace {

/// A range of more numbers than there can be is an error of an op, as TensorFlow's Range.
Tensor from_range(PyObject* value, ConvertOptions options) {
  try {
    return from_sequence(value, options);
  } catch (nb::python_error& error) {
    if (error.matches(PyExc_MemoryError)) {
      throw ResourceExhaustedError(
          fmt::format("{} does not fit in memory. Use fewer numbers.", repr_of(value)));
    }
    if (error.matches(PyExc_OverflowError)) {
      throw InvalidArgumentError(
          fmt::format("Requires ((limit - start) / delta) <= 9223372036854775807, got {}",
                      repr_of(value)));
    }
    throw;
  }
}

}  // namespace

Tensor to_tensor(PyObject* value, ConvertOptions options) {
  if (is_tensor(value)) return checked(tensor_of(value), value, options.dtype);
  if (is_variable(value)) return checked(read_variable(value), value, options.dtype);
  if (is_scalar(value)) return from_scalar(value, options);
  if (PyArray_Check(value)) return from_array(value, options);
  if (PyList_Check(value) || (PyTuple_Check(value) && !converts_itself(value))) {
    return from_sequence(value, options);
  }
  if (PyRange_Check(value)) return from_range(value, options);
  if (is_tensor_shape(value)) return from_tensor_shape(value, options);
  if (converts_itself(value)) {
    const nb::object result = call_conversion(value, options.dtype);
    if (!is_tensor(result.ptr())) raise_unsupported(value);
    return checked(tensor_of(result.ptr()), value, options.dtype);
  }
  if (is_array_like(value)) {
    const nb::object array = nb::steal(PyArray_FROM_O(value));
    if (!array.is_valid()) throw nb::python_error();
    return from_array(array.ptr(), options);
  }
  if (nb::isinstance<PyDType>(value) || PyType_Check(value)) raise_unsupported(value);
  if (PySequence_Check(value) && !PyMapping_Check(value))
    return from_sequence(value, options);
  raise_unsupported(value);
}

namespace {

// tf.is_tensor: asked for every argument of every layer, so the usual answers come first.
bool counts_as_tensor(PyObject* value) {
  if (is_tensor(value) || is_variable(value)) return true;
  if (!g_tensor_types || is_scalar(value) || PyArray_Check(value) || value == Py_None ||
      PyList_CheckExact(value) || PyTuple_CheckExact(value)) {
    return false;
  }
  const int yes = PyObject_IsInstance(value, g_tensor_types);
  if (yes < 0) throw nb::python_error();
  return yes != 0;
}

}  // namespace

nb::object shape_object(const Shape& shape) {
  if (!g_tensor_shape) raise(PyExc_RuntimeError, "tandem is not fully imported");
  PyObject* dims = Py_None;
  nb::object owned;
  if (shape.has_rank()) {
    owned = nb::steal(PyTuple_New(shape.rank()));
    for (int i = 0; i < shape.rank(); ++i) {
      PyTuple_SET_ITEM(owned.ptr(), i,
                       shape[i] < 0 ? Py_NewRef(Py_None) : PyLong_FromLongLong(shape[i]));
    }
    dims = owned.ptr();
  }
  // `_dims` is all that a TensorShape holds: no need to check what is known to be right.
  auto* type = reinterpret_cast<PyTypeObject*>(g_tensor_shape);
  nb::object result = nb::steal(type->tp_alloc(type, 0));
  if (!result.is_valid() || PyObject_SetAttr(result.ptr(), g_dims_name, dims) < 0) {
    throw nb::python_error();
  }
  return result;
}

namespace {
int64_t to_dimension(PyObject* item) {
  if (item == Py_None) return kUnknownDim;
  if (is_tensor(item)) {
    if (tensor_of(item).impl()->symbolic) {
      if (!is_integer(tensor_of(item).dtype())) {
        raise(PyExc_TypeError, "shape must be integers, got " + repr_of(item));
      }
      return kUnknownDim;
    }
    return to_ints(item, "shape")[0];
  }
  const nb::object index = nb::steal(PyNumber_Index(item));
  if (!index.is_valid()) throw nb::python_error();
  const int64_t dim = PyLong_AsLongLong(index.ptr());
  if (dim == -1 && PyErr_Occurred()) throw nb::python_error();
  return dim;
}
}  // namespace

Shape to_shape(PyObject* value) {
  if (value == Py_None) return Shape::unknown();
  if (is_tensor_shape(value)) {
    const nb::object dims = nb::steal(PyObject_GetAttr(value, g_dims_name));
    if (!dims.is_valid()) throw nb::python_error();
    return to_shape(dims.ptr());
  }
  Ints dims;
  if (PyList_Check(value) || PyTuple_Check(value)) {
    const Py_ssize_t n = PySequence_Fast_GET_SIZE(value);
    for (Py_ssize_t i = 0; i < n; ++i) {
      dims.push_back(to_dimension(PySequence_Fast_GET_ITEM(value, i)));
    }
  } else {
    dims = to_ints(value, "shape");
  }
  return Shape(std::span<const int64_t>(dims));
}

Ints to_ints(PyObject* value, const char* what) {
  Ints result;
  const auto append = [&](PyObject* item) {
    if (is_tensor(item) && tensor_of(item).impl()->symbolic) {
      if (const auto known = known_ints(tensor_of(item)); known && known->size() == 1) {
        result.push_back((*known)[0]);
        return;
      }
    }
    const nb::object index = nb::steal(PyNumber_Index(item));
    if (!index.is_valid()) throw nb::python_error();
    const int64_t v = PyLong_AsLongLong(index.ptr());
    if (v == -1 && PyErr_Occurred()) throw nb::python_error();
    result.push_back(v);
  };
  if (PyLong_Check(value)) {
    append(value);
    return result;
  }
  if (PyList_Check(value) || PyTuple_Check(value)) {
    const Py_ssize_t n = PySequence_Fast_GET_SIZE(value);
    for (Py_ssize_t i = 0; i < n; ++i) append(PySequence_Fast_GET_ITEM(value, i));
    return result;
  }
  if (is_tensor_shape(value)) {
    const Shape shape = to_shape(value);
    for (int64_t d : shape) result.push_back(d);
    return result;
  }
  const Tensor t = to_tensor(value, {.on_host = true});
  if (t.impl()->symbolic) {
    if (std::optional<Ints> known = known_ints(t)) return *std::move(known);
    raise(PyExc_TypeError,
          fmt::format("{} must be known when the function is traced, but is a symbolic "
                      "tensor. Pass a Python value.",
                      what));
  }
  if (!is_integer(t.dtype()) || t.rank() > 1) {
    raise(PyExc_TypeError,
          fmt::format("{} must be integers, got {}", what, repr_of(value)));
  }
  return host_ints(t, what);
}

void bind_convert(nb::module_& m) {
  g_convert_name = PyUnicode_InternFromString("__tf_tensor__");
  g_dims_name = PyUnicode_InternFromString("_dims");
  m.def("register_tensor_shape",
        [](nb::handle type) { Py_XSETREF(g_tensor_shape, Py_NewRef(type.ptr())); });
  m.def(
      "convert_to_tensor",
      [](nb::handle value, nb::handle dtype, nb::handle hint) {
        const ConvertOptions options{.dtype = to_dtype(dtype.ptr()),
                                     .hint = to_dtype(hint.ptr())};
        // A tensor is itself, with the attributes that somebody may have set on it.
        if (is_tensor(value.ptr())) {
          checked(tensor_of(value.ptr()), value.ptr(), options.dtype);
          return nb::borrow(value);
        }
        return nb::steal(wrap(to_tensor(value.ptr(), options)));
      },
      nb::arg("value").none(), nb::arg("dtype") = nb::none(),
      nb::arg("dtype_hint") = nb::none(), "The tensor that a Python value stands for.");
  m.def(
      "convert_sizes",
      [](nb::handle value, nb::handle dtype, nb::handle hint) {
        const ConvertOptions options{
            .dtype = to_dtype(dtype.ptr()), .hint = to_dtype(hint.ptr()), .exact = true};
        return nb::steal(wrap(to_tensor(value.ptr(), options)));
      },
      nb::arg("value"), nb::arg("dtype") = nb::none(), nb::arg("hint") = nb::none(),
      "convert_to_tensor for sizes and indices: a number that the dtype cannot hold is "
      "an InvalidArgumentError, one that the hint cannot hold makes the tensor int64.");
  m.def("register_tensor_types",
        [](nb::tuple types) { Py_XSETREF(g_tensor_types, Py_NewRef(types.ptr())); });
  m.def(
      "is_tensor", [](nb::handle x) { return counts_as_tensor(x.ptr()); },
      nb::arg("x").none(),
      "Whether x is a tensor or of a type that TensorFlow treats as one.");
  m.def(
      "is_tensor_like", [](nb::handle value) { return is_tensor_like(value.ptr()); },
      nb::arg("value").none());
  m.def("to_ints", [](nb::handle value) {
    nb::list list;
    for (int64_t v : to_ints(value.ptr(), "value")) list.append(v);
    return list;
  });
}

}  // namespace tandem::python
