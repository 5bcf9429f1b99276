// Nested lists and tuples: all leaves are collected first, then written into one buffer.
// Sequences that contain tensors are stacked by an op instead.
#include <vector>

#include <fmt/format.h>

#include "op/emitter.h"
#include "python/convert_parts.h"
#include "python/dtypes.h"
#include "python/errors.h"
#include "python/numpy_api.h"
#include "python/tensor_object.h"
#include "python/variable_object.h"
#include "tandem/ops/array.h"
#include "tandem/ops/elementwise.h"
#include "tensor/tensor_impl.h"

namespace tandem::python {

namespace {

bool is_sequence(PyObject* v) {
  return PyList_Check(v) || PyTuple_Check(v) || PyRange_Check(v) ||
         (PyArray_Check(v) && PyArray_NDIM(reinterpret_cast<PyArrayObject*>(v)) > 0);
}

struct Leaves {
  std::vector<PyObject*> items;    // borrowed from `owners` or from the caller's value
  std::vector<nb::object> owners;  // lists made on the way
  Ints dims;
  bool ragged = false;
  bool has_tensors = false;
};

void collect(PyObject* value, size_t depth, Leaves& out) {
  if (!is_sequence(value)) {
    if (depth != out.dims.size()) out.ragged = true;
    if (!is_scalar(value) && is_tensor_like(value)) out.has_tensors = true;
    out.items.push_back(value);
    return;
  }
  if (depth >= kMaxRank) {
    raise(PyExc_ValueError,
          fmt::format("Can't convert a Python sequence nested deeper than {} to Tensor.",
                      kMaxRank));
  }
  PyObject* fast = PySequence_Fast(value, "a sequence is wanted");
  if (!fast) throw nb::python_error();
  out.owners.push_back(nb::steal(fast));
  const Py_ssize_t n = PySequence_Fast_GET_SIZE(fast);
  if (depth == out.dims.size()) {
    // The first one at this depth decides.
    if (out.items.empty() && !out.ragged) {
      out.dims.push_back(n);
    } else {
      out.ragged = true;
    }
  } else if (out.dims[depth] != n) {
    out.ragged = true;
  }
  if (n == 0 && depth + 1 < out.dims.size()) out.ragged = true;
  for (Py_ssize_t i = 0; i < n; ++i) {
    collect(PySequence_Fast_GET_ITEM(fast, i), depth + 1, out);
  }
}

[[noreturn]] void raise_mixed() {
  raise(PyExc_ValueError, "Can't convert Python sequence with mixed types to Tensor.");
}

// The first leaf says the kind; floats among integers make all of them floats.
DType natural_dtype(const Leaves& leaves) {
  bool any_float = false, any_complex = false, large = false;
  DType first = DType::kInvalid;
  for (PyObject* v : leaves.items) {
    DType t = DType::kInvalid;
    if (PyUnicode_Check(v) || PyBytes_Check(v)) {
      t = DType::kString;
    } else if (PyBool_Check(v) || PyArray_IsScalar(v, Bool)) {
      t = DType::kBool;
    } else if (PyArray_IsScalar(v, Double)) {
      t = DType::kFloat64;
    } else if (PyArray_IsScalar(v, Half)) {
      t = DType::kFloat16;
    } else if (PyFloat_Check(v) || PyArray_IsScalar(v, Floating)) {
      t = DType::kFloat32;
    } else if (PyLong_Check(v) || PyArray_IsScalar(v, Integer)) {
      t = DType::kInt32;
      const nb::object index = nb::steal(PyNumber_Index(v));
      int overflow = 0;
      const long long x = PyLong_AsLongLongAndOverflow(index.ptr(), &overflow);
      large = large || overflow || x != static_cast<int32_t>(x);
    } else if (PyComplex_Check(v) || PyArray_IsScalar(v, ComplexFloating)) {
      t = DType::kComplex128;
    } else {
      raise_unsupported(v);
    }
    if (first == DType::kInvalid) first = t;
    any_float = any_float || is_floating(t);
    any_complex = any_complex || is_complex(t);
    const bool strings = first == DType::kString, bools = first == DType::kBool;
    if (strings != (t == DType::kString) || (bools && t != DType::kBool)) raise_mixed();
  }
  if (first == DType::kInvalid) return DType::kFloat32;  // nothing inside
  if (first == DType::kString || first == DType::kBool) return first;
  if (any_complex && !is_complex(first)) raise_mixed();
  if (any_complex) return DType::kComplex128;
  if (is_floating(first)) return first;
  if (any_float) return DType::kFloat32;
  return large ? DType::kInt64 : DType::kInt32;
}

Tensor from_strings(const Leaves& leaves, const Shape& shape) {
  std::vector<std::string> texts;
  texts.reserve(leaves.items.size());
  for (PyObject* v : leaves.items) {
    if (!PyUnicode_Check(v) && !PyBytes_Check(v)) raise_mixed();
    texts.push_back(to_bytes(v));
  }
  return tensor_from_strings(texts, shape);
}

bool fill(const Leaves& leaves, DType dtype, std::vector<unsigned char>& bytes) {
  const size_t size = dtype_size(dtype);
  bytes.resize(leaves.items.size() * size);
  unsigned char* place = bytes.data();
  for (PyObject* v : leaves.items) {
    if (!write_number(v, dtype, place)) return false;
    place += size;
  }
  return true;
}

// Stacks what is inside; the first tensor found decides the dtype of plain numbers.
DType dtype_of_tensors(PyObject* value) {
  if (is_tensor(value)) return tensor_of(value).dtype();
  if (is_variable(value)) return variable_of_object(value).dtype();
  if (is_sequence(value) && !PyArray_Check(value)) {
    const nb::object fast = nb::steal(PySequence_Fast(value, ""));
    for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(fast.ptr()); ++i) {
      const DType t = dtype_of_tensors(PySequence_Fast_GET_ITEM(fast.ptr(), i));
      if (t != DType::kInvalid) return t;
    }
  }
  return DType::kInvalid;
}

// Are all of its tensors numbers, which may be taken as values of another dtype? Symbolic
// ones are not where no number may become another one: nobody can look whether it fits.
bool has_values_only(PyObject* value, bool exact) {
  if (is_variable(value)) return true;
  if (is_tensor(value)) {
    const Tensor& t = tensor_of(value);
    return !(exact && t.impl()->symbolic) && t.dtype() != DType::kString;
  }
  if (!PyList_Check(value) && !PyTuple_Check(value)) return is_scalar(value);
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(value); ++i) {
    if (!has_values_only(PySequence_Fast_GET_ITEM(value, i), exact)) return false;
  }
  return true;
}

