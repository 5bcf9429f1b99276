#include "python/dtypes.h"

#include <array>

#include <nanobind/stl/string.h>

#include "python/errors.h"
#include "python/numpy_api.h"

namespace tandem::python {

namespace {

std::array<PyObject*, kDTypeCount> g_objects{};
std::array<PyObject*, kDTypeCount> g_names{};
int g_bfloat16_number = -1;

struct NumpyRow {
  DType dtype;
  int number;
};
constexpr NumpyRow kNumpy[] = {
    {DType::kBool, NPY_BOOL},           {DType::kInt8, NPY_INT8},
    {DType::kInt16, NPY_INT16},         {DType::kInt32, NPY_INT32},
    {DType::kInt64, NPY_INT64},         {DType::kUInt8, NPY_UINT8},
    {DType::kUInt16, NPY_UINT16},       {DType::kUInt32, NPY_UINT32},
    {DType::kUInt64, NPY_UINT64},       {DType::kFloat16, NPY_FLOAT16},
    {DType::kFloat32, NPY_FLOAT32},     {DType::kFloat64, NPY_FLOAT64},
    {DType::kComplex64, NPY_COMPLEX64}, {DType::kComplex128, NPY_COMPLEX128},
    {DType::kString, NPY_OBJECT},
};

// Loaded when first asked for: few programs use bfloat16.
int bfloat16_number() {
  if (g_bfloat16_number < 0) {
    const nb::object type = nb::module_::import_("ml_dtypes").attr("bfloat16");
    PyArray_Descr* descr = PyArray_DescrFromTypeObject(type.ptr());
    if (!descr) throw nb::python_error();
    g_bfloat16_number = descr->type_num;
    Py_DECREF(descr);
  }
  return g_bfloat16_number;
}

[[noreturn]] void not_a_dtype(PyObject* o) {
  drop_error(PyExc_Exception);
  raise(PyExc_TypeError, "Cannot convert the argument `type_value`: " + repr_of(o) +
                             " to a TensorFlow DType.");
}

DType from_text(PyObject* o) {
  const char* text = PyUnicode_AsUTF8(o);
  if (!text) throw nb::python_error();
  for (int i = 1; i < kDTypeCount; ++i) {
    const auto t = static_cast<DType>(i);
    if (text == dtype_name(t) || text == dtype_short_name(t)) return t;
  }
  return DType::kInvalid;
}

// np.float32, np.dtype("float32"), ml_dtypes.bfloat16, and `float`, `bool`, `complex`,
// `str`, `object` as TensorFlow reads them; plain `int` it refuses.
DType from_numpy(PyObject* o) {
  if (o == reinterpret_cast<PyObject*>(&PyFloat_Type)) return DType::kFloat32;
  if (o == reinterpret_cast<PyObject*>(&PyBool_Type)) return DType::kBool;
  if (o == reinterpret_cast<PyObject*>(&PyLong_Type)) return DType::kInvalid;
  PyArray_Descr* descr = nullptr;
  if (PyArray_DescrCheck(o)) {
    descr = reinterpret_cast<PyArray_Descr*>(Py_NewRef(o));
  } else if (PyType_Check(o)) {
    descr = PyArray_DescrFromTypeObject(o);
  }
  if (!descr) return DType::kInvalid;
  const int number = descr->type_num;
  Py_DECREF(descr);
  if (number == NPY_OBJECT) {
    return o == reinterpret_cast<PyObject*>(&PyBaseObject_Type) || PyArray_DescrCheck(o)
               ? DType::kString
               : DType::kInvalid;
  }
  return dtype_of_numpy(number);
}

// TensorFlow's numbers in its protocol buffers; those of references are larger by 100.
DType from_number(PyObject* o) {
  constexpr DType kNone = DType::kInvalid;
  constexpr std::array<DType, 24> kByNumber = {kNone,
                                               DType::kFloat32,
                                               DType::kFloat64,
                                               DType::kInt32,
                                               DType::kUInt8,
                                               DType::kInt16,
                                               DType::kInt8,
                                               DType::kString,
                                               DType::kComplex64,
                                               DType::kInt64,
                                               DType::kBool,
                                               kNone,
                                               kNone,
                                               kNone,
                                               DType::kBFloat16,
                                               kNone,
                                               kNone,
                                               DType::kUInt16,
                                               DType::kComplex128,
                                               DType::kFloat16,
                                               DType::kResource,
                                               DType::kVariant,
                                               DType::kUInt32,
                                               DType::kUInt64};
  int overflow = 0;
  const long number = PyLong_AsLongAndOverflow(o, &overflow);
  const long plain = number > 100 ? number - 100 : number;
  if (overflow != 0 || plain < 0 || plain >= static_cast<long>(kByNumber.size())) {
    return kNone;
  }
  return kByNumber[static_cast<size_t>(plain)];
}

// kInvalid when it is none; no error is set.
DType find_dtype(PyObject* o) {
  if (nb::isinstance<PyDType>(o)) return nb::inst_ptr<PyDType>(o)->dtype;
  if (PyUnicode_Check(o)) return from_text(o);
  if (PyLong_CheckExact(o)) return from_number(o);
  const DType t = from_numpy(o);
  PyErr_Clear();
  if (t != DType::kInvalid || PyType_Check(o)) return t;
  const nb::object inner = nb::steal(PyObject_GetAttrString(o, "dtype"));
  if (!inner.is_valid()) drop_error(PyExc_AttributeError);
  return inner.is_valid() && !inner.is(o) ? find_dtype(inner.ptr()) : DType::kInvalid;
}

// A dtype equals its names and NumPy's types. Keras compares dtypes with strings at every
// call of a layer.
PyObject* compare_dtypes(PyObject* a, PyObject* b, int how) {
  if (how != Py_EQ && how != Py_NE) Py_RETURN_NOTIMPLEMENTED;
  return guarded([&] {
    const DType mine = nb::inst_ptr<PyDType>(a)->dtype;
    bool same = false;
    if (a == b) {
      same = true;
    } else if (PyUnicode_Check(b)) {
      const char* text = PyUnicode_AsUTF8(b);
      if (!text) throw nb::python_error();
      same = text == dtype_name(mine) || text == dtype_short_name(mine);
    } else if (b != Py_None) {
      same = find_dtype(b) == mine;
    }
    return PyBool_FromLong(same == (how == Py_EQ));
  });
}

Py_hash_t hash_dtype(PyObject* o) {
  return static_cast<Py_hash_t>(nb::inst_ptr<PyDType>(o)->dtype);
}

PyType_Slot kDTypeSlots[] = {{Py_tp_richcompare, reinterpret_cast<void*>(compare_dtypes)},
                             {Py_tp_hash, reinterpret_cast<void*>(hash_dtype)},
                             {0, nullptr}};

}  // namespace

PyObject* dtype_object(DType dtype) { return g_objects[static_cast<size_t>(dtype)]; }

DType to_dtype(PyObject* o) {
  if (o == Py_None) return DType::kInvalid;
  const DType t = find_dtype(o);
  if (t == DType::kInvalid) not_a_dtype(o);
  return t;
}

int numpy_type(DType dtype) {
  if (dtype == DType::kBFloat16) return bfloat16_number();
  for (const NumpyRow& row : kNumpy) {
    if (row.dtype == dtype) return row.number;
  }
  return -1;
}

DType dtype_of_numpy(int number) {
  // long and long long are both 64 bits wide, but two numbers.
  if (number == NPY_LONGLONG) return DType::kInt64;
  if (number == NPY_ULONGLONG) return DType::kUInt64;
  if (number == NPY_STRING || number == NPY_UNICODE) return DType::kString;
  for (const NumpyRow& row : kNumpy) {
    if (row.number == number) return row.dtype;
  }
  if (PyTypeNum_ISUSERDEF(number) && number == bfloat16_number()) return DType::kBFloat16;
  return DType::kInvalid;
}

void bind_dtypes(nb::module_& m) {
  nb::class_<PyDType>(m, "DType", "The type of the elements of a tensor.",
                      nb::type_slots(kDTypeSlots), nb::is_weak_referenceable())
      .def_prop_ro("name",
                   [](const PyDType& t) {
                     return nb::borrow(g_names[static_cast<size_t>(t.dtype)]);
                   })
      .def_prop_ro("size",
                   [](const PyDType& t) {
                     return t.dtype == DType::kString ? size_t{1} : dtype_size(t.dtype);
                   })
      .def_prop_ro("is_bool", [](const PyDType& t) { return t.dtype == DType::kBool; })
      .def_prop_ro("is_floating", [](const PyDType& t) { return is_floating(t.dtype); })
      .def_prop_ro("is_integer", [](const PyDType& t) { return is_integer(t.dtype); })
      .def_prop_ro("is_unsigned", [](const PyDType& t) { return is_unsigned(t.dtype); })
      .def_prop_ro("is_complex", [](const PyDType& t) { return is_complex(t.dtype); })
      .def_prop_ro("is_numeric", [](const PyDType& t) { return is_numeric(t.dtype); })
      .def_prop_ro("is_numpy_compatible",
                   [](const PyDType& t) {
                     return t.dtype != DType::kResource && t.dtype != DType::kVariant;
                   })
      .def_prop_ro(
          "real_dtype",
          [](const PyDType& t) { return nb::borrow(dtype_object(real_dtype(t.dtype))); })
      .def_prop_ro("as_numpy_dtype", [](const PyDType& t) {
        const int number = numpy_type(t.dtype);
        if (number < 0) raise(PyExc_TypeError, "DType has no NumPy equivalent");
        PyArray_Descr* descr = PyArray_DescrFromType(number);
        nb::object type = nb::borrow(reinterpret_cast<PyObject*>(descr->typeobj));
        Py_DECREF(descr);
        // Python's own object, not numpy.object_.
        if (number == NPY_OBJECT) {
          return nb::borrow(reinterpret_cast<PyObject*>(&PyBaseObject_Type));
        }
        return type;
      });
  for (int i = 1; i < kDTypeCount; ++i) {
    g_objects[static_cast<size_t>(i)] =
        nb::cast(PyDType{static_cast<DType>(i)}).release().ptr();
    const std::string name(dtype_name(static_cast<DType>(i)));
    g_names[static_cast<size_t>(i)] = PyUnicode_InternFromString(name.c_str());
  }
  g_objects[0] = Py_NewRef(Py_None);
  m.def(
      "as_dtype",
      [](nb::handle o) {
        const DType t = to_dtype(o.ptr());
        if (t == DType::kInvalid) not_a_dtype(o.ptr());
        return nb::borrow(dtype_object(t));
      },
      nb::arg("type_value").none(),
      "The DType that a name, a NumPy type or a DType stands for.");
  m.def("all_dtypes", [] {
    nb::list all;
    for (int i = 1; i < kDTypeCount; ++i)
      all.append(nb::borrow(g_objects[static_cast<size_t>(i)]));
    return all;
  });
}

}  // namespace tandem::python
