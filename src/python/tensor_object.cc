#include "python/tensor_object.h"

#include <algorithm>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <structmember.h>

#include "python/convert.h"
#include "python/dtypes.h"
#include "python/errors.h"
#include "python/graph_scopes.h"
#include "python/host_now.h"
#include "python/interrupt.h"
#include "python/numpy_api.h"
#include "python/operators.h"
#include "python/scalar_value.h"
#include "tensor/tensor_impl.h"

namespace tandem::python {

PyTypeObject* g_tensor_type = nullptr;
PyTypeObject* g_eager_type = nullptr;
thread_local PyObject* t_graph = nullptr;

namespace {

TensorObject* self_of(PyObject* o) { return reinterpret_cast<TensorObject*>(o); }
bool is_symbolic(PyObject* o) { return static_cast<bool>(tensor_of(o).impl()->symbolic); }

PyObject* refuse_new(PyTypeObject*, PyObject*, PyObject*) {
  PyErr_SetString(PyExc_TypeError,
                  "Tensors are made by ops: use tf.constant or tf.convert_to_tensor.");
  return nullptr;
}

void dealloc(PyObject* o) {
  PyObject_GC_UnTrack(o);
  TensorObject* self = self_of(o);
  if (self->weakrefs) PyObject_ClearWeakRefs(o);
  Py_CLEAR(self->dict);
  self->tensor.~Tensor();
  Py_CLEAR(self->graph);
  PyTypeObject* type = Py_TYPE(o);
  type->tp_free(o);
  Py_DECREF(type);
}
int traverse(PyObject* o, visitproc visit, void* arg) {
  Py_VISIT(self_of(o)->dict);
  Py_VISIT(self_of(o)->graph);
  Py_VISIT(Py_TYPE(o));
  return 0;
}
int clear(PyObject* o) {
  Py_CLEAR(self_of(o)->dict);
  return 0;
}

// ---- Attributes
// ---------------------------------------------------------------------------

PyObject* get_dtype(PyObject* o, void*) {
  return Py_NewRef(dtype_object(tensor_of(o).dtype()));
}
PyObject* get_shape(PyObject* o, void*) {
  return guarded([&] { return shape_object(tensor_of(o).shape()).release().ptr(); });
}
PyObject* get_ndim(PyObject* o, void*) {
  const int rank = tensor_of(o).rank();
  return rank < 0 ? Py_NewRef(Py_None) : PyLong_FromLong(rank);
}
PyObject* get_device(PyObject* o, void*) {
  const std::string& name = tensor_of(o).device();
  return PyUnicode_FromStringAndSize(name.data(), static_cast<Py_ssize_t>(name.size()));
}
PyObject* get_id(PyObject* o, void*) {
  return PyLong_FromUnsignedLongLong(tensor_of(o).impl()->id);
}
PyObject* get_graph(PyObject* o, void*) {
  // A constant of a graph has contents; it belongs to the graph that it is used in.
  PyObject* graph = self_of(o)->graph ? self_of(o)->graph : t_graph;
  if (graph) return Py_NewRef(graph);
  PyErr_SetString(PyExc_AttributeError,
                  "Tensor.graph is undefined when eager execution is enabled.");
  return nullptr;
}
PyObject* get_symbolic(PyObject* o, void*) { return PyBool_FromLong(is_symbolic(o)); }
PyObject* get_name(PyObject* o, void*) {
  return guarded([&]() -> PyObject* {
    if (!is_symbolic(o)) {
      raise(PyExc_AttributeError,
            "Tensor.name is undefined when eager execution is enabled.");
    }
    const GraphValue* value = graph_value_of(tensor_of(o));
    const std::string name =
        value ? fmt::format("{}:{}", value->graph->node(value->ref.node).name,
                            value->ref.output)
              : std::string("out_of_scope");
    return PyUnicode_FromString(name.c_str());
  });
}

// Only tensors with contents have `numpy`: code asks hasattr(x, "numpy") to tell.
PyObject* no_numpy(PyObject* o, void*) {
  return guarded([&]() -> PyObject* {
    raise(PyExc_AttributeError,
          fmt::format("'SymbolicTensor' object has no attribute 'numpy': {} has no value "
                      "while the function is traced. Return it, or use tf.print.",
                      repr_of(o)));
  });
}

PyGetSetDef kGetSet[] = {
    {"dtype", get_dtype, nullptr, "The type of the elements.", nullptr},
    {"shape", get_shape, nullptr, "The shape; dimensions may be None while tracing.",
     nullptr},
    {"ndim", get_ndim, nullptr, "The number of dimensions.", nullptr},
    {"device", get_device, nullptr, "The device that holds the contents.", nullptr},
    {"name", get_name, nullptr, "The name of a symbolic tensor.", nullptr},
    {"graph", get_graph, nullptr, "The graph of a symbolic tensor.", nullptr},
    {"_id", get_id, nullptr, "Unique in the process.", nullptr},
    {"_symbolic", get_symbolic, nullptr, "Whether it has no contents yet.", nullptr},
    {"numpy", no_numpy, nullptr, "Of tensors with contents only.", nullptr},
    {"__dict__", PyObject_GenericGetDict, PyObject_GenericSetDict, nullptr, nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr}};

PyMemberDef kMembers[] = {
    {"__dictoffset__", T_PYSSIZET, offsetof(TensorObject, dict), READONLY, nullptr},
    {"__weaklistoffset__", T_PYSSIZET, offsetof(TensorObject, weakrefs), READONLY,
     nullptr},
    {nullptr, 0, 0, 0, nullptr}};

// ---- Methods
// --------------------------------------------------------------------------------

// The function of Tandem's that asks a tensor for its value; empty where somebody else
// does. What AutoGraph calls asks for the user.
std::string asking_function() {
  PyObject* globals = PyEval_GetGlobals();
  PyObject* name = globals ? PyDict_GetItemString(globals, "__name__") : nullptr;
  const char* module = name && PyUnicode_Check(name) ? PyUnicode_AsUTF8(name) : nullptr;
  if (!module || !std::string_view(module).starts_with("tandem.") ||
      std::string_view(module).starts_with("tandem.staging")) {
    return {};
  }
  PyFrameObject* frame = PyEval_GetFrame();
  if (!frame) return module;
  PyCodeObject* code = PyFrame_GetCode(frame);
  const std::string function =
      fmt::format("{}.{}", module, nb::str(code->co_name).c_str());
  Py_DECREF(code);
  return function;
}

// Where the fault is Tandem's, nobody is told to write another function.
std::string limit_of(const std::string& function, const std::string& what) {
  return fmt::format(
      "{} wants a value that only a run of the traced function knows ({}). This is a "
      "limit "
      "of Tandem; a Python value or an array is taken.",
      function, what);
}

[[noreturn]] void raise_no_value(PyObject* o, const char* what,
                                 PyObject* type = PyExc_NotImplementedError) {
  if (const std::string function = asking_function(); !function.empty()) {
    raise(type, limit_of(function, fmt::format("{} of {}", what, repr_of(o))));
  }
  raise(type,
        fmt::format(
            "{} is not available for a symbolic tensor ({}): it has no value while the "
            "function is traced. Return it, or use tf.print.",
            what, repr_of(o)));
}

// Names that people expect of arrays get the advice that TensorFlow gives.
PyObject* get_attribute(PyObject* o, PyObject* name) {
  PyObject* found = PyObject_GenericGetAttr(o, name);
  if (found || !PyErr_ExceptionMatches(PyExc_AttributeError)) return found;
  static constexpr std::string_view kOfArrays[] = {
      "T", "astype", "clip", "data", "ravel", "reshape", "size", "tolist", "transpose"};
  const char* asked = PyUnicode_AsUTF8(name);
  if (!asked ||
      std::ranges::find(kOfArrays, std::string_view(asked)) == std::end(kOfArrays)) {
    return nullptr;
  }
  PyErr_Clear();
  return PyErr_Format(
      PyExc_AttributeError,
      "%s object has no attribute '%s'. \n        If you are looking for numpy-related "
      "methods, please run the following:\n        "
      "tf.experimental.numpy.experimental_enable_numpy_behavior()",
      is_symbolic(o) ? "SymbolicTensor" : "EagerTensor", asked);
}

// As NumPy: rank 0 gives a scalar of the dtype's own type.
PyObject* numpy(PyObject* o, PyObject*) {
  return guarded([&] {
    const TensorImpl& t = *tensor_of(o).impl();
    if (t.shape.rank() == 0 && t.dtype != DType::kString && on_host_now(t)) {
      return numpy_scalar(t.dtype, t.data());
    }
    nb::object array = to_numpy(tensor_of(o), true);
    return PyArray_Return(reinterpret_cast<PyArrayObject*>(array.release().ptr()));
  });
}

PyObject* array(PyObject* o, PyObject* args, PyObject* kwargs) {
  return guarded([&]() -> PyObject* {
    static const char* names[] = {"dtype", "copy", nullptr};
    PyObject* dtype = Py_None;
    PyObject* copy = Py_None;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|OO", const_cast<char**>(names),
                                     &dtype, &copy)) {
      throw nb::python_error();
    }
    if (is_symbolic(o)) raise_no_value(o, "Conversion to a NumPy array");
    nb::object result = to_numpy(tensor_of(o), copy == Py_True);
    if (dtype == Py_None) return result.release().ptr();
    PyArray_Descr* wanted = nullptr;
    if (PyArray_DescrConverter(dtype, &wanted) != NPY_SUCCEED) throw nb::python_error();
    return PyArray_FromAny(result.ptr(), wanted, 0, 0, NPY_ARRAY_FORCECAST, nullptr);
  });
}

