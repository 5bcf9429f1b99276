// tf.py_function and tf.numpy_function in graphs: the op PyFunc calls the Python function
// that was registered under its number.
#include "python/host_callback.h"

#include <vector>

#include <fmt/format.h>
#include <nanobind/stl/string.h>

#include "op/emitter.h"
#include "ops/callbacks.h"
#include "python/bind.h"
#include "python/convert.h"
#include "python/convert_parts.h"
#include "python/dtypes.h"
#include "python/errors.h"
#include "python/tensor_object.h"
#include "run/tape.h"
#include "tandem/error.h"

namespace tandem::python {

namespace {

// For the life of the process:
PyObject* g_call = nullptr;       // call(token, tensors) → list
PyObject* g_functions = nullptr;  // token → function, held weakly

/// The class that a function of the library says its error is of.
[[noreturn]] void throw_own(nb::handle error) {
  throw_error(static_cast<ErrorCode>(nb::cast<int>(error.attr("error_code"))),
              nb::cast<std::string>(nb::str(error.attr("message"))));
}

// A Python error cannot travel through a plan: it becomes the error that TensorFlow's
// functions give, with the text of the Python one.
[[noreturn]] void throw_as_error(nb::python_error& e) {
  const nb::handle type = e.type();
  const std::string text =
      fmt::format("{}: {}", nb::cast<std::string>(type.attr("__name__")),
                  nb::cast<std::string>(nb::str(e.value())));
  const auto is = [&](PyObject* wanted) {
    return PyErr_GivenExceptionMatches(e.value().ptr(), wanted) != 0;
  };
  if (is(PyExc_KeyboardInterrupt)) {
    // Whoever looks for signals next finds it again, and nobody takes it for the
    // function's own error.
    PyErr_SetInterrupt();
    throw CancelledError("interrupted");
  }
  if (has_attribute(e.value().ptr(), "_own")) throw_own(e.value());
  if (is(PyExc_StopIteration)) throw OutOfRangeError(text);
  if (is(PyExc_MemoryError)) throw ResourceExhaustedError(text);
  if (is(PyExc_NotImplementedError)) throw UnimplementedError(text);
  if (is(PyExc_TypeError) || is(PyExc_ValueError)) throw InvalidArgumentError(text);
  throw UnknownError(text);
}

std::vector<Tensor> call_python(int64_t token, std::span<const Tensor> inputs) {
  const nb::gil_scoped_acquire locked;
  // What the function calls runs at once, whoever is tracing around it.
  const EmitterScope eager(nullptr);
  const HideListeners tapes;  // of its own may listen, those outside do not
  PyObject* graph = t_graph;
  t_graph = nullptr;
  struct Restore {
    PyObject* graph;
    ~Restore() { t_graph = graph; }
  } restore{graph};
  try {
    nb::list given;
    for (const Tensor& t : inputs) given.append(nb::steal(wrap(t)));
    const nb::object results = nb::handle(g_call)(token, given);
    std::vector<Tensor> outputs;
    for (nb::handle r : results) outputs.push_back(tensor_of(r.ptr()));
    return outputs;
  } catch (nb::python_error& e) {
    throw_as_error(e);
  }
}

}  // namespace

std::shared_ptr<const void> host_function(int64_t token) {
  const nb::object number = nb::int_(token);
  PyObject* function = PyObject_GetItem(g_functions, number.ptr());
  if (!function) {
    PyErr_Clear();  // the call says so
    return nullptr;
  }
  return {function, [](PyObject* held) { release_later(held); }};
}

void bind_host_callback(nb::module_& m) {
  m.def("dtype_number",
        [](nb::handle dtype) { return static_cast<int>(to_dtype(dtype.ptr())); });
  m.def(
      "set_host_callback",
      [](nb::handle call, nb::handle functions) {
        g_call = Py_NewRef(call.ptr());
        g_functions = Py_NewRef(functions.ptr());
        set_host_callback(call_python);
      },
      nb::arg("call"), nb::arg("functions"),
      "What the op PyFunc calls: call(token, tensors) gives tensors. Graphs keep what "
      "`functions`, which holds it weakly, has under the tokens.");
}

}  // namespace tandem::python
