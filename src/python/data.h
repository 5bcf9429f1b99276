// Datasets and their functions as Python objects. Functions need the interpreter lock
// unless they say otherwise.
#pragma once

#include <nanobind/nanobind.h>

#include "data/element_function.h"
#include "data/stages.h"

namespace tandem::python {

namespace nb = nanobind;

/// A Python object held by C++ objects that any thread may let go of.
class HeldObject {
 public:
  explicit HeldObject(nb::object object) : object_(object.release().ptr()) {}
  HeldObject(const HeldObject&) = delete;
  HeldObject& operator=(const HeldObject&) = delete;
  ~HeldObject();
  nb::handle get() const { return object_; }

 private:
  PyObject* object_;
};

/// A user's function as stages call it.
struct PyUserFunction {
  data::FunctionPtr function;
};

/// A count from an integer, a scalar tensor, or a tensor of a trace.
data::Size to_size(nb::handle value);
/// Tensors and datasets of a flat list of Python values.
data::Element to_element(nb::handle list);
nb::tuple from_element(data::Element& element);
std::vector<data::Component> to_components(nb::handle list);

/// Throws the Python error being handled as what TensorFlow makes of errors in Python
/// functions of a pipeline: ValueError → InvalidArgumentError, others → UnknownError, …
/// KeyboardInterrupt and the like go on as they are.
[[noreturn]] void throw_as_pipeline_error(nb::python_error& error);

void bind_data_functions(nb::module_& data);
void bind_data_stages(nb::module_& data);
void bind_data_iterator(nb::module_& data);
void bind_data_files(nb::module_& data);

}  // namespace tandem::python
