// Arguments and results of bound functions: tensors from any Python value, shapes, lists
// of integers and dtypes.
#pragma once

#include <nanobind/nanobind.h>

#include "python/convert.h"
#include "python/dtypes.h"
#include "python/errors.h"
#include "python/tensor_object.h"

namespace nanobind::detail {

template <>
struct type_caster<tandem::Tensor> {
  NB_TYPE_CASTER(tandem::Tensor, const_name("tandem.Tensor"))
  // Throws what the conversion throws: no other overload is to be tried.
  bool from_python(handle src, uint8_t, cleanup_list*) {
    if (!src.is_none()) value = tandem::python::to_tensor(src.ptr());
    return true;
  }
  static handle from_cpp(const tandem::Tensor& t, rv_policy, cleanup_list*) {
    return tandem::python::wrap(t);
  }
};

template <>
struct type_caster<tandem::Shape> {
  NB_TYPE_CASTER(tandem::Shape, const_name("tandem.TensorShape"))
  bool from_python(handle src, uint8_t, cleanup_list*) {
    value = tandem::python::to_shape(src.ptr());
    return true;
  }
  static handle from_cpp(const tandem::Shape& s, rv_policy, cleanup_list*) {
    return tandem::python::shape_object(s).release();
  }
};

template <>
struct type_caster<tandem::Ints> {
  NB_TYPE_CASTER(tandem::Ints, const_name("list[int]"))
  bool from_python(handle src, uint8_t, cleanup_list*) {
    if (!src.is_none()) value = tandem::python::to_ints(src.ptr(), "a list of integers");
    return true;
  }
  static handle from_cpp(const tandem::Ints& v, rv_policy, cleanup_list*) {
    list l;
    for (int64_t x : v) l.append(x);
    return l.release();
  }
};

template <>
struct type_caster<tandem::DType> {
  NB_TYPE_CASTER(tandem::DType, const_name("tandem.DType"))
  bool from_python(handle src, uint8_t, cleanup_list*) {
    value = tandem::python::to_dtype(src.ptr());
    return true;
  }
  static handle from_cpp(tandem::DType t, rv_policy, cleanup_list*) {
    return handle(tandem::python::dtype_object(t)).inc_ref();
  }
};

}  // namespace nanobind::detail
