// `__import__` of Keras's modules, which maps `tensorflow` to `tandem`: Keras imports
// inside functions that run at every call of a layer. What is mapped and not `tensorflow`
// itself is left to import_map.py.
#include <cstring>

#include "python/bind.h"
#include "python/errors.h"

namespace tandem::python {

namespace {

PyObject* g_rare = nullptr;    // import_map's function
PyObject* g_tandem = nullptr;  // "tandem"

enum class Which { kOther, kRoot, kPart };
Which which(PyObject* name) {
  constexpr const char* kRoot = "tensorflow";
  constexpr Py_ssize_t kLength = 10;
  Py_ssize_t n = 0;
  const char* text = PyUnicode_Check(name) ? PyUnicode_AsUTF8AndSize(name, &n) : nullptr;
  if (!text) {
    PyErr_Clear();
    return Which::kOther;
  }
  if (n < kLength || std::memcmp(text, kRoot, kLength) != 0) return Which::kOther;
  if (n == kLength) return Which::kRoot;
  return text[kLength] == '.' ? Which::kPart : Which::kOther;
}

// As the interpreter calls it: (name, globals, locals, fromlist, level).
PyObject* mapped_import(PyObject*, PyObject* const* args, Py_ssize_t n, PyObject* names) {
  if (n == 5 && !names) {
    const long level = PyLong_AsLong(args[4]);
    if (level == -1 && PyErr_Occurred()) return nullptr;
    const Which what = level == 0 ? which(args[0]) : Which::kOther;
    if (what == Which::kOther) {
      return PyImport_ImportModuleLevelObject(args[0], args[1], args[2], args[3],
                                              static_cast<int>(level));
    }
    if (what == Which::kRoot) {
      if (PyObject* module = PyImport_GetModule(g_tandem)) return module;
      if (PyErr_Occurred()) return nullptr;
    }
  }
  return PyObject_Vectorcall(g_rare, args, static_cast<size_t>(n), names);
}

PyMethodDef kImportFunctions[] = {
    {"mapped_import",
     reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(mapped_import)),
     METH_FASTCALL | METH_KEYWORDS, "__import__ that serves `tensorflow` by Tandem."},
    {nullptr, nullptr, 0, nullptr}};

}  // namespace

void bind_mapped_import(nb::module_& m) {
  g_tandem = PyUnicode_InternFromString("tandem");
  m.def("set_rare_import",
        [](nb::callable f) { Py_XSETREF(g_rare, Py_NewRef(f.ptr())); });
  if (PyModule_AddFunctions(m.ptr(), kImportFunctions) < 0) throw nb::python_error();
}

}  // namespace tandem::python
