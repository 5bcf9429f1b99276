#include "python/compiled.h"

#include <nanobind/stl/string.h>

#include "graph/trace.h"
#include "python/bind.h"
#include "python/convert.h"
#include "python/dtypes.h"
#include "python/errors.h"
#include "python/interrupt.h"
#include "python/tensor_object.h"
#include "run/inline_graph.h"

namespace tandem::python {

namespace {

struct PyCompiled {
  std::shared_ptr<CompiledFunction> function;
};

// Inside a trace the graph becomes part of it.
nb::object call_compiled(PyCompiled& self, nb::handle arguments) {
  std::vector<Tensor> given;
  for (nb::handle a : arguments) given.push_back(to_tensor(a.ptr()));
  const std::shared_ptr<CompiledFunction> function = self.function;
  std::vector<Tensor> results;
  if (current_tracer()) {
    results = inline_graph(function->function().graph(), given);
  } else {
    const Interruptible unlocked;
    results = function->call(given);
  }
  nb::list list;
  for (Tensor& t : results) list.append(nb::steal(wrap(std::move(t))));
  return list;
}

const Graph& graph_of(const PyCompiled& c) { return c.function->function().graph(); }

nb::tuple describe_value(const std::string& name, const ValueInfo& info) {
  return nb::make_tuple(name, nb::borrow(dtype_object(info.dtype)),
                        shape_object(info.shape));
}

nb::list describe_nodes(const PyCompiled& c) {
  nb::list list;
  for (const Node& n : graph_of(c).nodes()) {
    static const char* const kinds[] = {
        "Placeholder", "Const", "VarHandleOp", "", "Copy", "If", "Case", "While", "Call"};
    const std::string kind = n.op ? n.op->name : kinds[static_cast<size_t>(n.kind)];
    list.append(nb::make_tuple(n.name, kind, n.device));
  }
  return list;
}

}  // namespace

std::shared_ptr<CompiledFunction> compiled_of(PyObject* o) {
  if (!nb::isinstance<PyCompiled>(o)) {
    raise(PyExc_TypeError, "A CompiledFunction is wanted, not " + repr_of(o));
  }
  return nb::inst_ptr<PyCompiled>(o)->function;
}

nb::object compiled_object(std::shared_ptr<CompiledFunction> function) {
  return nb::cast(PyCompiled{std::move(function)});
}

void bind_compiled(nb::module_& m) {
  nb::class_<PyCompiled>(m, "CompiledFunction", nb::is_weak_referenceable(),
                         "A traced graph that can be called with tensors.")
      .def("__call__", call_compiled, nb::arg("arguments"),
           "The results, a list, for a list of tensors.")
      .def_prop_ro("name", [](const PyCompiled& c) { return graph_of(c).name(); })
      .def_prop_ro(
          "parameters",
          [](const PyCompiled& c) {
            nb::list list;
            for (int32_t i : graph_of(c).parameters()) {
              const Node& n = graph_of(c).node(i);
              list.append(describe_value(n.name, n.outputs[0]));
            }
            return list;
          },
          "Name, dtype and shape of each argument.")
      .def_prop_ro(
          "results",
          [](const PyCompiled& c) {
            nb::list list;
            for (const ValueRef& v : graph_of(c).results()) {
              list.append(
                  describe_value(graph_of(c).node(v.node).name, graph_of(c).info(v)));
            }
            return list;
          },
          "Name, dtype and shape of each result.")
      .def_prop_ro(
          "variable_handles",
          [](const PyCompiled& c) {
            nb::list ids;
            for (const Node& n : graph_of(c).nodes()) {
              if (n.kind == Node::Kind::kVariable) ids.append(n.constant.impl()->id);
            }
            return ids;
          },
          "The ids of the handles of the variables that are used.")
      .def_prop_ro("captured_constants",
                   [](const PyCompiled& c) {
                     nb::list list;
                     for (const Node& n : graph_of(c).nodes()) {
                       if (n.kind == Node::Kind::kConstant)
                         list.append(nb::steal(wrap(n.constant)));
                     }
                     return list;
                   })
      .def_prop_ro("nodes", describe_nodes, "Name, op and device of each node.")
      .def("dump", [](const PyCompiled& c) { return graph_of(c).dump(); })
      .def("dump_optimized",
           [](const PyCompiled& c) { return c.function->function().dump(); })
      .def("dot", [](const PyCompiled& c) { return graph_of(c).dot(); })
      .def("explain", [](const PyCompiled& c) { return c.function->explain(); });
}

}  // namespace tandem::python
