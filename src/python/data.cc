// Python values to and from the parts of descriptions.
#include "python/data.h"

#include <fmt/format.h>
#include <nanobind/stl/string.h>

#include "python/bind.h"
#include "python/convert.h"
#include "python/convert_parts.h"
#include "python/dtypes.h"
#include "python/errors.h"
#include "python/tensor_object.h"
#include "tensor/tensor_impl.h"

namespace tandem::python {

HeldObject::~HeldObject() { release_later(object_); }

namespace {

bool has_dimensions(PyObject* value) {
  if (is_tensor(value)) return tensor_of(value).shape().rank() > 0;
  if (!PySequence_Check(value)) return false;
  if (PySequence_Size(value) >= 0) return !PyUnicode_Check(value);
  drop_error(PyExc_Exception);  // an array of no dimensions has no size
  return false;
}

}  // namespace

data::Size to_size(nb::handle value) {
  const auto refuse = [&] {
    raise(PyExc_ValueError,
          "A count of a dataset is one integer, not " + repr_of(value.ptr()));
  };
  if (has_dimensions(value.ptr())) refuse();
  if (is_tensor(value.ptr()) && tensor_of(value.ptr()).impl()->symbolic) {
    if (!is_integer(tensor_of(value.ptr()).dtype())) {
      raise(PyExc_TypeError,
            "a count of a dataset must be integers, got " + repr_of(value.ptr()));
    }
    return data::Size(tensor_of(value.ptr()));
  }
  int overflow = 0;
  if (PyLong_Check(value.ptr())) {
    PyLong_AsLongLongAndOverflow(value.ptr(), &overflow);
  }
  if (overflow != 0) {  // TensorFlow makes a tensor of it
    raise(PyExc_ValueError,
          "A count of a dataset must fit int64: " + repr_of(value.ptr()));
  }
  const Ints ints = to_ints(value.ptr(), "a count of a dataset");
  if (ints.size() != 1) refuse();
  return ints[0];
}

data::Element to_element(nb::handle list) {
  data::Element element;
  for (nb::handle item : list) {
    if (nb::isinstance<data::Dataset>(item)) {
      element.push_back(data::dataset_tensor(nb::cast<const data::Dataset&>(item)));
    } else {
      element.push_back(to_tensor(item.ptr()));
    }
  }
  return element;
}

nb::tuple from_element(data::Element& element) {
  nb::object tuple = nb::steal(PyTuple_New(static_cast<Py_ssize_t>(element.size())));
  for (size_t i = 0; i < element.size(); ++i) {
    PyObject* item = wrap(std::move(element[i]));
    if (!item) throw nb::python_error();
    PyTuple_SET_ITEM(tuple.ptr(), static_cast<Py_ssize_t>(i), item);
  }
  return nb::borrow<nb::tuple>(tuple);
}

std::vector<data::Component> to_components(nb::handle list) {
  std::vector<data::Component> components;
  for (nb::handle pair : list) {
    components.push_back(
        {to_dtype(nb::object(pair[0]).ptr()), to_shape(nb::object(pair[1]).ptr())});
  }
  return components;
}

namespace {

ErrorCode code_of(nb::handle type) {
  const std::pair<PyObject*, ErrorCode> known[] = {
      {PyExc_ValueError, ErrorCode::kInvalidArgument},
      {PyExc_TypeError, ErrorCode::kInvalidArgument},
      {PyExc_StopIteration, ErrorCode::kOutOfRange},
      {PyExc_MemoryError, ErrorCode::kResourceExhausted},
      {PyExc_NotImplementedError, ErrorCode::kUnimplemented},
  };
  for (const auto& [python, code] : known) {
    if (PyErr_GivenExceptionMatches(type.ptr(), python)) return code;
  }
  return ErrorCode::kUnknown;
}

}  // namespace

void throw_as_pipeline_error(nb::python_error& error) {
  if (!PyErr_GivenExceptionMatches(error.type().ptr(), PyExc_Exception)) throw error;
  // What Tandem threw into Python comes out of it as it was.
  if (nb::hasattr(error.value(), "error_code") && nb::hasattr(error.value(), "message")) {
    const int code = nb::cast<int>(error.value().attr("error_code"));
    throw_error(static_cast<ErrorCode>(code),
                nb::cast<std::string>(nb::str(error.value().attr("message"))));
  }
  const auto text = nb::cast<std::string>(nb::str(error.value()));
  const auto name = nb::cast<std::string>(error.type().attr("__name__"));
  nb::object lines =
      nb::module_::import_("traceback")
          .attr("format_exception")(error.type(), error.value(), error.traceback());
  const auto trace = nb::cast<std::string>(nb::str("").attr("join")(lines));
  throw_error(code_of(error.type()), fmt::format("{}: {}\n{}", name, text, trace));
}

void bind_data(nb::module_& m) {
  nb::module_ data = m.def_submodule("data", "Input pipelines.");
  bind_data_functions(data);
  bind_data_stages(data);
  bind_data_iterator(data);
  bind_data_files(data);
}

}  // namespace tandem::python
