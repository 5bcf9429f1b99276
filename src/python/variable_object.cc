#include "python/variable_object.h"

#include <vector>

#include <nanobind/stl/string.h>

#include "op/emitter.h"
#include "python/convert.h"
#include "python/dtypes.h"
#include "python/errors.h"
#include "python/interrupt.h"
#include "python/operators.h"
#include "python/tensor_object.h"
#include "tensor/variable_impl.h"

namespace tandem::python {

PyTypeObject* g_variable_type = nullptr;

namespace {

struct PyVariable {
  Variable variable;
  bool joined = false;  // read by the Python class, from several copies
};

Py_hash_t hash_variable(PyObject* o) {
  const std::string message =
      "Variable is unhashable. Instead, use variable.ref() as the key. (Variable: " +
      repr_of(o) + ")";
  PyErr_SetString(PyExc_TypeError, message.c_str());
  return -1;
}

std::vector<PyType_Slot>& slots() {
  static std::vector<PyType_Slot> all = [] {
    std::vector<PyType_Slot> list = {
        {Py_tp_hash, reinterpret_cast<void*>(hash_variable)}};
    append_operator_slots(list);
    list.push_back({0, nullptr});
    return list;
  }();
  return all;
}

// The ops that change a variable, by method: (variable, values…).
void update(nb::handle self, const std::string& op_name, nb::args values) {
  const Variable& v = variable_of_object(self.ptr());
  const OpDef& op = OpTable::get().at(op_name);
  std::vector<Tensor> tensors{v.handle()};
  for (size_t i = 0; i < values.size(); ++i) {
    const bool is_value = op.inputs[i + 1].type == 'T';
    tensors.push_back(
        to_tensor(values[i].ptr(), {.dtype = is_value ? v.dtype() : DType::kInvalid}));
  }
  std::vector<TensorArg> args(tensors.begin(), tensors.end());
  std::vector<Tensor> none;
  const Interruptible unlocked;
  current_emitter().emit(op, default_attrs(op), args, none);
}

// An object of a derived class that was made without the initialiser, and says whose
// handle it has (a property, or __getattr__), is one more object for that variable: its
// class reads it.
void adopt_handle(nb::handle o) {
  const nb::handle base(reinterpret_cast<PyObject*>(g_variable_type));
  nb::object handle;
  if (!nb::object(o.type().attr("handle")).is(nb::object(base.attr("handle")))) {
    handle = o.attr("handle");
  } else if (has_attribute(o.type().ptr(), "__getattr__")) {
    handle = o.attr("__getattr__")("handle");
  }
  if (!handle.is_valid() || !is_tensor(handle.ptr())) {
    raise(PyExc_RuntimeError, "The Variable was not initialised.");
  }
  const Tensor& resource = tensor_of(handle.ptr());
  new (nb::inst_ptr<PyVariable>(o)) PyVariable{Variable::from_handle(resource), true};
  nb::inst_mark_ready(o);
}

}  // namespace

const Variable& variable_of_object(PyObject* o) {
  if (!nb::inst_ready(o)) adopt_handle(o);
  return nb::inst_ptr<PyVariable>(o)->variable;
}

Tensor read_variable(PyObject* o) {
  const Variable& variable = variable_of_object(o);
  if (!nb::inst_ptr<PyVariable>(o)->joined) return variable.read();
  const nb::object value = nb::handle(o).attr("read_value")();
  return tensor_of(value.ptr());
}

namespace {

// Properties come before an object may have adopted its handle.
const Variable& of_self(nb::handle self) { return variable_of_object(self.ptr()); }

}  // namespace

void bind_variable(nb::module_& m) {
  const nb::object type =
      nb::class_<PyVariable>(m, "VariableBase", nb::type_slots(slots().data()),
                             nb::is_weak_referenceable(),
                             "Storage of a variable; see tf.Variable.")
          .def(
              "__init__",
              [](PyVariable* self, nb::handle initial, const std::string& name,
                 bool trainable, nb::handle shape, nb::handle dtype) {
                VariableOptions options{.name = name, .trainable = trainable};
                if (!shape.is_none()) options.shape = to_shape(shape.ptr());
                if (initial.is_none()) {  // of the graph of a session
                  new (self) PyVariable{
                      Variable::declare(to_dtype(dtype.ptr()), std::move(options)),
                      false};
                  return;
                }
                const bool any_shape = !shape.is_none() && !options.shape.has_rank();
                const Tensor value = to_tensor(initial.ptr());
                new (self) PyVariable{Variable(value, std::move(options)), false};
                // An unknown shape among the options stands for the initial value's.
                if (any_shape) {
                  variable_of(self->variable.handle()).shape = Shape::unknown();
                }
              },
              nb::arg("initial_value").none(), nb::arg("name") = "Variable",
              nb::arg("trainable") = true, nb::arg("shape") = nb::none(),
              nb::arg("dtype") = nb::none())
          .def_prop_ro("dtype",
                       [](nb::handle self) {
                         return nb::borrow(dtype_object(of_self(self).dtype()));
                       })
          .def_prop_ro(
              "shape",
              [](nb::handle self) { return shape_object(of_self(self).shape()); })
          .def_prop_ro("device", [](nb::handle self) { return of_self(self).device(); })
          .def_prop_ro("_plain_name",
                       [](nb::handle self) { return of_self(self).name(); })
          .def_prop_ro("trainable",
                       [](nb::handle self) { return of_self(self).trainable(); })
          .def_prop_ro(
              "handle",
              [](nb::handle self) { return nb::steal(wrap(of_self(self).handle())); })
          .def(
              "read_value",
              [](nb::handle self) { return nb::steal(wrap(of_self(self).read())); },
              "A snapshot of the value.")
          .def_rw("_joined", &PyVariable::joined)
          .def("_update", update, "Runs an op that changes the variable.")
          .def("__repr__", [](nb::handle self) { return of_self(self).repr(); });
  g_variable_type = reinterpret_cast<PyTypeObject*>(type.ptr());
}

}  // namespace tandem::python
