#include "python/execute.h"

#include <fmt/format.h>
#include <nanobind/stl/string.h>

#include "op/check_numerics.h"
#include "python/attrs_from_python.h"
#include "python/convert.h"
#include "python/dtypes.h"
#include "python/errors.h"
#include "python/host_now.h"
#include "python/interrupt.h"
#include "python/site.h"
#include "python/tensor_object.h"
#include "python/variable_object.h"
#include "tandem/error.h"
#include "tensor/tensor_impl.h"

namespace tandem::python {

namespace {

struct PyOp {
  const OpDef* def = nullptr;
};
PyTypeObject* g_op_type = nullptr;

constexpr int64_t kSmall = 2048;  // elements

// Ops besides the elementwise ones whose time is that of their inputs, or the product of
// two of them.
bool is_quick(const OpDef& op) {
  static const auto* const quick = [] {
    auto* ids = new std::vector<bool>(OpTable::get().all().size() + 1);
    for (const char* name :
         {"All",      "Any",          "ArgMax",   "ArgMin",   "BiasAdd", "Cast",
          "ConcatV2", "ExpandDims",   "Identity", "MatMul",   "Max",     "Mean",
          "Min",      "Pack",         "Prod",     "Reshape",  "Shape",   "Softmax",
          "Squeeze",  "StridedSlice", "Sum",      "Transpose"}) {
      const auto id = static_cast<size_t>(OpTable::get().at(name).id);
      if (id >= ids->size()) ids->resize(id + 1);
      (*ids)[id] = true;
    }
    return ids;
  }();
  const auto id = static_cast<size_t>(op.id);
  return !op.expression.empty() || (id < quick->size() && (*quick)[id]);
}

// On a few host values: done before another thread could take the lock. Nothing that it
// waits for needs the lock: neither variables nor callbacks are among these ops.
bool is_small(const OpDef& op, std::span<const TensorArg> inputs) {
  if (!is_quick(op)) return false;
  for (const TensorArg& arg : inputs) {
    const TensorImpl* t = arg.impl();
    if (!t || !on_host_now(*t)) return false;
    if (t->shape.num_elements() > kSmall) return false;
  }
  return true;
}

// An input that is no tensor and runs ops in its own way (tf.RaggedTensor).
struct Dispatched {
  PyObject* value;
};
bool runs_ops_itself(PyObject* v) {
  if (PyLong_Check(v) || PyFloat_Check(v) || PyList_Check(v) || PyTuple_Check(v) ||
      PyUnicode_Check(v) || PyBytes_Check(v)) {
    return false;
  }
  return PyObject_HasAttrString(reinterpret_cast<PyObject*>(Py_TYPE(v)),
                                "__tf_dispatch__") == 1;
}

// The tensors of one call. Type variables are settled by what is a tensor already; then
// Python values take the dtype of their variable, or give it one.
class Arguments {
 public:
  Arguments(const OpDef& op, PyObject* const* given, Py_ssize_t n) : op_(op) {
    spread(given, n);
    tensors_.resize(values_.size());
    for (size_t i = 0; i < values_.size(); ++i) take_tensor(i);
    for (size_t i = 0; i < values_.size(); ++i) widen(i);
    for (size_t i = 0; i < values_.size(); ++i) {
      if (!tensors_[i].defined() && values_[i] != Py_None) convert(i);
    }
    args_.reserve(tensors_.size());
    for (const Tensor& t : tensors_) args_.emplace_back(t);
  }
  std::span<const TensorArg> args() const { return args_; }

 private:
  void spread(PyObject* const* given, Py_ssize_t n) {
    const auto count = static_cast<Py_ssize_t>(op_.inputs.size());
    if (n > count) {
      raise(PyExc_TypeError,
            fmt::format("{} takes {} inputs, got {}", op_.name, count, n));
    }
    for (Py_ssize_t i = 0; i < n; ++i) {
      if (!op_.inputs[static_cast<size_t>(i)].variadic) {
        values_.push_back(given[i]);
        continue;
      }
      list_ = nb::steal(PySequence_Fast(given[i], "a list of tensors is wanted"));
      if (!list_.is_valid()) throw nb::python_error();
      for (Py_ssize_t j = 0; j < PySequence_Fast_GET_SIZE(list_.ptr()); ++j) {
        values_.push_back(PySequence_Fast_GET_ITEM(list_.ptr(), j));
      }
    }
    // Optional inputs that are not given.
    for (Py_ssize_t i = n; i < count && op_.inputs[static_cast<size_t>(i)].optional;
         ++i) {
      values_.push_back(Py_None);
    }
  }

