// x[key] as a StridedSlice: integers, slices, ..., None and scalar tensors, alone or in a
// tuple; a mask of booleans selects rows.
#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "op/emitter.h"
#include "ops/strided_slice.h"
#include "python/convert.h"
#include "python/errors.h"
#include "python/execute.h"
#include "python/graph_scopes.h"
#include "python/numpy_api.h"
#include "python/operators.h"
#include "python/tensor_object.h"
#include "python/variable_object.h"
#include "tandem/error.h"
#include "tandem/ops/array.h"
#include "tandem/ops/elementwise.h"
#include "tandem/ops/indexing.h"
#include "tensor/tensor_impl.h"

namespace tandem::python {

namespace {

PyObject* g_boolean_mask = nullptr;

[[noreturn]] void raise_index(PyObject* item) {
  drop_error(PyExc_TypeError);
  raise(PyExc_TypeError,
        fmt::format(
            "Only integers, slices (`:`), ellipsis (`...`), tf.newaxis (`None`) and "
            "scalar tf.int32/tf.int64 tensors are valid indices, got {}",
            repr_of(item)));
}

bool is_mask(PyObject* key) {
  if (PyBool_Check(key)) return true;
  if (is_tensor(key)) return tensor_of(key).dtype() == DType::kBool;
  if (PyArray_Check(key))
    return PyArray_TYPE(reinterpret_cast<PyArrayObject*>(key)) == NPY_BOOL;
  if (!PyList_Check(key) || PyList_GET_SIZE(key) == 0) return false;
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(key); ++i) {
    if (!PyBool_Check(PyList_GET_ITEM(key, i))) return false;
  }
  return true;
}

// One number of begin, end or strides: known now, or a scalar tensor plus that number.
struct Bound {
  int64_t value = 0;
  Tensor tensor;
};

bool bit(int64_t mask, size_t i) { return (mask >> i & 1) != 0; }
int64_t without_bit(int64_t mask, size_t i) {
  const int64_t below = (int64_t{1} << i) - 1;
  return (mask & below) | (mask >> 1 & ~below);
}

// x[..., index, ...] along an axis, for an index that is known only when the graph runs:
// it is an input like any other then, where a slice would need a plan for each.
Tensor take_row(const Tensor& x, Tensor index, int64_t axis) {
  if (index.dtype() != DType::kInt32) index = cast(index, DType::kInt64);
  const int64_t known = x.shape()[static_cast<int>(axis)];
  const Tensor count =
      known != kUnknownDim
          ? scalar(Scalar(known), index.dtype())
          : cast(gather(shape(x), scalar(Scalar(axis), DType::kInt64)), index.dtype());
  const Tensor zero = scalar(Scalar(int64_t{0}), index.dtype());
  index = where(less(index, zero), add(index, count), index);
  // Along the first axis the gradient would be IndexedSlices; a slice has a tensor.
  if (is_integer(x.dtype())) return gather(x, index, {.axis = axis});
  return squeeze(gather(expand_dims(x, 0), index, {.axis = axis + 1}), {.axis = {0}});
}

class Spec {
 public:
  void add(PyObject* item) {
    if (begin_.size() == kMaxSliceEntries) {
      throw InvalidArgumentError(
          fmt::format("StridedSlice: at most {} entries are supported in an index.",
                      kMaxSliceEntries));
    }
    const int64_t bit = int64_t{1} << begin_.size();
    if (item == Py_Ellipsis) {
      attrs_.ellipsis_mask |= bit;
      push({0}, {0}, {1});
    } else if (item == Py_None) {
      attrs_.new_axis_mask |= bit;
      push({0}, {0}, {1});
    } else if (PySlice_Check(item)) {
      const auto* s = reinterpret_cast<PySliceObject*>(item);
      if (s->start == Py_None) attrs_.begin_mask |= bit;
      if (s->stop == Py_None) attrs_.end_mask |= bit;
      push(bound(s->start, 0), bound(s->stop, 0), bound(s->step, 1));
    } else {
      attrs_.shrink_axis_mask |= bit;
      const Bound begin = bound(item, 0);
      push(begin, {begin.value + 1, begin.tensor}, {1});
    }
  }

  PyObject* slice(Tensor x) {
    take_rows(x);
    if (begin_.empty()) return wrap(std::move(x));
    static const OpHandle op("StridedSlice");
    const Bounds bounds = tensors();
    const TensorArg args[] = {x, bounds.begin, bounds.end, bounds.strides};
    return wrap(emit_unlocked(op, attrs_ref(attrs_), args));
  }

 private:
  struct Bounds {
    Tensor begin, end, strides;
  };

