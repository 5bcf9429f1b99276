// NumPy both ways. Into tensors: arrays that may still change are copied; arrays that
// nobody can write to share their memory. Out of tensors: `__array__` shares.
#include <mutex>
#include <vector>

#include <fmt/format.h>

#include "device/device.h"
#include "op/placement.h"
#include "python/convert_parts.h"
#include "python/dtypes.h"
#include "python/errors.h"
#include "python/host_now.h"
#include "python/interrupt.h"
#include "python/numpy_api.h"
#include "python/tensor_object.h"
#include "tensor/tensor_impl.h"
#include "tensor/transfer.h"

namespace tandem::python {

namespace {

std::mutex g_released_mutex;
std::vector<PyObject*> g_released;

int drop_released(void*) {
  std::vector<PyObject*> list;
  {
    const std::lock_guard lock(g_released_mutex);
    list.swap(g_released);
  }
  for (PyObject* o : list) Py_DECREF(o);
  return 0;
}

/// Bytes from which on an array and a tensor share memory where they can.
constexpr size_t kWorthSharing = 4096;

// A read-only array may be a view of one that can be written.
bool never_changes(PyObject* o) {
  while (o && PyArray_Check(o)) {
    auto* array = reinterpret_cast<PyArrayObject*>(o);
    if (PyArray_ISWRITEABLE(array)) return false;
    o = PyArray_BASE(array);
  }
  return !o || is_tensor(o) || PyBytes_Check(o);
}

Shape shape_of(PyArrayObject* array) {
  if (PyArray_NDIM(array) > kMaxRank) {
    raise(
        PyExc_ValueError,
        fmt::format("An array of rank {} cannot become a tensor: the rank is at most {}.",
                    PyArray_NDIM(array), kMaxRank));
  }
  Ints dims;
  for (int i = 0; i < PyArray_NDIM(array); ++i) dims.push_back(PyArray_DIM(array, i));
  return Shape(std::span<const int64_t>(dims));
}

Tensor strings_from(PyArrayObject* array, const Shape& shape) {
  const nb::object objects = nb::steal(PyArray_Cast(array, NPY_OBJECT));
  if (!objects.is_valid()) throw nb::python_error();
  const nb::object flat = nb::steal(PyArray_Ravel(as_array(objects.ptr()), NPY_CORDER));
  const nb::object items = nb::steal(PyArray_ToList(as_array(flat.ptr())));
  std::vector<std::string> texts;
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(items.ptr()); ++i) {
    PyObject* item = PyList_GET_ITEM(items.ptr(), i);
    if (!PyUnicode_Check(item) && !PyBytes_Check(item)) {
      raise(
          PyExc_ValueError,
          fmt::format(
              "Failed to convert a NumPy array to a Tensor (Unsupported object type {}).",
              Py_TYPE(item)->tp_name));
    }
    texts.push_back(to_bytes(item));
  }
  return tensor_from_strings(texts, shape);
}

// A new reference.
PyArray_Descr* descr_of(DType dtype) {
  const int number = numpy_type(dtype);
  if (number < 0) {
    raise(PyExc_ValueError,
          fmt::format("A tensor of dtype {} has no NumPy form.", dtype_name(dtype)));
  }
  return PyArray_DescrFromType(number);
}

// A few kilobytes are copied before another thread could take the lock.
void copy_bytes(void* to, const void* from, size_t bytes) {
  if (bytes <= 32768) {
    std::memcpy(to, from, bytes);
    return;
  }
  const nb::gil_scoped_release unlocked;
  std::memcpy(to, from, bytes);
}

nb::object strings_to_array(const Tensor& host) {
  const int64_t n = host.num_elements();
  npy_intp dims[kMaxRank];
  for (int i = 0; i < host.rank(); ++i) dims[i] = host.shape()[i];
  nb::object result = nb::steal(PyArray_SimpleNew(host.rank(), dims, NPY_OBJECT));
  if (!result.is_valid()) throw nb::python_error();
  auto** out = static_cast<PyObject**>(PyArray_DATA(as_array(result.ptr())));
  const auto* in = static_cast<const std::string*>(host.host_data());
  for (int64_t i = 0; i < n; ++i) {
    PyObject* bytes =
        PyBytes_FromStringAndSize(in[i].data(), static_cast<Py_ssize_t>(in[i].size()));
    if (!bytes) throw nb::python_error();
    Py_XSETREF(out[i], bytes);
  }
  return result;
}

}  // namespace

void release_later(PyObject* object) {
  if (!Py_IsInitialized()) return;  // the interpreter took its objects with it
  if (PyGILState_Check()) {
    Py_DECREF(object);
    return;
  }
  // The lock is not taken here: the caller may hold one of Tandem's own.
  {
    const std::lock_guard lock(g_released_mutex);
    g_released.push_back(object);
  }
  Py_AddPendingCall(drop_released, nullptr);
}

bool is_array_like(PyObject* value) {
  return PyObject_CheckBuffer(value) || has_attribute(value, "__array__") ||
         has_attribute(value, "__array_interface__");
}

