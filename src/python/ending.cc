// The linker gives every call of the module to a function below that can run Python code
// or takes the interpreter lock (--wrap, in CMakeLists.txt): nanobind's calls too.
#include "python/ending.h"

#include <atomic>
#include <cstdio>
#include <cstdlib>

#include <cxxabi.h>
#include <sys/types.h>
#include <unistd.h>

#include "data/worker_thread.h"
#include "device/end_loops.h"
#include "device/runtime.h"

namespace tandem::python {

namespace {

std::atomic<bool> g_ending{false};
std::atomic<bool> g_threads_left{false};
std::atomic<PyThreadState*> g_ending_thread{nullptr};

std::atomic<pid_t> g_ending_task{0};  // that thread, as the system knows it
std::atomic<bool> g_exiting{false};   // the interpreter has gone, static objects go
std::atomic<int> g_status{0};

[[noreturn]] void stand_still() {
  if (g_exiting.load() && gettid() == g_ending_task.load()) {
    // A static object asks for the interpreter. Nobody else would end the process.
    std::fflush(nullptr);
    _exit(g_status.load());
  }
  for (;;) pause();
}

// The thread that takes Python down has no use for standing still: it destroys what is
// left, such as the training loop that the traceback of a kept exception holds.
bool takes_python_down() {
  PyThreadState* const own = PyGILState_GetThisThreadState();
  return own && own == g_ending_thread.load();
}

// Registered last, so that it comes before the destructors of static objects.
void end_now(int status, void*) {
  g_status.store(status);
  g_exiting.store(true);
  if (!g_threads_left.load() && !data::Worker::left_behind()) return;
  std::fflush(nullptr);
  _exit(status);
}

// The last of Python's exit functions: threads that are not daemons have been joined.
void prepare() {
  g_ending.store(true);
  {
    // Functions are destroyed soon, and wait for devices then.
    const nb::gil_scoped_release unlocked;
    if (Runtime::get().initialized()) end_late_loops(Runtime::get().devices());
  }
  PyThreadState* const own = PyThreadState_Get();
  g_ending_thread.store(own);
  g_ending_task.store(gettid());
  for (PyThreadState* t = PyInterpreterState_ThreadHead(PyInterpreterState_Get()); t;
       t = PyThreadState_Next(t)) {
    if (t != own) g_threads_left.store(true);
  }
  on_exit(end_now, nullptr);
}

}  // namespace

bool is_ending() { return g_ending.load(); }

void end_without_statics() { g_threads_left.store(true); }

void bind_ending(nb::module_& m) {
  m.def("_prepare_ending", prepare);
  nb::module_::import_("atexit").attr("register")(m.attr("_prepare_ending"));
}

}  // namespace tandem::python

// NOLINTBEGIN: the linker makes the names
#define TANDEM_STANDS_STILL(Result, name, parameters, arguments) \
  Result __real_##name parameters;                               \
  Result __wrap_##name parameters {                              \
    try {                                                        \
      return __real_##name arguments;                            \
    } catch (abi::__forced_unwind&) {                            \
      tandem::python::stand_still();                             \
    }                                                            \
  }