  DType& type_of(size_t i) {
    return types_[static_cast<unsigned char>(op_.input_def(static_cast<int>(i)).type) &
                  127];
  }

  void take_tensor(size_t i) {
    PyObject* v = values_[i];
    if (is_tensor(v)) {
      tensors_[i] = tensor_of(v);
    } else if (is_variable(v)) {
      const Variable& variable = variable_of_object(v);
      tensors_[i] = op_.input_def(static_cast<int>(i)).resource ? variable.handle()
                                                                : read_variable(v);
      if (tensors_[i].dtype() == DType::kResource) return;
    } else {
      return;
    }
    if (type_of(i) == DType::kInvalid) type_of(i) = tensors_[i].dtype();
  }

  // Sizes that int32 cannot hold are int64, and with them all that share their type.
  void widen(size_t i) {
    const InputDef& def = op_.input_def(static_cast<int>(i));
    if (!def.host || tensors_[i].defined() || type_of(i) != DType::kInvalid) return;
    for (const TypeVar& t : op_.types) {
      if (t.name == def.type && wants_integers(t) && (t.allowed & mask(DType::kInt64)) &&
          needs_int64(values_[i])) {
        type_of(i) = DType::kInt64;
      }
    }
  }

  // Of a variable that allows one dtype only, that one. A list with nothing in it would
  // be of floats; where those are not allowed it is of integers (an empty shape).
  DType only_type(size_t i) const {
    const char name = op_.input_def(static_cast<int>(i)).type;
    for (const TypeVar& t : op_.types) {
      if (t.name != name) continue;
      const bool one = (t.allowed & (t.allowed - 1)) == 0;
      for (int d = 1; one && d < kDTypeCount; ++d) {
        if (t.allowed == mask(static_cast<DType>(d))) return static_cast<DType>(d);
      }
      if (wants_integers(t) && is_empty(values_[i])) return DType::kInt32;
    }
    return DType::kInvalid;
  }
  static bool wants_integers(const TypeVar& t) {
    return !(t.allowed & kFloats) && (t.allowed & mask(DType::kInt32));
  }
  // A shape given as a list takes the values of tensors in it, whatever their dtype.
  DType shape_type(size_t i) const {
    const InputDef& def = op_.input_def(static_cast<int>(i));
    if (!def.host || !(PyList_Check(values_[i]) || PyTuple_Check(values_[i]))) {
      return DType::kInvalid;
    }
    for (const TypeVar& t : op_.types) {
      if (t.name == def.type && wants_integers(t)) return DType::kInt32;
    }
    return DType::kInvalid;
  }
  static bool is_empty(PyObject* v) {
    return (PyList_Check(v) || PyTuple_Check(v)) && PySequence_Fast_GET_SIZE(v) == 0;
  }

  void convert(size_t i) {
    if (runs_ops_itself(values_[i])) throw Dispatched{values_[i]};
    const InputDef& def = op_.input_def(static_cast<int>(i));
    DType& type = type_of(i);
    const DType only = only_type(i);
    // Values wrap around where TensorFlow's do; sizes and indices never.
    ConvertOptions options{.on_host = def.host, .exact = def.host || is_integer(only)};
    // TensorFlow's sum tries a number of another kind as it is, and says what it
    // expected.
    static const OpHandle add("AddV2");
    const bool lenient = &op_ == &static_cast<const OpDef&>(add);
    (lenient ? options.hint : options.dtype) = type != DType::kInvalid ? type : only;
    if (options.dtype == DType::kInvalid && options.hint == DType::kInvalid) {
      options.hint = shape_type(i);
    }
    try {
      tensors_[i] = to_tensor(values_[i], options);
    } catch (const InvalidArgumentError& e) {
      if (!options.exact) throw;
      throw InvalidArgumentError(fmt::format("{}: {}: {}", op_.name, def.name, e.what()));
    }
    if (type == DType::kInvalid) type = tensors_[i].dtype();
  }