PyObject* repr(PyObject* o) {
  return guarded([&] {
    const Tensor& t = tensor_of(o);
    std::string text;
    if (is_symbolic(o)) {
      const nb::object name = nb::steal(get_name(o, nullptr));
      text = fmt::format("<tf.Tensor '{}' shape={} dtype={}>", nb::str(name).c_str(),
                         nb::str(shape_object(t.shape())).c_str(), dtype_name(t.dtype()));
    } else {
      const Interruptible unlocked;
      text = t.repr();
    }
    return PyUnicode_FromStringAndSize(text.data(), static_cast<Py_ssize_t>(text.size()));
  });
}
PyObject* str(PyObject* o) {
  return guarded([&] {
    const Tensor& t = tensor_of(o);
    std::string text;
    if (is_symbolic(o)) {
      const nb::object name = nb::steal(get_name(o, nullptr));
      text = fmt::format(
          "Tensor(\"{}\"{}, dtype={})", nb::str(name).c_str(),
          t.shape().has_rank()
              ? std::string(", shape=") + nb::str(shape_object(t.shape())).c_str()
              : std::string(),
          dtype_name(t.dtype()));
    } else {
      const Interruptible unlocked;
      text = t.str();
    }
    return PyUnicode_FromStringAndSize(text.data(), static_cast<Py_ssize_t>(text.size()));
  });
}