extern "C" {

PyGILState_STATE __real_PyGILState_Ensure();
PyGILState_STATE __wrap_PyGILState_Ensure() {
  if (!Py_IsInitialized() && !tandem::python::takes_python_down()) {
    tandem::python::stand_still();
  }
  try {
    return __real_PyGILState_Ensure();
  } catch (abi::__forced_unwind&) {
    tandem::python::stand_still();
  }
}

TANDEM_STANDS_STILL(void, PyEval_RestoreThread, (PyThreadState * s), (s))
TANDEM_STANDS_STILL(void, _Py_Dealloc, (PyObject * o), (o))
TANDEM_STANDS_STILL(int, PyDict_Contains, (PyObject * o, PyObject* k), (o, k))
TANDEM_STANDS_STILL(int, PyDict_DelItem, (PyObject * o, PyObject* k), (o, k))
TANDEM_STANDS_STILL(PyObject*, PyDict_GetItemWithError, (PyObject * o, PyObject* k),
                    (o, k))
TANDEM_STANDS_STILL(int, PyDict_SetItem, (PyObject * o, PyObject* k, PyObject* v),
                    (o, k, v))
TANDEM_STANDS_STILL(int, PyErr_CheckSignals, (), ())
TANDEM_STANDS_STILL(void, PyErr_NormalizeException,
                    (PyObject * *t, PyObject** v, PyObject** b), (t, v, b))
TANDEM_STANDS_STILL(void, PyErr_Print, (), ())
TANDEM_STANDS_STILL(void, PyErr_SetObject, (PyObject * t, PyObject* v), (t, v))
TANDEM_STANDS_STILL(void, PyErr_WriteUnraisable, (PyObject * o), (o))
TANDEM_STANDS_STILL(double, PyFloat_AsDouble, (PyObject * o), (o))
TANDEM_STANDS_STILL(long, PyLong_AsLong, (PyObject * o), (o))
TANDEM_STANDS_STILL(long long, PyLong_AsLongLong, (PyObject * o), (o))
TANDEM_STANDS_STILL(int, PyObject_GetBuffer, (PyObject * o, Py_buffer* b, int f),
                    (o, b, f))
TANDEM_STANDS_STILL(int, PyObject_HasAttr, (PyObject * o, PyObject* n), (o, n))
TANDEM_STANDS_STILL(int, PyObject_HasAttrString, (PyObject * o, const char* n), (o, n))
TANDEM_STANDS_STILL(Py_ssize_t, PyObject_LengthHint, (PyObject * o, Py_ssize_t d), (o, d))
TANDEM_STANDS_STILL(int, PySequence_Contains, (PyObject * o, PyObject* v), (o, v))
TANDEM_STANDS_STILL(PyObject*, PySequence_GetItem, (PyObject * o, Py_ssize_t i), (o, i))
TANDEM_STANDS_STILL(Py_ssize_t, PySequence_Size, (PyObject * o), (o))
TANDEM_STANDS_STILL(PyObject*, PyEval_EvalCode, (PyObject * c, PyObject* g, PyObject* l),
                    (c, g, l))
TANDEM_STANDS_STILL(PyObject*, PyImport_ImportModule, (const char* n), (n))
TANDEM_STANDS_STILL(PyObject*, PyImport_ImportModuleLevelObject,
                    (PyObject * n, PyObject* g, PyObject* l, PyObject* f, int v),
                    (n, g, l, f, v))
TANDEM_STANDS_STILL(PyObject*, PyIter_Next, (PyObject * o), (o))
TANDEM_STANDS_STILL(PyObject*, PyNumber_Float, (PyObject * o), (o))
TANDEM_STANDS_STILL(PyObject*, PyNumber_Index, (PyObject * o), (o))
TANDEM_STANDS_STILL(PyObject*, PyNumber_Long, (PyObject * o), (o))
TANDEM_STANDS_STILL(PyObject*, PyObject_CallObject, (PyObject * o, PyObject* a), (o, a))
TANDEM_STANDS_STILL(PyObject*, PyObject_CallOneArg, (PyObject * o, PyObject* a), (o, a))
TANDEM_STANDS_STILL(int, PyObject_DelItem, (PyObject * o, PyObject* k), (o, k))
TANDEM_STANDS_STILL(PyObject*, PyObject_GetAttr, (PyObject * o, PyObject* n), (o, n))
TANDEM_STANDS_STILL(PyObject*, PyObject_GetAttrString, (PyObject * o, const char* n),
                    (o, n))
TANDEM_STANDS_STILL(PyObject*, PyObject_GetItem, (PyObject * o, PyObject* k), (o, k))
TANDEM_STANDS_STILL(PyObject*, PyObject_GetIter, (PyObject * o), (o))
TANDEM_STANDS_STILL(int, PyObject_IsInstance, (PyObject * o, PyObject* c), (o, c))
TANDEM_STANDS_STILL(int, PyObject_IsTrue, (PyObject * o), (o))
TANDEM_STANDS_STILL(PyObject*, PyObject_Repr, (PyObject * o), (o))
TANDEM_STANDS_STILL(int, PyObject_RichCompareBool, (PyObject * a, PyObject* b, int op),
                    (a, b, op))
TANDEM_STANDS_STILL(int, PyObject_SetAttr, (PyObject * o, PyObject* n, PyObject* v),
                    (o, n, v))
TANDEM_STANDS_STILL(int, PyObject_SetAttrString,
                    (PyObject * o, const char* n, PyObject* v), (o, n, v))
TANDEM_STANDS_STILL(int, PyObject_SetItem, (PyObject * o, PyObject* k, PyObject* v),
                    (o, k, v))
TANDEM_STANDS_STILL(PyObject*, PyObject_Str, (PyObject * o), (o))
TANDEM_STANDS_STILL(PyObject*, PyObject_Vectorcall,
                    (PyObject * o, PyObject* const* a, size_t n, PyObject* k),
                    (o, a, n, k))
TANDEM_STANDS_STILL(PyObject*, PyObject_VectorcallMethod,
                    (PyObject * o, PyObject* const* a, size_t n, PyObject* k),
                    (o, a, n, k))
TANDEM_STANDS_STILL(PyObject*, PySequence_Fast, (PyObject * o, const char* m), (o, m))
TANDEM_STANDS_STILL(PyObject*, PySequence_List, (PyObject * o), (o))
TANDEM_STANDS_STILL(PyObject*, PySequence_Tuple, (PyObject * o), (o))
TANDEM_STANDS_STILL(PyObject*, PyVectorcall_Call,
                    (PyObject * o, PyObject* a, PyObject* k), (o, a, k))
TANDEM_STANDS_STILL(int, _PyObject_LookupAttr, (PyObject * o, PyObject* n, PyObject** r),
                    (o, n, r))

}  // extern "C"
#undef TANDEM_STANDS_STILL
// NOLINTEND
