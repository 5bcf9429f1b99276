// Errors between C++ and Python: what Tandem throws becomes the class of tf.errors that
// belongs to its code (registered by tandem.errors), and a Python error travels through
// C++ as nb::python_error. All functions need the interpreter lock.
#pragma once

#include <exception>
#include <string>
#include <utility>

#include <nanobind/nanobind.h>

namespace tandem::python {

namespace nb = nanobind;

/// Sets the Python error that belongs to the exception being handled.
void set_python_error();

/// Throws a Python error of that class through C++.
[[noreturn]] void raise(PyObject* type, const std::string& message);

/// Runs `body`, which returns a new reference; an exception becomes a Python error.
template <class Body>
PyObject* guarded(Body&& body) {
  try {
    return std::forward<Body>(body)();
  } catch (...) {
    set_python_error();
    return nullptr;
  }
}

/// repr(o) for messages; never fails.
std::string repr_of(PyObject* o);

/// One level of a Python structure that C++ goes down. One that is too deep, or holds
/// itself, is a RecursionError, as in Python's own functions.
class StructureLevel {
 public:
  StructureLevel() {
    if (Py_EnterRecursiveCall(" in a nested structure")) throw nb::python_error();
  }
  StructureLevel(const StructureLevel&) = delete;
  StructureLevel& operator=(const StructureLevel&) = delete;
  ~StructureLevel() { Py_LeaveRecursiveCall(); }
};

/// Drops the error that is set, if any. One of another class is thrown: what a signal
/// handler raised in the middle of a property must not get lost.
void drop_error(PyObject* type);

/// hasattr(o, name).
bool has_attribute(PyObject* o, const char* name);

void bind_errors(nb::module_& m);

}  // namespace tandem::python
