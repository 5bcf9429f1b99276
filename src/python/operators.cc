#include "python/operators.h"

#include "op/emitter.h"
#include "op/infer.h"
#include "python/convert.h"
#include "python/convert_parts.h"
#include "python/dtypes.h"
#include "python/errors.h"
#include "python/execute.h"
#include "python/graph_scopes.h"
#include "python/interrupt.h"
#include "python/numpy_api.h"
#include "python/tensor_object.h"
#include "python/variable_object.h"
#include "tandem/ops/elementwise.h"
#include "tensor/tensor_impl.h"

namespace tandem::python {

namespace {

bool has_dtype(PyObject* o) { return is_tensor(o) || is_variable(o); }

bool is_plain(PyObject* o) {
  return is_scalar(o) || PyArray_Check(o) || PyList_Check(o) || PyTuple_Check(o);
}

// Values whose failed conversion is the user's error; other objects may know arithmetic
// themselves (Keras's symbolic tensors do).
bool is_plain_operand(PyObject* o) {
  return is_plain(o) ||
         !PyObject_HasAttrString(reinterpret_cast<PyObject*>(Py_TYPE(o)), "__radd__");
}

struct Operands {
  Tensor x, y;
  bool supported = true;
};

// Of two operands one is a tensor; the other takes its dtype.
Operands operands(PyObject* a, PyObject* b, bool lenient) {
  const bool a_first = has_dtype(a);
  PyObject* tensor = a_first ? a : b;
  PyObject* other = a_first ? b : a;
  const Tensor t = to_tensor(tensor);
  Tensor u;
  if (is_tensor(other)) {
    u = tensor_of(other);
  } else {
    const DType dtype = t.dtype();
    try {
      // TensorFlow's sum takes a right operand as it is when it does not fit.
      u = to_tensor(other, lenient && a_first ? ConvertOptions{.hint = dtype}
                                              : ConvertOptions{.dtype = dtype});
    } catch (nb::python_error& e) {
      const bool mismatch = e.matches(PyExc_TypeError) || e.matches(PyExc_ValueError);
      if (is_plain_operand(other) || is_variable(other) || !mismatch) throw;
      return {{}, {}, false};
    }
  }
  return a_first ? Operands{t, u, true} : Operands{u, t, true};
}

PyObject* run_binary(const OpDef& op, const Tensor& x, const Tensor& y) {
  const TensorArg args[] = {x, y};
  return wrap(emit_unlocked(op, default_attrs(op), args));
}

template <class Choose>
PyObject* binary(PyObject* a, PyObject* b, bool lenient, Choose&& choose) {
  return guarded([&]() -> PyObject* {
    if (is_tensor(a) && is_tensor(b)) {
      const Tensor& x = tensor_of(a);
      return run_binary(choose(x.dtype()), x, tensor_of(b));
    }
    const Operands o = operands(a, b, lenient);
    if (!o.supported) Py_RETURN_NOTIMPLEMENTED;
    return run_binary(choose(o.x.dtype()), o.x, o.y);
  });
}

#define TANDEM_BINARY(function, name)                                     \
  PyObject* function(PyObject* a, PyObject* b) {                          \
    static const OpHandle op(name);                                       \
    return binary(a, b, false, [](DType) -> const OpDef& { return op; }); \
  }
TANDEM_BINARY(subtract, "Sub")
TANDEM_BINARY(multiply, "Mul")
TANDEM_BINARY(floor_divide, "FloorDiv")
TANDEM_BINARY(remainder, "FloorMod")
TANDEM_BINARY(matrix_multiply, "MatMul")
#undef TANDEM_BINARY

PyObject* add(PyObject* a, PyObject* b) {
  static const OpHandle numbers("AddV2"), strings("Add");
  return binary(a, b, true, [](DType t) -> const OpDef& {
    return t == DType::kString ? strings : numbers;
  });
}

PyObject* power(PyObject* a, PyObject* b, PyObject*) {
  static const OpHandle op("Pow");
  return binary(a, b, false, [](DType) -> const OpDef& { return op; });
}

#define TANDEM_BITWISE(function, logical, bitwise)           \
  PyObject* function(PyObject* a, PyObject* b) {             \
    static const OpHandle bools(logical), bits(bitwise);     \
    return binary(a, b, false, [](DType t) -> const OpDef& { \
      return t == DType::kBool ? bools : bits;               \
    });                                                      \
  }
TANDEM_BITWISE(bit_and, "LogicalAnd", "BitwiseAnd")
TANDEM_BITWISE(bit_or, "LogicalOr", "BitwiseOr")
TANDEM_BITWISE(bit_xor, "NotEqual", "BitwiseXor")
#undef TANDEM_BITWISE

// Integers are divided as floats that hold them: float32 up to 16 bits, else float64.
DType quotient_dtype(DType t) {
  if (!is_integer(t)) return t;
  return dtype_size(t) <= 2 ? DType::kFloat32 : DType::kFloat64;
}

PyObject* divide(PyObject* a, PyObject* b) {
  static const OpHandle op("RealDiv");
  return guarded([&]() -> PyObject* {
    Operands o = operands(a, b, false);
    if (!o.supported) Py_RETURN_NOTIMPLEMENTED;
    if (o.x.dtype() != o.y.dtype()) {
      raise(PyExc_TypeError, "`x` and `y` must have the same dtype, got " +
                                 repr_of(dtype_object(o.x.dtype())) +
                                 " != " + repr_of(dtype_object(o.y.dtype())) + ".");
    }
    const DType t = quotient_dtype(o.x.dtype());
    if (t != o.x.dtype()) {
      o.x = cast(o.x, t);
      o.y = cast(o.y, t);
    }
    return run_binary(op, o.x, o.y);
  });
}

template <class Choose>
PyObject* unary(PyObject* a, Choose&& choose) {
  return guarded([&] {
    const Tensor x = to_tensor(a);
    const OpDef& op = choose(x.dtype());
    const TensorArg args[] = {x};
    return wrap(emit_unlocked(op, default_attrs(op), args));
  });
}
PyObject* negative(PyObject* a) {
  static const OpHandle op("Neg");
  return unary(a, [](DType) -> const OpDef& { return op; });
}
PyObject* absolute(PyObject* a) {
  static const OpHandle real("Abs"), complex("ComplexAbs");
  return unary(a, [](DType t) -> const OpDef& { return is_complex(t) ? complex : real; });
}
PyObject* invert(PyObject* a) {
  static const OpHandle bools("LogicalNot"), bits("Invert");
  return unary(a,
               [](DType t) -> const OpDef& { return t == DType::kBool ? bools : bits; });
}
PyObject* positive(PyObject* a) {
  return guarded([&] { return wrap(to_tensor(a)); });
}

// Shapes that do not broadcast are simply not equal.
PyObject* equality(PyObject* a, PyObject* b, bool equal) {
  static const OpHandle same("Equal"), different("NotEqual");
  if (b == Py_None) return PyBool_FromLong(!equal);
  // In the graph of a session, whether it is the same tensor.
  if (is_tensor(a) && tensor_of(a).impl()->symbolic && open_graph_of(a)) {
    if (!is_tensor(b) || !tensor_of(b).impl()->symbolic) return PyBool_FromLong(!equal);
    const auto value = [](PyObject* o) {
      return static_cast<const GraphValue*>(tensor_of(o).impl()->symbolic.get());
    };
    const bool same_value =
        value(a)->trace == value(b)->trace && value(a)->ref == value(b)->ref;
    return PyBool_FromLong(same_value == equal);
  }
  return guarded([&]() -> PyObject* {
    if (!is_plain(b) && !is_tensor_like(b)) Py_RETURN_NOTIMPLEMENTED;
    const Operands o = operands(a, b, false);
    if (!o.supported) Py_RETURN_NOTIMPLEMENTED;
    Shape both;
    if (!broadcast_shapes(o.x.shape(), o.y.shape(), &both)) {
      const bool answer = !equal;
      return wrap(tensor_from(&answer, DType::kBool, {}));
    }
    return run_binary(equal ? same : different, o.x, o.y);
  });
}

PyObject* compare_values(PyObject* a, PyObject* b, int how) {
  static const OpHandle less("Less"), less_equal("LessEqual"), greater("Greater"),
      greater_equal("GreaterEqual");
  if (how == Py_EQ || how == Py_NE) return equality(a, b, how == Py_EQ);
  return binary(a, b, false, [how](DType) -> const OpDef& {
    switch (how) {
      case Py_LT:
        return less;
      case Py_LE:
        return less_equal;
      case Py_GT:
        return greater;
      default:
        return greater_equal;
    }
  });
}

// Rows one by one. A new object per step: Python's generic sequence iterator would ask
// for an index that does not exist to find the end.
PyObject* iterate(PyObject* o) {
  return guarded([&]() -> PyObject* {
    const Tensor t = to_tensor(o);
    if (t.impl()->symbolic) {
      raise_not_allowed("Iterating over a symbolic `tf.Tensor` is not allowed.");
    }
    if (t.rank() == 0) raise(PyExc_TypeError, "Cannot iterate over a scalar tensor.");
    static const OpHandle unpack("Unpack");
    std::vector<Tensor> rows;
    if (t.dim(0) > 0) {
      const TensorArg args[] = {t};
      const Interruptible unlocked;
      current_emitter().emit(unpack, default_attrs(unpack), args, rows);
    }
    const nb::object list = nb::steal(PyList_New(static_cast<Py_ssize_t>(rows.size())));
    for (size_t i = 0; i < rows.size(); ++i) {
      PyList_SET_ITEM(list.ptr(), static_cast<Py_ssize_t>(i), wrap(std::move(rows[i])));
    }
    return PyObject_GetIter(list.ptr());
  });
}

}  // namespace

void append_operator_slots(std::vector<PyType_Slot>& slots) {
  const PyType_Slot mine[] = {
      {Py_nb_add, slot(add)},
      {Py_nb_subtract, slot(subtract)},
      {Py_nb_multiply, slot(multiply)},
      {Py_nb_true_divide, slot(divide)},
      {Py_nb_floor_divide, slot(floor_divide)},
      {Py_nb_remainder, slot(remainder)},
      {Py_nb_power, slot(power)},
      {Py_nb_matrix_multiply, slot(matrix_multiply)},
      {Py_nb_and, slot(bit_and)},
      {Py_nb_or, slot(bit_or)},
      {Py_nb_xor, slot(bit_xor)},
      {Py_nb_invert, slot(invert)},
      {Py_nb_negative, slot(negative)},
      {Py_nb_positive, slot(positive)},
      {Py_nb_absolute, slot(absolute)},
      {Py_tp_richcompare, slot(compare_values)},
      {Py_tp_iter, slot(iterate)},
      {Py_mp_subscript, slot(get_item)},
  };
  slots.insert(slots.end(), std::begin(mine), std::end(mine));
}

}  // namespace tandem::python