  const OpDef& op_;
  std::vector<PyObject*> values_;
  nb::object list_;
  std::vector<Tensor> tensors_;
  std::vector<TensorArg> args_;
  DType types_[128] = {};
};

const OpDef& op_of(PyObject* o) {
  if (Py_TYPE(o) == g_op_type) return *nb::inst_ptr<PyOp>(o)->def;
  const char* name = PyUnicode_Check(o) ? PyUnicode_AsUTF8(o) : nullptr;
  if (!name) raise(PyExc_TypeError, "execute: the first argument is an op or its name");
  return OpTable::get().at(name);
}

PyObject* result_of(const OpDef& op, std::vector<Tensor> outputs) {
  const bool list = op.outputs.size() == 1 && op.outputs[0].ends_with('*');
  if (op.outputs.empty()) Py_RETURN_NONE;
  if (op.outputs.size() == 1 && !list) {
    return wrap(outputs.empty() ? Tensor() : std::move(outputs[0]));
  }
  const auto n = static_cast<Py_ssize_t>(outputs.size());
  nb::object all = nb::steal(list ? PyList_New(n) : PyTuple_New(n));
  for (Py_ssize_t i = 0; i < n; ++i) {
    PyObject* item = wrap(std::move(outputs[static_cast<size_t>(i)]));
    if (!item) throw nb::python_error();
    if (list) {
      PyList_SET_ITEM(all.ptr(), i, item);
    } else {
      PyTuple_SET_ITEM(all.ptr(), i, item);
    }
  }
  return all.release().ptr();
}

// value.__tf_dispatch__(op, inputs, attributes)
PyObject* dispatch(const Dispatched& to, const OpDef& op, PyObject* const* args,
                   Py_ssize_t nargs, PyObject* names) {
  nb::list inputs;
  for (Py_ssize_t i = 1; i < nargs; ++i) inputs.append(nb::handle(args[i]));
  nb::dict attrs;
  for (Py_ssize_t i = 0; names && i < PyTuple_GET_SIZE(names); ++i) {
    attrs[nb::handle(PyTuple_GET_ITEM(names, i))] = nb::handle(args[nargs + i]);
  }
  return nb::handle(to.value)
      .attr("__tf_dispatch__")(op.name, inputs, attrs)
      .release()
      .ptr();
}

PyObject* run_op(const OpDef& op, PyObject* const* args, Py_ssize_t nargs,
                 PyObject* names) {
  const Arguments inputs(op, args + 1, nargs - 1);
  Attrs keep;
  const AttrsRef attrs = attrs_from_python(op, names, args + nargs, keep);
  if (op.outputs.size() == 1 && !op.outputs[0].ends_with('*')) {
    return wrap(emit_unlocked(op, attrs, inputs.args()));
  }
  std::vector<Tensor> outputs;
  {
    const SiteScope site;
    const Interruptible unlocked;
    current_emitter().emit(op, attrs, inputs.args(), outputs);
  }
  note_lines(outputs);
  return result_of(op, std::move(outputs));
}

PyObject* g_late_attributes = nullptr;

// Whether a value, or one in a list, is a tensor of a graph.
bool holds_symbolic(PyObject* v) {
  if (is_tensor(v)) return static_cast<bool>(tensor_of(v).impl()->symbolic);
  if (!PyList_Check(v) && !PyTuple_Check(v)) return false;
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(v); ++i) {
    PyObject* item = PySequence_Fast_GET_ITEM(v, i);
    if (is_tensor(item) && tensor_of(item).impl()->symbolic) return true;
  }
  return false;
}

// An attribute that only a run of the function knows: other ops compute the same. Null
// where none do, and where that was not what went wrong.
PyObject* with_late_attributes(const OpDef& op, PyObject* const* args, Py_ssize_t nargs,
                               PyObject* names) {
  if (!g_late_attributes || !names) return nullptr;
  bool any = false;
  nb::dict attrs;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(names); ++i) {
    any = any || holds_symbolic(args[nargs + i]);
    attrs[nb::handle(PyTuple_GET_ITEM(names, i))] = nb::handle(args[nargs + i]);
  }
  if (!any) return nullptr;
  nb::list inputs;
  for (Py_ssize_t i = 1; i < nargs; ++i) inputs.append(nb::handle(args[i]));
  nb::object result = nb::handle(g_late_attributes)(op.name, inputs, attrs);
  return result.ptr() == Py_NotImplemented ? nullptr : result.release().ptr();
}

