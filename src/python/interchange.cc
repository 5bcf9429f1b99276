// DLPack both ways.
#include "python/bind.h"
#include "python/errors.h"
#include "python/interrupt.h"
#include "python/tensor_object.h"
#include "tensor/dlpack_abi.h"

namespace tandem::python {

namespace {

constexpr const char* kName = "dltensor";
constexpr const char* kUsed = "used_dltensor";

// A capsule that nobody took gives the tensor back.
void drop_capsule(PyObject* capsule) {
  if (!PyCapsule_IsValid(capsule, kName)) return;
  auto* managed = static_cast<DLManagedTensor*>(PyCapsule_GetPointer(capsule, kName));
  if (managed && managed->deleter) managed->deleter(managed);
}

nb::object export_tensor(nb::handle tensor) {
  if (!is_tensor(tensor.ptr())) raise(PyExc_TypeError, "to_dlpack: a tensor is wanted");
  const Tensor& t = tensor_of(tensor.ptr());
  DLManagedTensor* managed = nullptr;
  {
    const Interruptible unlocked;
    t.wait();
    managed = to_dlpack(t);
  }
  PyObject* capsule = PyCapsule_New(managed, kName, drop_capsule);
  if (!capsule) throw nb::python_error();
  return nb::steal(capsule);
}

nb::object import_tensor(nb::handle source) {
  nb::object capsule = nb::borrow(source);
  if (!PyCapsule_CheckExact(source.ptr())) capsule = source.attr("__dlpack__")();
  auto* managed =
      static_cast<DLManagedTensor*>(PyCapsule_GetPointer(capsule.ptr(), kName));
  if (!managed) throw nb::python_error();
  const Tensor t = from_dlpack(managed);
  PyCapsule_SetName(capsule.ptr(), kUsed);
  return nb::steal(wrap(t));
}

}  // namespace

void bind_interchange(nb::module_& m) {
  m.def("to_dlpack", export_tensor, nb::arg("tensor"),
        "A DLPack capsule that shares the tensor's memory.");
  m.def("from_dlpack", import_tensor, nb::arg("capsule"),
        "A tensor that shares the memory of a DLPack capsule or of what makes one.");
}

}  // namespace tandem::python
