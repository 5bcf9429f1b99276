#include "python/errors.h"

#include <array>
#include <cstring>
#include <new>
#include <stdexcept>

#include "graph/trace.h"
#include "tandem/control_flow.h"
#include "tandem/error.h"

namespace tandem::python {

namespace {

// Classes by error code; owned for the life of the process.
std::array<PyObject*, 17> g_classes{};

// What a trace raises for arguments that do not fit: TensorFlow's classes for that are
// Python's own.
PyObject* g_traced_class = nullptr;

/// A message may quote bytes of a file or of a string tensor that are no UTF-8.
PyObject* text_of(const char* message) {
  return PyUnicode_DecodeUTF8(message, static_cast<Py_ssize_t>(std::strlen(message)),
                              "backslashreplace");
}

void set_text(PyObject* type, const char* message) {
  PyObject* const text = text_of(message);
  if (!text) return;
  PyErr_SetObject(type, text);
  Py_DECREF(text);
}

void set_error(const Error& e) {
  // Work that was given up because of an interrupt ends in the interrupt.
  if (e.code() == ErrorCode::kCancelled && PyErr_CheckSignals() != 0) return;
  const auto code = static_cast<size_t>(e.code());
  PyObject* type = code < g_classes.size() ? g_classes[code] : nullptr;
  if (e.code() == ErrorCode::kInvalidArgument && g_traced_class && current_tracer()) {
    type = g_traced_class;
  }
  if (!type) {
    set_text(PyExc_RuntimeError, e.what());
    return;
  }
  if (PyErr_Occurred() && !PyErr_ExceptionMatches(PyExc_Exception)) return;  // Ctrl-C
  PyErr_Clear();  // of a conversion that was tried and given up
  PyObject* const text = text_of(e.what());
  if (!text) return;
  PyObject* const given[] = {Py_None, Py_None, text};
  PyObject* error = PyObject_Vectorcall(type, given, 3, nullptr);
  Py_DECREF(text);
  if (!error) return;
  PyErr_SetObject(type, error);
  Py_DECREF(error);
}

}  // namespace

void set_python_error() {
  try {
    throw;
  } catch (nb::python_error& e) {
    e.restore();
  } catch (const ValueError& e) {
    set_text(PyExc_ValueError, e.what());
  } catch (const TypeError& e) {
    set_text(PyExc_TypeError, e.what());
  } catch (const RuntimeStateError& e) {
    set_text(PyExc_RuntimeError, e.what());
  } catch (const Error& e) {
    set_error(e);
  } catch (const std::length_error&) {
    set_error(ResourceExhaustedError("A container would be larger than memory can be."));
  } catch (const std::bad_alloc&) {
    // Memory that a kernel asked for itself. TensorFlow's class, as where tensors do not
    // fit.
    set_error(
        ResourceExhaustedError("The host's memory does not suffice for this call."));
  } catch (const std::exception& e) {
    set_text(PyExc_RuntimeError, e.what());
  }
}

void raise(PyObject* type, const std::string& message) {
  set_text(type, message.c_str());
  throw nb::python_error();
}

std::string repr_of(PyObject* o) {
  PyObject* text = PyObject_Repr(o);
  const char* utf8 = text ? PyUnicode_AsUTF8(text) : nullptr;
  std::string result = utf8 ? utf8 : "<object without repr>";
  Py_XDECREF(text);
  // Ctrl-C in somebody's __repr__ comes again where it can be thrown.
  if (PyErr_Occurred() && PyErr_ExceptionMatches(PyExc_KeyboardInterrupt)) {
    PyErr_SetInterrupt();
  }
  PyErr_Clear();
  return result;
}

void drop_error(PyObject* type) {
  if (!PyErr_Occurred()) return;
  if (!PyErr_ExceptionMatches(type)) throw nb::python_error();
  PyErr_Clear();
}

bool has_attribute(PyObject* o, const char* name) {
  const nb::object found = nb::steal(PyObject_GetAttrString(o, name));
  if (!found.is_valid()) drop_error(PyExc_AttributeError);
  return found.is_valid();
}

void bind_errors(nb::module_& m) {
  nb::register_exception_translator([](const std::exception_ptr& p, void*) {
    try {
      std::rethrow_exception(p);
    } catch (const Error&) {
      set_python_error();
    } catch (const std::bad_alloc&) {
      set_python_error();
    } catch (const std::length_error&) {
      set_python_error();
    }
  });
  m.def("register_traced_error", [](nb::handle type) {
    Py_INCREF(type.ptr());
    Py_XSETREF(g_traced_class, type.ptr());
  });
  m.def(
      "register_error",
      [](int code, nb::handle type) {
        if (code < 0 || code >= static_cast<int>(g_classes.size())) {
          raise(PyExc_ValueError, "register_error: no such code");
        }
        Py_INCREF(type.ptr());
        Py_XSETREF(g_classes[static_cast<size_t>(code)], type.ptr());
      },
      nb::arg("code"), nb::arg("type"),
      "The Python class that errors of this code become.");
}

}  // namespace tandem::python