PyObject* execute(PyObject*, PyObject* const* args, Py_ssize_t nargs, PyObject* names) {
  return guarded([&]() -> PyObject* {
    if (nargs < 1) raise(PyExc_TypeError, "execute: no op given");
    const OpDef& op = op_of(args[0]);
    try {
      return run_op(op, args, nargs, names);
    } catch (const Dispatched& to) {
      return dispatch(to, op, args, nargs, names);
    } catch (const nb::python_error& e) {
      PyObject* result = e.matches(PyExc_TypeError)
                             ? with_late_attributes(op, args, nargs, names)
                             : nullptr;
      if (!result) throw;
      return result;
    }
  });
}

PyMethodDef kExecuteFunctions[] = {
    {"execute", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(execute)),
     METH_FASTCALL | METH_KEYWORDS,
     "execute(op, *inputs, **attributes): converts the inputs and runs or traces the "
     "op."},
    {nullptr, nullptr, 0, nullptr}};

nb::dict describe_op(const OpDef& op) {
  nb::dict d;
  d["name"] = op.name;
  d["doc"] = op.doc;
  nb::list inputs, attrs, outputs;
  for (const InputDef& in : op.inputs) {
    nb::dict i;
    i["name"] = in.name;
    i["type"] = std::string(1, in.type);
    i["optional"] = in.optional;
    i["list"] = in.variadic;
    i["resource"] = in.resource;
    inputs.append(i);
  }
  if (op.attrs) {
    for (const AttrField& f : op.attrs->fields) {
      nb::dict a;
      a["name"] = f.name;
      a["type"] = f.type;
      a["default"] = f.fallback;
      attrs.append(a);
    }
  }
  for (const std::string& name : op.outputs) outputs.append(name);
  d["inputs"] = inputs;
  d["attrs"] = attrs;
  d["outputs"] = outputs;
  return d;
}

}  // namespace

Tensor emit_unlocked(const OpDef& op, AttrsRef attrs, std::span<const TensorArg> inputs) {
  const SiteScope site;
  Tensor result;
  if (is_small(op, inputs)) {
    result = current_emitter().emit_one(op, attrs, inputs);
  } else {
    const Interruptible unlocked;
    result = current_emitter().emit_one(op, attrs, inputs);
  }
  note_lines({&result, 1});
  return result;
}

void bind_execute(nb::module_& m) {
  const nb::object type =
      nb::class_<PyOp>(m, "Op", "An entry of the op table.")
          .def_prop_ro("name", [](const PyOp& op) { return op.def->name; })
          .def_prop_ro("doc", [](const PyOp& op) { return op.def->doc; })
          .def("describe", [](const PyOp& op) { return describe_op(*op.def); })
          .def("__repr__", [](const PyOp& op) { return "<op " + op.def->name + ">"; });
  g_op_type = reinterpret_cast<PyTypeObject*>(type.ptr());
  m.def(
      "op", [](const std::string& name) { return PyOp{&OpTable::get().at(name)}; },
      "The op of that name; tf.errors.NotFoundError when there is none.");
  m.def("op_names", [] {
    nb::list names;
    for (const OpDef* op : OpTable::get().all()) names.append(op->name);
    return names;
  });
  m.def("set_check_numerics", set_check_numerics, nb::arg("on"));
  m.def("register_late_attributes", [](nb::handle function) {
    Py_XSETREF(g_late_attributes, Py_NewRef(function.ptr()));
  });
  if (PyModule_AddFunctions(m.ptr(), kExecuteFunctions) < 0) throw nb::python_error();
}

}  // namespace tandem::python