// Tensors of a session's graph are looked up in feeds; others compare their contents.
Py_hash_t hash_tensor(PyObject* o) {
  if (is_symbolic(o) && open_graph_of(o)) {
    const auto* value =
        static_cast<const GraphValue*>(tensor_of(o).impl()->symbolic.get());
    const auto place = static_cast<Py_hash_t>(value->ref.node) * 31 + value->ref.output;
    return place + static_cast<Py_hash_t>(value->trace) * 1000003;
  }
  PyErr_SetString(PyExc_TypeError,
                  "Tensor is unhashable. Instead, use tensor.ref() as the key.");
  return -1;
}

Py_ssize_t length(PyObject* o) {
  const Shape& shape = tensor_of(o).shape();
  if (shape.rank() == 0) {
    PyErr_SetString(PyExc_TypeError, "Scalar tensor has no `len()`");
    return -1;
  }
  if (!shape.has_rank() || shape[0] < 0) {
    PyErr_SetString(PyExc_TypeError,
                    "len is not well defined for a symbolic Tensor of unknown size. "
                    "Please call `x.shape` rather than `len(x)` for shape information.");
    return -1;
  }
  return shape[0];
}

}  // namespace

[[noreturn]] void raise_not_allowed(const std::string& what) {
  const nb::object errors = nb::module_::import_("tandem.framework.errors");
  if (const std::string function = asking_function(); !function.empty()) {
    raise(errors.attr("OperatorNotAllowedInGraphError").ptr(), limit_of(function, what));
  }
  raise(errors.attr("OperatorNotAllowedInGraphError").ptr(),
        what +
            " You can attempt the following resolutions to the problem: If you are "
            "running in Graph mode, use Eager execution mode or decorate this function "
            "with @tf.function. If you are using AutoGraph, you can try decorating this "
            "function with @tf.function. If that does not work, then you may be using an "
            "unsupported feature or your source code may not be visible to AutoGraph.");
}

