// Replicas under a trace: the binding of call_replicas (run/replica_call.h). Strategies,
// values per replica and mirrored variables are Python (tandem/distribution).
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "graph/trace.h"
#include "python/bind.h"
#include "python/errors.h"
#include "python/tensor_list.h"
#include "python/variable_object.h"
#include "run/replica_call.h"

namespace tandem::python {

namespace {

nb::list call_with_copies(const std::vector<std::string>& devices, nb::callable copies,
                          nb::list arguments, nb::callable body) {
  if (!current_tracer()) {
    raise(PyExc_RuntimeError, "call_replicas works inside a traced function only.");
  }
  std::vector<std::vector<Tensor>> given;
  for (nb::handle list : arguments) given.push_back(tensors_of(list));
  const auto results = call_replicas(
      devices,
      [&](const Tensor& handle) {
        std::vector<Tensor> handles;
        const nb::object found = copies(handle.impl()->id);
        if (found.is_none()) return handles;
        for (nb::handle v : found)
          handles.push_back(variable_of_object(v.ptr()).handle());
        return handles;
      },
      given,
      [&](const std::vector<Tensor>& parameters) {
        return tensors_of(body(wrap_all(parameters)));
      });
  nb::list made;
  for (const auto& list : results) made.append(wrap_all(list));
  return made;
}

}  // namespace

void bind_replicas(nb::module_& m) {
  m.def("call_replicas", call_with_copies, nb::arg("devices"), nb::arg("copies"),
        nb::arg("arguments"), nb::arg("body"),
        "Runs `body`, traced once, for every replica inside the function that is being "
        "traced. `arguments`: a list of tensors per replica. `copies`: a variable's "
        "handle id -> its copies by replica, or None.");
}

}  // namespace tandem::python