  // Programs index with few numbers again and again: their tensors are kept. Under the
  // interpreter lock.
  Bounds tensors() const {
    const size_t n = begin_.size();
    Ints key;
    for (const auto* list : {&begin_, &end_, &strides_}) {
      for (const Bound& b : *list) {
        if (b.tensor.defined()) return {vector(begin_), vector(end_), vector(strides_)};
        key.push_back(b.value);
      }
    }
    constexpr size_t kSlots = 256;
    struct Slot {
      Ints key;
      Bounds bounds;
    };
    static auto* const slots = new std::array<Slot, kSlots>;
    uint64_t hash = n;
    for (int64_t v : key) hash = (hash ^ static_cast<uint64_t>(v)) * 0x9e3779b97f4a7c15u;
    Slot& slot = (*slots)[hash >> 56];
    const std::span<const int64_t> values(key);
    if (!slot.bounds.begin.defined() || !std::ranges::equal(slot.key, values)) {
      slot.bounds = {make_host_ints(values.subspan(0, n)),
                     make_host_ints(values.subspan(n, n)),
                     make_host_ints(values.subspan(2 * n, n))};
      slot.key = std::move(key);
    }
    return slot.bounds;
  }

  void push(Bound begin, Bound end, Bound stride) {
    begin_.push_back(std::move(begin));
    end_.push_back(std::move(end));
    strides_.push_back(std::move(stride));
  }

  // Traced indices of single elements, the last first so that axes keep their numbers.
  void take_rows(Tensor& x) {
    if (attrs_.ellipsis_mask || !x.shape().has_rank()) return;
    int64_t axis = 0;
    for (size_t i = 0; i < begin_.size(); ++i) axis += !bit(attrs_.new_axis_mask, i);
    if (axis > x.rank()) return;  // the slice says what is wrong
    for (size_t i = begin_.size(); i-- > 0;) {
      if (bit(attrs_.new_axis_mask, i)) continue;
      --axis;
      if (!bit(attrs_.shrink_axis_mask, i) || !begin_[i].tensor.defined()) continue;
      x = take_row(x, begin_[i].tensor, axis);
      const auto at = static_cast<std::ptrdiff_t>(i);
      for (auto* list : {&begin_, &end_, &strides_}) list->erase(list->begin() + at);
      for (int64_t* mask : {&attrs_.begin_mask, &attrs_.end_mask, &attrs_.new_axis_mask,
                            &attrs_.shrink_axis_mask}) {
        *mask = without_bit(*mask, i);
      }
    }
  }

  static Bound bound(PyObject* o, int64_t fallback) {
    if (o == Py_None) return {fallback, {}};
    if (PyLong_CheckExact(o)) {
      return {integer(o), {}};
    }
    if (is_tensor_like(o)) {
      const Tensor t = to_tensor(o);
      if (t.rank() > 0 || (t.dtype() != DType::kInt32 && t.dtype() != DType::kInt64 &&
                           !is_integer(t.dtype()))) {
        raise_index(o);
      }
      if (!t.impl()->symbolic) return {host_ints(t, "index")[0], {}};
      if (const auto known = known_ints(t)) return {(*known)[0], {}};
      return {0, t};
    }
    if (PyFloat_Check(o)) raise_index(o);
    const nb::object index = nb::steal(PyNumber_Index(o));
    if (!index.is_valid()) raise_index(o);
    return {integer(index.ptr()), {}};
  }

  static int64_t integer(PyObject* o) {
    const long long v = PyLong_AsLongLong(o);
    if (v == -1 && PyErr_Occurred()) {
      PyErr_Clear();
      raise(PyExc_ValueError,
            "Can't convert Python sequence with out-of-range integer to Tensor.");
    }
    return v;
  }

  static Tensor vector(const std::vector<Bound>& bounds) {
    Ints values;
    bool symbolic = false;
    for (const Bound& b : bounds) {
      values.push_back(b.value);
      symbolic = symbolic || b.tensor.defined();
    }
    if (!symbolic) return make_host_ints(values);
    std::vector<Tensor> parts;
    for (const Bound& b : bounds) {
      if (!b.tensor.defined()) {
        parts.push_back(scalar(Scalar(b.value), DType::kInt64));
      } else {
        const Tensor wide =
            b.tensor.dtype() == DType::kInt64 ? b.tensor : cast(b.tensor, DType::kInt64);
        parts.push_back(
            b.value ? tandem::add(wide, scalar(Scalar(b.value), DType::kInt64)) : wide);
      }
    }
    return stack(parts);
  }

  std::vector<Bound> begin_, end_, strides_;
  StridedSliceAttrs attrs_;
};

}  // namespace

void register_boolean_mask(PyObject* function) {
  Py_XSETREF(g_boolean_mask, Py_NewRef(function));
}

PyObject* get_item(PyObject* self, PyObject* key) {
  return guarded([&]() -> PyObject* {
    if (is_mask(key)) {
      PyObject* args[] = {self, key};
      return PyObject_Vectorcall(g_boolean_mask, args, 2, nullptr);
    }
    const Tensor x = to_tensor(self);
    Spec spec;
    if (PyTuple_Check(key) || PyList_Check(key)) {
      for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(key); ++i) {
        spec.add(PySequence_Fast_GET_ITEM(key, i));
      }
    } else {
      spec.add(key);
    }
    return spec.slice(x);
  });
}

}  // namespace tandem::python