namespace {

int truth(PyObject* o) {
  PyObject* result = guarded([&] {
    if (is_symbolic(o)) {
      raise_not_allowed(
          "Using a symbolic `tf.Tensor` as a Python `bool` is not allowed.");
    }
    const Tensor& t = tensor_of(o);
    if (t.num_elements() > 1) {
      raise(PyExc_ValueError,
            "The truth value of an array with more than one element is ambiguous. Use "
            "a.any() "
            "or a.all()");
    }
    if (t.num_elements() == 0) return Py_NewRef(Py_False);
    const int yes = PyObject_IsTrue(python_scalar(t).ptr());
    if (yes < 0) throw nb::python_error();
    return PyBool_FromLong(yes);
  });
  if (!result) return -1;
  const bool yes = result == Py_True;
  Py_DECREF(result);
  return yes;
}

nb::object scalar_item(PyObject* o, const char* what) {
  if (is_symbolic(o)) raise_no_value(o, what, PyExc_TypeError);
  if (tensor_of(o).rank() != 0) {
    raise(PyExc_TypeError,
          "only 0-dimensional arrays can be converted to Python scalars");
  }
  return python_scalar(tensor_of(o));
}
PyObject* to_int(PyObject* o) {
  return guarded([&] { return PyNumber_Long(scalar_item(o, "int()").ptr()); });
}
PyObject* to_float(PyObject* o) {
  return guarded([&] { return PyNumber_Float(scalar_item(o, "float()").ptr()); });
}
PyObject* to_complex(PyObject* o, PyObject*) {
  return guarded([&] {
    return PyObject_CallOneArg(reinterpret_cast<PyObject*>(&PyComplex_Type),
                               scalar_item(o, "complex()").ptr());
  });
}
PyObject* to_index(PyObject* o) {
  return guarded([&] {
    const DType t = tensor_of(o).dtype();
    if (!is_integer(t) || tensor_of(o).rank() != 0) {
      raise(PyExc_TypeError,
            "only integer scalar arrays can be converted to a scalar index");
    }
    return scalar_item(o, "An index").release().ptr();
  });
}

int get_buffer(PyObject* o, Py_buffer* view, int flags) {
  PyObject* array = guarded([&] {
    if (is_symbolic(o)) raise_no_value(o, "The buffer protocol");
    return to_numpy(tensor_of(o), false).release().ptr();
  });
  if (!array) return -1;
  const int result = PyObject_GetBuffer(array, view, flags);
  Py_DECREF(array);
  return result;
}

PyMethodDef kEagerMethods[] = {
    {"numpy", numpy, METH_NOARGS,
     "The contents as a NumPy array of its own, or as a scalar; waits for them."},
    {nullptr, nullptr, 0, nullptr}};

PyMethodDef kMethods[] = {
    {"__array__", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(array)),
     METH_VARARGS | METH_KEYWORDS,
     "The contents as a read-only array that shares memory."},
    {"__complex__", to_complex, METH_NOARGS, nullptr},
    {nullptr, nullptr, 0, nullptr}};

}  // namespace

PyObject* wrap(Tensor tensor) {
  if (!tensor.defined()) Py_RETURN_NONE;
  PyTypeObject* type = tensor.impl()->symbolic ? g_tensor_type : g_eager_type;
  auto* self = PyObject_GC_New(TensorObject, type);
  if (!self) return nullptr;
  new (&self->tensor) Tensor(std::move(tensor));
  self->dict = nullptr;
  self->weakrefs = nullptr;
  self->graph = self->tensor.impl()->symbolic ? Py_XNewRef(t_graph) : nullptr;
  PyObject_GC_Track(self);
  return reinterpret_cast<PyObject*>(self);
}

void bind_tensor(PyObject* module) {
  std::vector<PyType_Slot> slots = {
      {Py_tp_new, slot(refuse_new)},
      {Py_tp_dealloc, slot(dealloc)},
      {Py_tp_traverse, slot(traverse)},
      {Py_tp_clear, slot(clear)},
      {Py_tp_getset, kGetSet},
      {Py_tp_members, kMembers},
      {Py_tp_methods, kMethods},
      {Py_tp_repr, slot(repr)},
      {Py_tp_str, slot(str)},
      {Py_tp_hash, slot(hash_tensor)},
      {Py_tp_getattro, slot(get_attribute)},
      {Py_mp_length, slot(length)},
      {Py_nb_bool, slot(truth)},
      {Py_nb_int, slot(to_int)},
      {Py_nb_float, slot(to_float)},
      {Py_nb_index, slot(to_index)},
      {Py_bf_getbuffer, slot(get_buffer)},
  };
  append_operator_slots(slots);
  slots.push_back({0, nullptr});
  PyType_Spec spec = {"tandem.Tensor", sizeof(TensorObject), 0,
                      Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC,
                      slots.data()};
  g_tensor_type = reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&spec));
  if (!g_tensor_type) throw nb::python_error();

  // What is inherited includes hash and comparison together.
  PyType_Slot eager_slots[] = {
      {Py_tp_new, slot(refuse_new)},    {Py_tp_dealloc, slot(dealloc)},
      {Py_tp_traverse, slot(traverse)}, {Py_tp_clear, slot(clear)},
      {Py_tp_methods, kEagerMethods},   {0, nullptr}};
  PyType_Spec eager = {"tandem.EagerTensor", sizeof(TensorObject), 0,
                       Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC, eager_slots};
  g_eager_type = reinterpret_cast<PyTypeObject*>(
      PyType_FromSpecWithBases(&eager, reinterpret_cast<PyObject*>(g_tensor_type)));
  if (!g_eager_type) throw nb::python_error();
  if (PyModule_AddObjectRef(module, "Tensor",
                            reinterpret_cast<PyObject*>(g_tensor_type)) < 0 ||
      PyModule_AddObjectRef(module, "EagerTensor",
                            reinterpret_cast<PyObject*>(g_eager_type)) < 0) {
    throw nb::python_error();
  }
}

}  // namespace tandem::python