// Where a dtype is asked for that the tensors do not have, TensorFlow takes their values
// one by one, as it takes numbers of the list; while a function is traced it casts them.
Tensor stack_of_values(PyObject* value, const ConvertOptions& options) {
  if (is_tensor(value) || is_variable(value)) {
    const Tensor t = to_tensor(value);
    return t.dtype() == options.dtype ? t : tandem::cast(t, options.dtype);
  }
  if (!PyList_Check(value) && !PyTuple_Check(value)) return to_tensor(value, options);
  std::vector<Tensor> parts;
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(value); ++i) {
    parts.push_back(stack_of_values(PySequence_Fast_GET_ITEM(value, i), options));
  }
  return stack(parts);
}

Tensor stack_of(PyObject* value, const ConvertOptions& options) {
  const DType natural = dtype_of_tensors(value);
  ConvertOptions inner = options;
  if (inner.dtype == DType::kInvalid) inner.dtype = options.hint;
  if (inner.dtype != DType::kInvalid && inner.dtype != natural &&
      inner.dtype != DType::kString && has_values_only(value, options.exact)) {
    try {
      return stack_of_values(value, inner);
    } catch (nb::python_error&) {
      if (options.dtype != DType::kInvalid) throw;
    }
  }
  inner = options;
  if (inner.dtype == DType::kInvalid) inner.hint = natural;
  const nb::object fast = nb::steal(PySequence_Fast(value, "a sequence is wanted"));
  std::vector<Tensor> parts;
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(fast.ptr()); ++i) {
    PyObject* item = PySequence_Fast_GET_ITEM(fast.ptr(), i);
    // A number beside tensors must be of their kind.
    ConvertOptions wanted = inner;
    if (wanted.dtype == DType::kInvalid && is_scalar(item)) wanted.dtype = natural;
    parts.push_back(to_tensor(item, wanted));
  }
  return stack(parts);
}

}  // namespace

Tensor from_sequence(PyObject* value, const ConvertOptions& options) {
  nb::object list;
  if (!is_sequence(value)) {
    list = nb::steal(PySequence_List(value));
    if (!list.is_valid()) throw nb::python_error();
    value = list.ptr();
  }
  Leaves leaves;
  collect(value, 0, leaves);
  if (leaves.has_tensors) return stack_of(value, options);
  if (leaves.ragged) {
    raise(PyExc_ValueError, "Can't convert non-rectangular Python sequence to Tensor.");
  }
  const Shape shape{std::span<const int64_t>(leaves.dims)};
  const bool strings = !leaves.items.empty() && (PyUnicode_Check(leaves.items[0]) ||
                                                 PyBytes_Check(leaves.items[0]));
  if (options.dtype == DType::kString || strings) {
    if (options.dtype != DType::kInvalid && options.dtype != DType::kString) {
      raise_dtype(value, options.dtype);
    }
    return from_strings(leaves, shape);
  }
  std::vector<unsigned char> bytes;
  DType wanted = options.dtype != DType::kInvalid ? options.dtype : options.hint;
  if (options.exact && is_integer(wanted)) {
    for (PyObject* v : leaves.items) {
      if (integer_fits(v, wanted)) continue;
      if (options.dtype != DType::kInvalid) raise_does_not_fit(v, wanted);
      wanted = DType::kInvalid;
      break;
    }
  }
  if (wanted != DType::kInvalid && wanted != DType::kString) {
    if (fill(leaves, wanted, bytes))
      return make_constant(bytes.data(), wanted, shape, options);
    for (PyObject* v : leaves.items) {
      if (!is_scalar(v)) raise_unsupported(v);
    }
    if (options.dtype != DType::kInvalid) raise_dtype(value, options.dtype);
  }
  const DType natural = natural_dtype(leaves);
  if (!fill(leaves, natural, bytes)) raise_mixed();
  return make_constant(bytes.data(), natural, shape, options);
}

}  // namespace tandem::python
