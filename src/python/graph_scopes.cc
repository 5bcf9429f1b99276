#include "python/graph_scopes.h"

#include <algorithm>

#include <fmt/format.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "graph/next_name.h"
#include "python/casters.h"
#include "python/compiled.h"
#include "python/convert.h"
#include "python/dtypes.h"
#include "python/errors.h"
#include "python/tensor_object.h"

namespace tandem::python {

namespace {

// Tapes inside the function hear what is traced.
void record_traced(const OpDef& op, AttrsRef attrs, std::span<const TensorArg> inputs,
                   std::span<const Tensor> outputs) {
  if (recording()) record_op(op, attrs, inputs, outputs);
}

void enter(nb::handle self, PyGraph& g, std::unique_ptr<HideListeners> hidden) {
  g.entered.push_back({std::move(hidden), std::make_unique<EmitterScope>(g.tracer.get()),
                       nb::borrow(t_graph), set_name_prefix({})});
  t_graph = self.ptr();
}

// A graph for looking at shapes: part of the trace around it, if there is one. Tapes
// inside hear what is traced, those outside do not.
void enter_graph(nb::handle self) {
  PyGraph& g = *nb::inst_ptr<PyGraph>(self);
  if (g.finished)
    raise(PyExc_RuntimeError, "The graph is finished: nothing can be added.");
  if (!g.tracer) {
    g.tracer = std::make_unique<Tracer>(*g.graph, record_traced,
                                        g.open ? nullptr : current_tracer());
    if (g.open) g.tracer->stay_open();
  }
  enter(self, g, std::make_unique<HideListeners>());
}

// The graph of a function: on its own, and one op to the tapes outside.
void enter_function(nb::handle self) {
  PyGraph& g = *nb::inst_ptr<PyGraph>(self);
  if (g.finished)
    raise(PyExc_RuntimeError, "The graph is finished: nothing can be added.");
  if (!g.tracer) g.tracer = std::make_unique<Tracer>(*g.graph, record_traced);
  enter(self, g, std::make_unique<HideListeners>());
}

void exit_graph(PyGraph& g) {
  if (g.entered.empty()) return;  // entering it has failed
  PyGraph::Entered last = std::move(g.entered.back());
  g.entered.pop_back();
  t_graph = last.previous.ptr();
  set_name_prefix(std::move(last.prefix));
}

// `like`: a compiled function whose memory the new one shares.
nb::object finish(PyGraph& g, nb::list results, nb::handle like) {
  if (!g.tracer || g.finished) {
    raise(PyExc_RuntimeError, "A graph is finished once, after it was traced into.");
  }
  for (nb::handle t : results) {
    if (!is_tensor(t.ptr())) {
      raise(PyExc_TypeError,
            fmt::format(
                "{}: a result has a part that is no tensor, {}, and cannot leave the "
                "trace. Return tensors, and make the object of them outside.",
                g.graph->name(), repr_of(t.ptr())));
    }
  }
  g.graph->results().clear();
  for (nb::handle t : results) {
    g.graph->results().push_back(g.tracer->value_of(tensor_of(t.ptr())));
  }
  g.tracer->finish();
  g.finished = true;
  GraphFunctionOptions options;
  if (!like.is_none()) options.pool = compiled_of(like.ptr())->pool();
  return compiled_object(
      std::make_shared<CompiledFunction>(GraphPtr(g.graph), std::move(options)));
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

// A traced value, computed now: what a variable begins with. `arguments`: the values of
// the graph's first parameters, as far as the call that is traced has them.
nb::object evaluate(nb::handle tensor, const std::vector<Tensor>& arguments) {
  const Tensor& t = tensor_of(tensor.ptr());
  const GraphValue* value = graph_value_of(t);
  if (!value) return nb::borrow(tensor);
  const Graph& all = *value->graph;
  const auto argument = [&](int32_t node) -> const Tensor* {
    const auto at = std::ranges::find(all.parameters(), node) - all.parameters().begin();
    return at < std::ssize(arguments) ? &arguments[static_cast<size_t>(at)] : nullptr;
  };
  std::vector<char> needed(static_cast<size_t>(all.size()), 0);
  needed[static_cast<size_t>(value->ref.node)] = 1;
  for (int32_t i = value->ref.node; i >= 0; --i) {
    if (!needed[static_cast<size_t>(i)]) continue;
    const Node& n = all.node(i);
    if (n.kind == Node::Kind::kParameter && !argument(i)) {
      raise(PyExc_ValueError,
            fmt::format("The initial value of a variable depends on '{}', an argument of "
                        "the function that is traced, which has no value yet. Create the "
                        "variable outside, or give a value that needs no argument.",
                        n.name));
    }
    for (const ValueRef& v : n.inputs) {
      if (v.defined()) needed[static_cast<size_t>(v.node)] = 1;
    }
  }
  auto graph = std::make_shared<Graph>("initial_value");
  std::vector<int32_t> moved(static_cast<size_t>(all.size()), -1);
  const auto here = [&](ValueRef v) -> ValueRef {
    if (v.defined()) v.node = moved[static_cast<size_t>(v.node)];
    return v;
  };
  std::vector<Tensor> given;
  for (int32_t i = 0; i <= value->ref.node; ++i) {
    if (!needed[static_cast<size_t>(i)]) continue;
    const Node& n = all.node(i);
    if (n.kind == Node::Kind::kParameter) {
      given.push_back(*argument(i));
      moved[static_cast<size_t>(i)] =
          graph->add_parameter(given.back().dtype(), given.back().shape(), n.name).node;
      continue;
    }
    std::vector<ValueRef> inputs;
    for (const ValueRef& v : n.inputs) inputs.push_back(here(v));
    const int32_t copy = graph->add_copy(n, std::move(inputs));
    graph->node(copy).after.clear();
    moved[static_cast<size_t>(i)] = copy;
  }
  graph->results() = {here(value->ref)};
  const EmitterScope eager(nullptr);
  const HideListeners hidden;
  auto function =
      std::make_shared<CompiledFunction>(GraphPtr(graph), GraphFunctionOptions{});
  return nb::steal(wrap(function->call(given)[0]));
}

std::string lower(std::string text) {
  std::ranges::transform(text, text.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  });
  return text;
}

// The name, or the first of name_1, name_2, ... that neither a scope nor an op has.
// Variables are no ops there.
std::string unique_name(PyGraph& g, const std::string& name) {
  for (; g.named < g.graph->size(); ++g.named) {
    const Node& n = g.graph->node(g.named);
    if (n.kind != Node::Kind::kVariable) g.names.try_emplace(lower(n.name), 1);
  }
  int number = g.names[lower(name)]++;
  if (number == 0) return name;
  while (g.names.contains(fmt::format("{}_{}", lower(name), number))) ++number;
  g.names[fmt::format("{}_{}", lower(name), number)] = 1;
  return fmt::format("{}_{}", name, number);
}

// Name and type of a node, as TensorFlow's operations have them.
nb::tuple name_and_type_of(const Graph& graph, int32_t number) {
  if (number < 0 || number >= graph.size()) {
    raise(PyExc_IndexError, "There is no such operation.");
  }
  static constexpr const char* kTypes[] = {
      "Placeholder", "Const", "VarHandleOp", "", "Copy", "If", "Case", "While", "Call"};
  const Node& n = graph.node(number);
  return nb::make_tuple(n.name,
                        n.op ? n.op->name.c_str() : kTypes[static_cast<size_t>(n.kind)]);
}

// (name, type, which of its results) of the op behind a symbolic tensor, also of one in a
// branch or a loop's body, which is a graph of its own.
nb::object made_by(nb::handle tensor) {
  const GraphValue* value = graph_value_of(tensor_of(tensor.ptr()));
  if (!value) return nb::none();
  const nb::tuple named = name_and_type_of(*value->graph, value->ref.node);
  return nb::make_tuple(named[0], named[1], value->ref.output);
}

// The node of a tensor gets a name, unless it has it, was there before node `first`, or
// is one of another graph.
void name_made(PyGraph& g, nb::handle tensor, const std::string& name, int32_t first) {
  const GraphValue* value = graph_value_of(tensor_of(tensor.ptr()));
  if (!value || value->graph != g.graph.get() || value->ref.node < first) return;
  const std::string& old = g.graph->node(value->ref.node).name;
  if (old == name || old.starts_with(name + "_")) return;
  g.graph->rename(value->ref.node, name);
}

}  // namespace

const GraphValue* graph_value_of(const Tensor& tensor) {
  const auto* value = static_cast<const GraphValue*>(tensor.impl()->symbolic.get());
  return value && is_trace_alive(value->trace) ? value : nullptr;
}

std::optional<Ints> known_ints(const Tensor& tensor) {
  const GraphValue* value = graph_value_of(tensor);
  if (!value || !is_integer(tensor.dtype()) || tensor.rank() > 1) return std::nullopt;
  const Node& node = value->graph->node(value->ref.node);
  if (node.kind == Node::Kind::kConstant) return host_ints(node.constant, "a constant");
  const ValueInfo& info = value->graph->info(value->ref);
  if (!info.has_value) return std::nullopt;
  Ints known;
  for (int64_t v : info.value) {
    if (v == kUnknownValue) return std::nullopt;
    known.push_back(v);
  }
  return known;
}

PyGraph* open_graph_of(PyObject* tensor) {
  PyObject* graph = reinterpret_cast<TensorObject*>(tensor)->graph;
  if (!graph || !nb::isinstance<PyGraph>(graph)) return nullptr;
  PyGraph* g = nb::inst_ptr<PyGraph>(graph);
  return g->open ? g : nullptr;
}

PyGraph::~PyGraph() {
  while (!entered.empty()) {
    if (entered.back().thread == std::this_thread::get_id()) {
      exit_graph(*this);
      continue;
    }
    // The scopes belong to another thread, which has ended, or never comes back to them.
    static_cast<void>(new Entered(std::move(entered.back())));
    entered.pop_back();
  }
}

void bind_graph_scopes(nb::module_& m) {
  nb::class_<PyGraph>(m, "FuncGraph", nb::is_weak_referenceable(), nb::dynamic_attr(),
                      "A graph that ops are traced into while it is the default.")
      .def(nb::init<std::string>(), nb::arg("name"))
      .def_prop_ro("name", [](const PyGraph& g) { return g.graph->name(); })
      .def("_enter", [](nb::handle self) { enter_graph(self); })
      .def("_enter_function", [](nb::handle self) { enter_function(self); })
      .def("_exit", exit_graph)
      .def("_finish", finish, nb::arg("results"), nb::arg("like") = nb::none(),
           "The function from the placeholders to these tensors; it shares the memory of "
           "intermediate values with `like`, a trace of the same body.")
      .def("placeholder", placeholder, nb::arg("dtype"), nb::arg("shape").none(),
           nb::arg("name").none())
      .def("_unique_name", unique_name, nb::arg("name"),
           "The name for a scope, made different from those in use.")
      .def(
          "_name_made", name_made, nb::arg("tensor"), nb::arg("name"), nb::arg("first"),
          "A name for the op of a tensor that was traced after there were `first` nodes.")
      .def(
          "_has",
          [](const PyGraph& g, nb::handle tensor) {
            const GraphValue* value = graph_value_of(tensor_of(tensor.ptr()));
            return value && value->graph == g.graph.get();
          },
          nb::arg("tensor"),
          "Whether it is a value of this graph itself, not of a branch.")
      .def_rw("_open", &PyGraph::open)
      .def("dump", [](const PyGraph& g) { return g.graph->dump(); })
      .def("__len__", [](const PyGraph& g) { return g.graph->size(); });

  nb::class_<PyInitScope>(m, "init_scope",
                          "Ops of the block run eagerly, even while tracing.")
      .def(nb::init<>())
      .def("__enter__",
           [](PyInitScope& s) {
             s.entered.push_back({std::make_unique<HideListeners>(),
                                  std::make_unique<EmitterScope>(nullptr),
                                  nb::borrow(t_graph),
                                  {}});
             t_graph = nullptr;
           })
      .def("__exit__", [](PyInitScope& s, nb::args) {
        t_graph = s.entered.back().previous.ptr();
        s.entered.pop_back();
      });

  m.def("set_name_prefix", set_name_prefix, nb::arg("prefix"),
        "What the names of traced ops begin with from now on; returns what it was.");
  m.def("evaluate", evaluate, nb::arg("tensor"), nb::arg("arguments"),
        "The value of a symbolic tensor; `arguments`: the values of the first "
        "placeholders.");
  m.def("name_next", name_next_op, nb::arg("name"),
        "The name of the next op that is traced; nothing happens eagerly.");
  m.def("executing_eagerly", [] { return current_tracer() == nullptr; });
  m.def("made_by", made_by, nb::arg("tensor"),
        "(name, type, number of the result) of the op that made a symbolic tensor.");
  m.def("current_graph", [] { return t_graph ? nb::borrow(t_graph) : nb::none(); });
  m.def(
      "static_value",
      [](nb::handle tensor) -> nb::object {
        if (!is_tensor(tensor.ptr())) return nb::none();
        const Tensor& t = tensor_of(tensor.ptr());
        if (!t.impl()->symbolic) return to_numpy(t, false);
        const GraphValue* value = graph_value_of(t);
        if (!value) return nb::none();
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
        if (!is_tensor(tensor.ptr())) raise(PyExc_TypeError, "set_shape takes a tensor.");
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
        if (const GraphValue* value = graph_value_of(t))
          value->graph->info(value->ref).shape = merged;
      },
      nb::arg("tensor"), nb::arg("shape").none());
}

}  // namespace tandem::python
