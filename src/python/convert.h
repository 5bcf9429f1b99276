// Python values to tensors, by TensorFlow's rules: Python numbers become int32 or float32
// (or what the op wants), arrays keep their dtype, sequences must be rectangular. And
// tensors to NumPy. Functions need the interpreter lock and throw nb::python_error.
#pragma once

#include <nanobind/nanobind.h>

#include "tandem/ints.h"
#include "tandem/shape.h"
#include "tandem/tensor.h"

namespace tandem::python {

namespace nb = nanobind;

struct ConvertOptions {
  DType dtype = DType::kInvalid;  // must be this one
  DType hint = DType::kInvalid;   // this one if the value can be
  bool on_host = false;           // in host memory whatever the device scope (shapes)
  // Integers keep their values (sizes, indices): one that the hint cannot hold gets a
  // dtype of its own, one that `dtype` cannot hold is an InvalidArgumentError. Otherwise
  // they wrap around, as TensorFlow's do.
  bool exact = false;
};

/// The tensor a Python value stands for; a variable is read.
Tensor to_tensor(PyObject* value, ConvertOptions options = {});

/// Does a size or a shape have numbers that int32 cannot hold, or tensors of int64?
bool needs_int64(PyObject* value);

/// Is it a tensor, or does it convert itself (`__tf_tensor__`)?
bool is_tensor_like(PyObject* value);

/// A shape from None, a TensorShape, integers, or an integer tensor.
Shape to_shape(PyObject* value);
/// The Python TensorShape of a shape.
nb::object shape_object(const Shape& shape);

/// A list of integers from an integer, a sequence of them, or an integer tensor.
Ints to_ints(PyObject* value, const char* what);

/// The contents as a NumPy array (a scalar tensor: of rank 0). Without `copy` it is
/// read-only and shares the memory of a tensor in host memory.
nb::object to_numpy(const Tensor& tensor, bool copy);

/// NumPy's scalar of the element at `data` (host memory), a new reference. Not for
/// strings.
PyObject* numpy_scalar(DType dtype, void* data);

void bind_convert(nb::module_& m);

}  // namespace tandem::python
