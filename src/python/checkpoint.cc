// Checkpoints: the native writer and reader behind tf.train.
#include "tandem/checkpoint.h"

#include <nanobind/stl/string.h>

#include "python/bind.h"
#include "python/casters.h"

namespace tandem::python {

namespace {

void save_named(const std::string& prefix, nb::list names, nb::list values) {
  std::vector<NamedTensor> tensors;
  for (size_t i = 0; i < names.size(); ++i) {
    tensors.push_back({nb::cast<std::string>(names[i]), to_tensor(values[i].ptr())});
  }
  const nb::gil_scoped_release unlocked;
  save_checkpoint(prefix, tensors);
}

nb::tuple describe_stored(const StoredTensor& t) {
  nb::list shape;
  for (int64_t d : t.shape) shape.append(d);
  return nb::make_tuple(nb::str(t.name.c_str(), t.name.size()), shape,
                        nb::borrow(dtype_object(t.dtype)));
}

}  // namespace

void bind_checkpoint(nb::module_& m) {
  m.def("save_checkpoint", save_named, nb::arg("prefix"), nb::arg("names"),
        nb::arg("values"), "Writes named tensors as a checkpoint, atomically.");
  nb::class_<CheckpointReader>(m, "CheckpointReaderBase", "Reads a checkpoint.")
      .def(
          "__init__",
          [](CheckpointReader* self, const std::string& prefix) {
            const nb::gil_scoped_release unlocked;
            new (self) CheckpointReader(prefix);
          },
          nb::arg("prefix"))
      .def_prop_ro("prefix", [](const CheckpointReader& r) { return r.prefix(); })
      .def("tensors",
           [](const CheckpointReader& r) {
             nb::list all;
             for (const StoredTensor& t : r.tensors()) all.append(describe_stored(t));
             return all;
           })
      .def("has_tensor", [](const CheckpointReader& r,
                            const std::string& name) { return r.find(name) != nullptr; })
      .def(
          "read",
          [](const CheckpointReader& r, const std::string& name) {
            Tensor t;
            {
              const nb::gil_scoped_release unlocked;
              t = r.read(name);
            }
            return nb::steal(wrap(std::move(t)));
          },
          nb::arg("name"), "One tensor, on the CPU.");
}

}  // namespace tandem::python
