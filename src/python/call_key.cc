#include "python/call_key.h"

#include <bit>
#include <cstring>

#include "python/convert.h"
#include "python/convert_parts.h"
#include "python/errors.h"
#include "python/numpy_api.h"
#include "python/tensor_object.h"
#include "python/variable_object.h"
#include "tensor/tensor_impl.h"

namespace tandem::python {

namespace {

enum Token : uint64_t {
  kTensor = 1,
  kVariable,
  kNone,
  kTrue,
  kFalse,
  kInt,
  kFloat,
  kValue,
  kObject,
  kTuple,
  kList,
  kDict,
  kComposite,
  kKeywords,
};

class Walker {
 public:
  explicit Walker(CallKey& key) : key_(key) {}

  void visit(PyObject* o) {
    if (is_tensor(o)) return tensor(tensor_of(o));
    if (o == Py_None) return push(kNone);
    if (o == Py_True) return push(kTrue);
    if (o == Py_False) return push(kFalse);
    if (PyLong_CheckExact(o)) return integer(o);
    if (PyFloat_CheckExact(o)) {
      push(kFloat);
      return push(std::bit_cast<uint64_t>(PyFloat_AS_DOUBLE(o)));
    }
    if (PyUnicode_CheckExact(o) || PyBytes_CheckExact(o) || PyComplex_CheckExact(o)) {
      push(kValue);
      key_.values.push_back(o);
      return;
    }
    if (is_variable(o)) {
      push(kVariable);
      return push(variable_of_object(o).handle().impl()->id);
    }
    const StructureLevel level;
    if (PyTuple_Check(o) || PyList_Check(o)) return sequence(o);
    if (PyDict_Check(o)) return dictionary(o);
    if (PyArray_Check(o) ||
        (PyArray_CheckScalar(o) && !PyUnicode_Check(o) && !PyBytes_Check(o))) {
      return tensor(to_tensor(o));
    }
    other(o);
  }

  void keywords(PyObject* kwargs) {
    push(kKeywords | static_cast<uint64_t>(PyDict_GET_SIZE(kwargs)) << 8);
    items(kwargs);
  }

 private:
  void push(uint64_t token) { key_.tokens.push_back(token); }

  void tensor(Tensor t) {
    const Shape& shape = t.shape();
    push(kTensor | static_cast<uint64_t>(t.dtype()) << 8 |
         static_cast<uint64_t>(shape.rank() + 1) << 16);
    for (int i = 0; i < shape.rank(); ++i) push(static_cast<uint64_t>(shape[i]));
    key_.tensors.push_back(std::move(t));
  }

  void integer(PyObject* o) {
    int overflow = 0;
    const long long v = PyLong_AsLongLongAndOverflow(o, &overflow);
    if (overflow) {
      push(kValue);
      key_.values.push_back(o);
      return;
    }
    push(kInt);
    push(static_cast<uint64_t>(v));
  }

  // Containers of a type of their own (named tuples) are told apart by it.
  void type(PyObject* o) { push(reinterpret_cast<uint64_t>(Py_TYPE(o))); }

  void sequence(PyObject* o) {
    const Py_ssize_t n = PySequence_Fast_GET_SIZE(o);
    push((PyTuple_Check(o) ? kTuple : kList) | static_cast<uint64_t>(n) << 8);
    type(o);
    for (Py_ssize_t i = 0; i < n; ++i) visit(PySequence_Fast_GET_ITEM(o, i));
  }

  void dictionary(PyObject* o) {
    const Py_ssize_t n = PyMapping_Size(o);
    if (n < 0) throw nb::python_error();
    push(kDict | static_cast<uint64_t>(n) << 8);
    type(o);
    items(o);
  }

  void items(PyObject* o) {
    if (!PyDict_CheckExact(o)) {
      // An OrderedDict has an order of its own, and who iterates over it sees that.
      key_.parts.push_back(nb::steal(PyMapping_Items(o)));
      if (!key_.parts.back().is_valid()) throw nb::python_error();
      const nb::object list = key_.parts.back();
      for (nb::handle pair : list) {
        visit(PyTuple_GET_ITEM(pair.ptr(), 0));
        visit(PyTuple_GET_ITEM(pair.ptr(), 1));
      }
      return;
    }
    PyObject* name;
    PyObject* value;
    Py_ssize_t at = 0;
    while (PyDict_Next(o, &at, &name, &value)) {
      visit(name);
      visit(value);
    }
  }

  // What a method returns, kept as long as the key.
  PyObject* asked(PyObject* o, PyObject* method, PyObject* argument = nullptr) {
    nb::object answer =
        nb::steal(argument ? PyObject_CallMethodOneArg(o, method, argument)
                           : PyObject_CallMethodNoArgs(o, method));
    if (!answer.is_valid()) throw nb::python_error();
    key_.parts.push_back(answer);
    return answer.ptr();
  }

