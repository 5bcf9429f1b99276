#include "python/site.h"

#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include <nanobind/nanobind.h>

namespace tandem::python {

namespace {

/// Packages whose frames are not the user's.
bool is_inside(std::string_view file) {
  return file.find("/tandem/framework/") != std::string_view::npos ||
         file.find("/tandem/ops/") != std::string_view::npos ||
         file.find("/tandem/_") != std::string_view::npos ||
         file.find("/keras/src/") != std::string_view::npos || file.starts_with("<");
}

/// The same by the name's object: tracing asks for every node and frame. Names are kept,
/// so that an object stays what it was; there are as many as there are files.
bool is_inside(PyObject* file) {
  static std::unordered_map<PyObject*, bool> known;  // guarded by the interpreter lock
  const auto found = known.find(file);
  if (found != known.end()) return found->second;
  const char* text = PyUnicode_AsUTF8(file);
  if (!text) PyErr_Clear();
  Py_INCREF(file);
  return known[file] = !text || is_inside(std::string_view(text));
}

/// The innermost frame of the user's, as file, line and function; nothing: there is none.
std::optional<SourceLocation> user_frame() {
  PyFrameObject* frame = PyEval_GetFrame();
  Py_XINCREF(frame);
  std::optional<SourceLocation> place;
  while (frame && !place) {
    PyCodeObject* code = PyFrame_GetCode(frame);
    if (!is_inside(code->co_filename)) {
      const char* function = PyUnicode_AsUTF8(code->co_qualname);
      if (!function) PyErr_Clear();
      place = SourceLocation{PyUnicode_AsUTF8(code->co_filename),
                             PyFrame_GetLineNumber(frame), function ? function : ""};
    }
    Py_DECREF(code);
    PyFrameObject* back = PyFrame_GetBack(frame);
    Py_DECREF(frame);
    frame = back;
  }
  Py_XDECREF(frame);
  return place;
}

}  // namespace

const char* user_site() {
  const std::optional<SourceLocation> place = user_frame();
  if (!place) return nullptr;
  return recorder::intern(place->file + ":" + std::to_string(place->line));
}

std::shared_ptr<const SourceLocation> user_location() {
  // A thread that Python does not know has no frames: a trace of the library's own.
  if (!Py_IsInitialized() || !PyGILState_GetThisThreadState()) return nullptr;
  const nanobind::gil_scoped_acquire locked;
  std::optional<SourceLocation> place = user_frame();
  return place ? std::make_shared<const SourceLocation>(std::move(*place)) : nullptr;
}

}  // namespace tandem::python
