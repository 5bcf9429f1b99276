#include "python/site.h"

#include <string>
#include <string_view>

#include <Python.h>

namespace tandem::python {

namespace {

/// Packages whose frames are not the user's.
bool is_inside(std::string_view file) {
  return file.find("/tandem/framework/") != std::string_view::npos ||
         file.find("/tandem/ops/") != std::string_view::npos ||
         file.find("/tandem/_") != std::string_view::npos ||
         file.find("/keras/src/") != std::string_view::npos || file.starts_with("<");
}

}  // namespace

const char* user_site() {
  PyFrameObject* frame = PyEval_GetFrame();
  Py_XINCREF(frame);
  std::string site;
  while (frame && site.empty()) {
    PyCodeObject* code = PyFrame_GetCode(frame);
    const char* file = PyUnicode_AsUTF8(code->co_filename);
    if (file && !is_inside(file)) {
      site = std::string(file) + ":" + std::to_string(PyFrame_GetLineNumber(frame));
    }
    if (!file) PyErr_Clear();
    Py_DECREF(code);
    PyFrameObject* back = PyFrame_GetBack(frame);
    Py_DECREF(frame);
    frame = back;
  }
  Py_XDECREF(frame);
  return site.empty() ? nullptr : recorder::intern(site);
}

}  // namespace tandem::python
