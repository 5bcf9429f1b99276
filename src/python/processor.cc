// The module tandem._processor: asked before tandem._core is loaded, so that a processor
// without the instructions that the library is compiled for gets ImportError. It needs no
// library.
#include "base/processor.h"

#include <Python.h>

namespace {

PyObject* missing(PyObject*, PyObject*) {
  char names[64];
  tandem::processor::list_missing(names, sizeof names);
  if (!names[0]) return PyUnicode_FromString("");
  return PyUnicode_FromFormat("%s%s", tandem::processor::kNeeds, names);
}

PyMethodDef methods[] = {
    {"missing", missing, METH_NOARGS,
     "What the processor lacks, as a sentence; empty where nothing is missing."},
    {nullptr, nullptr, 0, nullptr}};

PyModuleDef definition = {PyModuleDef_HEAD_INIT,
                          "_processor",
                          nullptr,
                          0,
                          methods,
                          nullptr,
                          nullptr,
                          nullptr,
                          nullptr};

}  // namespace

PyMODINIT_FUNC PyInit__processor() { return PyModule_Create(&definition); }