Tensor from_array(PyObject* value, const ConvertOptions& options) {
  auto* given = reinterpret_cast<PyArrayObject*>(value);
  const DType natural = dtype_of_numpy(PyArray_TYPE(given));
  if (natural == DType::kInvalid) {
    raise(PyExc_ValueError,
          fmt::format(
              "Failed to convert a NumPy array to a Tensor (Unsupported NumPy dtype {}).",
              repr_of(reinterpret_cast<PyObject*>(PyArray_DESCR(given)))));
  }
  const bool hinted = options.hint != DType::kInvalid && natural != DType::kString &&
                      options.hint != DType::kString;
  const DType wanted = options.dtype != DType::kInvalid ? options.dtype
                       : hinted                         ? options.hint
                                                        : natural;
  const Shape shape = shape_of(given);
  if (natural == DType::kString || wanted == DType::kString) {
    if (natural != wanted) raise_dtype(value, wanted);
    return strings_from(given, shape);
  }
  if (options.exact && is_integer(natural) && is_integer(wanted) && natural != wanted) {
    for (const auto end : {PyArray_Min, PyArray_Max}) {
      if (PyArray_SIZE(given) == 0) break;
      const nb::object found = nb::steal(end(given, NPY_RAVEL_AXIS, nullptr));
      if (!found.is_valid()) throw nb::python_error();
      const nb::object number = nb::steal(PyNumber_Index(found.ptr()));
      if (!number.is_valid()) throw nb::python_error();
      if (!integer_fits(number.ptr(), wanted)) raise_does_not_fit(number.ptr(), wanted);
    }
  }
  // Contiguous, aligned, in the machine's byte order, and of the dtype that is wanted.
  PyArray_Descr* descr = PyArray_DescrFromType(numpy_type(wanted));
  const nb::object array = nb::steal(PyArray_FromAny(
      value, descr, 0, 0,
      NPY_ARRAY_CARRAY_RO | NPY_ARRAY_NOTSWAPPED | NPY_ARRAY_FORCECAST, nullptr));
  if (!array.is_valid()) throw nb::python_error();
  void* data = PyArray_DATA(as_array(array.ptr()));
  const auto bytes = static_cast<size_t>(PyArray_NBYTES(as_array(array.ptr())));
  const bool own = array.ptr() != value;  // a copy was made already
  if (bytes >= kWorthSharing && (own || never_changes(array.ptr()))) {
    PyObject* keep = Py_NewRef(array.ptr());
    const Tensor shared =
        from_foreign(data, wanted, shape, [keep] { release_later(keep); });
    Device& device = constant_device(wanted);
    return options.on_host || device.is_host() ? shared : copy_to_device(shared, device);
  }
  return make_constant(data, wanted, shape, options);
}

PyObject* numpy_scalar(DType dtype, void* data) {
  PyArray_Descr* descr = descr_of(dtype);
  PyObject* scalar = PyArray_Scalar(data, descr, nullptr);
  Py_DECREF(descr);
  if (!scalar) throw nb::python_error();
  return scalar;
}

nb::object to_numpy(const Tensor& tensor, bool copy) {
  Tensor host;
  const bool now = on_host_now(*tensor.impl());
  if (now) {
    host = tensor;
  } else {
    const Interruptible unlocked;
    host = tensor.to_host();
  }
  if (host.dtype() == DType::kString) return strings_to_array(host);
  npy_intp dims[kMaxRank];
  for (int i = 0; i < host.rank(); ++i) dims[i] = host.shape()[i];
  PyArray_Descr* descr = descr_of(host.dtype());
  // What was fetched for this call alone is the caller's; small arrays are better off in
  // memory of their own.
  const bool fetched =
      host.impl() != tensor.impl() && host.impl()->bytes() >= kWorthSharing;
  if (copy && !fetched) {
    nb::object result = nb::steal(PyArray_NewFromDescr(
        &PyArray_Type, descr, host.rank(), dims, nullptr, nullptr, 0, nullptr));
    if (!result.is_valid()) throw nb::python_error();
    if (const size_t bytes = host.impl()->bytes()) {
      copy_bytes(PyArray_DATA(as_array(result.ptr())), host.host_data(), bytes);
    }
    return result;
  }
  // An empty buffer may have no address, and null would make NumPy allocate.
  static char nothing;
  void* data = host.impl()->bytes() ? const_cast<void*>(host.host_data()) : &nothing;
  nb::object result = nb::steal(
      PyArray_NewFromDescr(&PyArray_Type, descr, host.rank(), dims, nullptr, data,
                           copy ? NPY_ARRAY_CARRAY : NPY_ARRAY_CARRAY_RO, nullptr));
  if (!result.is_valid()) throw nb::python_error();
  if (PyArray_SetBaseObject(as_array(result.ptr()), wrap(host)) < 0)
    throw nb::python_error();
  return result;
}

}  // namespace tandem::python