  // Other classes that are structures to TensorFlow, as framework/composites.py opens
  // them: attrs classes, those with `__tf_flatten__`, and mappings that are no dicts.
  bool structure(PyObject* o) {
    static PyObject* const flatten = PyUnicode_InternFromString("__tf_flatten__");
    static PyObject* const attrs = PyUnicode_InternFromString("__attrs_attrs__");
    static PyObject* const name = PyUnicode_InternFromString("name");
    static PyObject* const mapping =
        nb::object(nb::module_::import_("collections.abc").attr("Mapping"))
            .release()
            .ptr();
    if (PyObject* fields = _PyType_Lookup(Py_TYPE(o), attrs)) {
      push(kComposite);
      type(o);
      for (nb::handle field : nb::borrow<nb::iterable>(fields)) {
        const nb::object attribute = nb::steal(PyObject_GetAttr(field.ptr(), name));
        key_.parts.push_back(nb::steal(
            attribute.is_valid() ? PyObject_GetAttr(o, attribute.ptr()) : nullptr));
        if (!key_.parts.back().is_valid()) throw nb::python_error();
        visit(nb::object(key_.parts.back()).ptr());
      }
      return true;
    }
    if (_PyType_Lookup(Py_TYPE(o), flatten)) {
      PyObject* both = asked(o, flatten);
      if (!PyTuple_Check(both) || PyTuple_GET_SIZE(both) != 2) {
        raise(PyExc_TypeError,
              "__tf_flatten__ must return (metadata, components): " + repr_of(o));
      }
      push(kComposite);
      type(o);
      push(kValue);
      key_.values.push_back(PyTuple_GET_ITEM(both, 0));
      visit(PyTuple_GET_ITEM(both, 1));
      return true;
    }
    if (!PyMapping_Check(o)) return false;  // no [], and the question below is slow
    const int yes = PyObject_IsInstance(o, mapping);
    if (yes < 0) throw nb::python_error();
    if (yes) dictionary(o);
    return yes != 0;
  }

  void other(PyObject* o) {
    static PyObject* const components = PyUnicode_InternFromString("_tf_components");
    static PyObject* const key = PyUnicode_InternFromString("_tf_key");
    static PyObject* const trace_type = PyUnicode_InternFromString("__tf_tracing_type__");
    if (_PyType_Lookup(Py_TYPE(o), components)) {
      PyObject* parts = asked(o, components);
      push(kComposite);
      type(o);
      if (_PyType_Lookup(Py_TYPE(o), key)) {
        push(kValue);
        key_.values.push_back(asked(o, key));
      }
      return visit(parts);
    }
    if (_PyType_Lookup(Py_TYPE(o), trace_type)) {
      // The user's own idea of when two objects need one trace (tf.types).
      push(kValue);
      key_.values.push_back(asked(o, trace_type, Py_None));
      return;
    }
    if (structure(o)) return;
    push(kObject);
    key_.objects.push_back(o);
  }

  CallKey& key_;
};

bool equal_values(PyObject* a, PyObject* b) {
  if (a == b) return true;
  if (Py_TYPE(a) != Py_TYPE(b)) return false;
  const int equal = PyObject_RichCompareBool(a, b, Py_EQ);
  if (equal < 0) throw nb::python_error();
  return equal == 1;
}

}  // namespace

CallKey key_of_call(PyObject* args, PyObject* kwargs) {
  CallKey key;
  key.tokens.reserve(64);
  key.tensors.reserve(8);
  Walker walker(key);
  walker.visit(args);
  if (kwargs && PyDict_GET_SIZE(kwargs) > 0) walker.keywords(kwargs);
  return key;
}

KeptKey::KeptKey(const CallKey& key) : tokens_(key.tokens) {
  for (PyObject* v : key.values) values_.push_back(nb::borrow(v));
  for (PyObject* o : key.objects) {
    PyObject* weak = PyWeakref_NewRef(o, nullptr);
    if (!weak) PyErr_Clear();
    objects_.push_back(weak ? nb::steal(weak) : nb::borrow(o));
  }
}

bool KeptKey::accepts(const CallKey& key) const {
  if (tokens_ != key.tokens || values_.size() != key.values.size() ||
      objects_.size() != key.objects.size()) {
    return false;
  }
  for (size_t i = 0; i < values_.size(); ++i) {
    if (!equal_values(values_[i].ptr(), key.values[i])) return false;
  }
  for (size_t i = 0; i < objects_.size(); ++i) {
    PyObject* kept = objects_[i].ptr();
    if (PyWeakref_Check(kept)) kept = PyWeakref_GET_OBJECT(kept);
    if (kept != key.objects[i]) return false;
  }
  return true;
}

int KeptKey::traverse(visitproc visit, void* arg) const {
  for (const nb::object& o : values_) Py_VISIT(o.ptr());
  for (const nb::object& o : objects_) Py_VISIT(o.ptr());
  return 0;
}

}  // namespace tandem::python
