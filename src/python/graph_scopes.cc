// Graphs being traced, as contexts of a `with` block: FuncGraph (ops become nodes),
// init_scope (ops run eagerly again) and name scopes.
#include <memory>
#include <vector>

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

#include "graph/trace.h"
#include "python/bind.h"
#include "python/convert.h"
#include "python/dtypes.h"
#include "python/errors.h"
#include "python/tensor_object.h"

namespace tandem::python {

namespace {

struct PyGraph {
  explicit PyGraph(std::string name) : graph(std::move(name)) {}
  PyGraph(const PyGraph&) = delete;
  PyGraph& operator=(const PyGraph&) = delete;
  Graph graph;
  std::unique_ptr<Tracer> tracer;
  struct Entered {
    std::unique_ptr<EmitterScope> scope;
    PyObject* previous;
  };
  std::vector<Entered> entered;
};

void enter_graph(nb::handle self) {
  PyGraph& g = *nb::inst_ptr<PyGraph>(self);
  if (!g.tracer) {
    g.tracer = std::make_unique<Tracer>(g.graph, Tracer::Listener{}, current_tracer());
  }
  g.entered.push_back({std::make_unique<EmitterScope>(g.tracer.get()), t_graph});
  t_graph = self.ptr();
}

void exit_graph(PyGraph& g) {
  if (g.entered.empty()) raise(PyExc_RuntimeError, "The graph was not entered.");
  t_graph = g.entered.back().previous;
  g.entered.pop_back();
}

nb::object placeholder(PyGraph& g, nb::handle dtype, nb::handle shape,
                       const std::optional<std::string>& name) {
  return nb::steal(wrap(g.tracer->parameter(to_dtype(dtype.ptr()), to_shape(shape.ptr()),
                                            name.value_or("Placeholder"))));
}

struct PyInitScope {
  PyInitScope() = default;
  PyInitScope(const PyInitScope&) = delete;
  PyInitScope& operator=(const PyInitScope&) = delete;
  std::vector<PyGraph::Entered> entered;
};

struct PyNameScope {
  explicit PyNameScope(std::string given) : name(std::move(given)) {}
  PyNameScope(const PyNameScope&) = delete;
  PyNameScope& operator=(const PyNameScope&) = delete;
  std::string name;
  std::vector<std::unique_ptr<NameScope>> entered;
};

}  // namespace

void bind_graph_scopes(nb::module_& m) {
  nb::class_<PyGraph>(m, "FuncGraph", nb::is_weak_referenceable(), nb::dynamic_attr(),
                      "A graph that ops are traced into while it is the default.")
      .def(nb::init<std::string>(), nb::arg("name"))
      .def_prop_ro("name", [](const PyGraph& g) { return g.graph.name(); })
      .def("_enter", [](nb::handle self) { enter_graph(self); })
      .def("_exit", exit_graph)
      .def("placeholder", placeholder, nb::arg("dtype"), nb::arg("shape").none(),
           nb::arg("name").none())
      .def("dump", [](const PyGraph& g) { return g.graph.dump(); })
      .def("__len__", [](const PyGraph& g) { return g.graph.size(); });

  nb::class_<PyInitScope>(m, "init_scope",
                          "Ops of the block run eagerly, even while tracing.")
      .def(nb::init<>())
      .def("__enter__",
           [](PyInitScope& s) {
             s.entered.push_back({std::make_unique<EmitterScope>(nullptr), t_graph});
             t_graph = nullptr;
           })
      .def("__exit__", [](PyInitScope& s, nb::args) {
        t_graph = s.entered.back().previous;
        s.entered.pop_back();
      });

  nb::class_<PyNameScope>(m, "NameScope")
      .def(nb::init<std::string>(), nb::arg("name"))
      .def_ro("name", &PyNameScope::name)
      .def("enter",
           [](PyNameScope& s) {
             s.entered.push_back(std::make_unique<NameScope>(s.name));
           })
      .def("exit", [](PyNameScope& s) { s.entered.pop_back(); });

  m.def("executing_eagerly", [] { return current_tracer() == nullptr; });
  m.def("current_graph", [] { return t_graph ? nb::borrow(t_graph) : nb::none(); });
  m.def(
      "static_value",
      [](nb::handle tensor) -> nb::object {
        const Tensor& t = tensor_of(tensor.ptr());
        if (!t.impl()->symbolic) return to_numpy(t, false);
        const auto* value = static_cast<const GraphValue*>(t.impl()->symbolic.get());
        const Node& node = value->graph->node(value->ref.node);
        if (node.kind == Node::Kind::kConstant) return to_numpy(node.constant, false);
        const ValueInfo& info = value->graph->info(value->ref);
        if (!info.has_value) return nb::none();
        nb::list values;
        for (int64_t v : info.value) {
          if (v == kUnknownValue) return nb::none();
          values.append(v);
        }
        nb::object array = nb::module_::import_("numpy").attr("array")(
            values, nb::borrow(dtype_object(t.dtype())).attr("as_numpy_dtype"));
        return t.rank() == 0 ? array.attr("reshape")(nb::make_tuple()) : array;
      },
      nb::arg("tensor"), "The value of a tensor as far as tracing knows it, else None.");
  m.def(
      "set_shape",
      [](nb::handle tensor, nb::handle shape) {
        const Tensor& t = tensor_of(tensor.ptr());
        // A symbolic tensor's shape may become better known, never different.
        const Shape merged = [&] {
          try {
            return t.shape().merged_with(to_shape(shape.ptr()));
          } catch (const InvalidArgumentError& e) {
            throw ValueError(e.what());
          }
        }();
        if (!t.impl()->symbolic) return;
        t.impl()->shape = merged;
        const auto* value = static_cast<const GraphValue*>(t.impl()->symbolic.get());
        value->graph->info(value->ref).shape = merged;
      },
      nb::arg("tensor"), nb::arg("shape").none());
}

}  // namespace tandem::python
