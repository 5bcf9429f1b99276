// What convert.cc is made of: one function per kind of Python value.
#pragma once

#include "python/convert.h"

namespace tandem::python {

/// Host data as a tensor on the device the options ask for.
Tensor make_constant(const void* data, DType dtype, const Shape& shape,
                     const ConvertOptions& options);

/// A Python or NumPy number, a string or bytes.
bool is_scalar(PyObject* value);
Tensor from_scalar(PyObject* value, const ConvertOptions& options);

/// A list, tuple or range.
Tensor from_sequence(PyObject* value, const ConvertOptions& options);

/// An ndarray, and anything NumPy makes one of (buffers, `__array__`, DLPack).
Tensor from_array(PyObject* array, const ConvertOptions& options);
bool is_array_like(PyObject* value);

/// UTF-8 of a str, or the bytes of bytes.
std::string to_bytes(PyObject* value);

[[noreturn]] void raise_unsupported(PyObject* value);
[[noreturn]] void raise_dtype(PyObject* value, DType wanted);

/// Bytes of one element from a number; false when the number's kind does not fit the
/// dtype. `place` has room for dtype_size(dtype).
bool write_number(PyObject* value, DType dtype, void* place);

/// False for an integer that an integer dtype cannot hold; true for everything else.
bool integer_fits(PyObject* value, DType dtype);
[[noreturn]] void raise_does_not_fit(PyObject* value, DType dtype);

/// Objects that a tensor held and that another thread let go: dropped under the lock.
void release_later(PyObject* object);

}  // namespace tandem::python
