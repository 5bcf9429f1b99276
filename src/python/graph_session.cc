// What sessions need of graphs: nodes looked at and found by name, values of variables
// per session, and runs: compiled functions from feeds to fetches. Needs the interpreter
// lock, except while a function runs.
#include <memory>
#include <optional>
#include <unordered_map>
#include <vector>

#include <fmt/format.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "device/runtime.h"
#include "graph/extract.h"
#include "op/placement.h"
#include "ops/random_draw.h"
#include "python/bind.h"
#include "python/casters.h"
#include "python/compiled.h"
#include "python/errors.h"
#include "python/graph_scopes.h"
#include "python/interrupt.h"
#include "python/numpy_api.h"
#include "python/tensor_object.h"
#include "python/variable_object.h"
#include "run/compiled_function.h"
#include "tensor/live_memory.h"
#include "tensor/transfer.h"
#include "tensor/variable_impl.h"
#include "tensor/variable_lock.h"

namespace tandem::python {

namespace {

using Place = std::pair<int32_t, int32_t>;

// While code of a run is the thread's: nothing is traced, and no graph is the default.
class OutsideGraphs {
 public:
  OutsideGraphs() : graph_(std::exchange(t_graph, nullptr)) {}
  OutsideGraphs(const OutsideGraphs&) = delete;
  OutsideGraphs& operator=(const OutsideGraphs&) = delete;
  ~OutsideGraphs() { t_graph = graph_; }

 private:
  PyObject* graph_;
  EmitterScope eager_{nullptr};
  HideListeners hidden_;
};

// ---- Looking at a graph

Tracer& tracer_of(PyGraph& g) {
  if (!g.tracer) raise(PyExc_RuntimeError, "The graph was never the default graph.");
  return *g.tracer;
}

const char* kind_of(const Node& n) {
  static const char* const kinds[] = {
      "Placeholder", "Const", "VarHandleOp", "", "Copy", "If", "Case", "While", "Call"};
  return n.op ? n.op->name.c_str() : kinds[static_cast<size_t>(n.kind)];
}

const Node& node_of(const PyGraph& g, int32_t i) {
  if (i < 0 || i >= g.graph->size()) raise(PyExc_IndexError, "There is no such node.");
  return g.graph->node(i);
}

// Name, op, device, inputs as (node, output), number of outputs, nodes it comes after.
nb::tuple describe(PyGraph& g, int32_t i) {
  const Node& n = node_of(g, i);
  nb::list inputs;
  for (const ValueRef& v : n.inputs) {
    if (v.defined() && !g.graph->info(v).state) {
      inputs.append(nb::make_tuple(v.node, v.output));
    }
  }
  size_t outputs = 0;
  for (const ValueInfo& info : n.outputs) outputs += !info.state;
  nb::list controls;
  if (g.tracer) {
    for (int32_t before : g.tracer->controls_of(i)) controls.append(before);
  }
  return nb::make_tuple(n.name, kind_of(n), n.device, inputs, outputs, controls);
}

nb::object symbolic(nb::handle self, int32_t node, int32_t output) {
  PyGraph& g = *nb::inst_ptr<PyGraph>(self);
  node_of(g, node);
  PyObject* before = std::exchange(t_graph, self.ptr());
  nb::object made = nb::steal(wrap(tracer_of(g).symbolic({node, output})));
  t_graph = before;
  return made;
}

int32_t find_node(const PyGraph& g, const std::string& name) {
  for (int32_t i = g.graph->size(); i-- > 0;) {
    if (g.graph->node(i).name == name) return i;
  }
  return -1;
}

void check_growing(PyGraph& g) {
  if (g.tracer && g.tracer->frozen()) {
    raise(PyExc_RuntimeError, "Graph is finalized and cannot be modified.");
  }
}

// A constant as a value of the graph, under a name.
nb::object add_constant(nb::handle self, nb::handle value, const std::string& name) {
  PyGraph& g = *nb::inst_ptr<PyGraph>(self);
  check_growing(g);
  const ValueRef v = g.graph->add_constant(tensor_of(value.ptr()), name);
  tracer_of(g).note_controls(v.node);
  return symbolic(self, v.node, v.output);
}

nb::object place_of(nb::handle tensor) {
  if (!is_tensor(tensor.ptr())) return nb::none();
  const Tensor& t = tensor_of(tensor.ptr());
  if (!t.impl()->symbolic) return nb::none();
  const auto* value = static_cast<const GraphValue*>(t.impl()->symbolic.get());
  return nb::make_tuple(value->ref.node, value->ref.output);
}

// ---- Values of variables

struct VariableSlot {
  Tensor handle;
  std::string name;
  bool ready = false;
};

struct PySession {
  PySession() = default;
  PySession(const PySession&) = delete;
  PySession& operator=(const PySession&) = delete;
  // By the id of the handle that the graph knows.
  std::unordered_map<uint64_t, std::unique_ptr<VariableSlot>> slots;

  VariableSlot& slot(const Tensor& handle) {
    std::unique_ptr<VariableSlot>& s = slots[handle.impl()->id];
    if (!s) s = std::make_unique<VariableSlot>(make_slot(handle));
    return *s;
  }

 private:
  // A variable of a graph gets storage of the session's own, as do the states of random
  // ops, which begin at their start. Variables from outside are what they are.
  static VariableSlot make_slot(const Tensor& handle) {
    VariableImpl& v = variable_of(handle);
    const Tensor value = [&v] {
      const VariableHold held(v);
      return v.value;
    }();
    if (value.defined() && !is_sequence(handle)) return {handle, v.name, true};
    const OutsideGraphs outside;
    const DeviceScope device(v.device->full_name());
    VariableOptions options{.name = v.name, .trainable = v.trainable};
    if (value.defined()) return {Variable(value, options).handle(), v.name, true};
    Shape shape;
    for (int i = 0; v.shape.has_rank() && i < v.shape.rank(); ++i) {
      shape.push_back(std::max<int64_t>(v.shape[i], 0));
    }
    options.shape = v.shape;
    const bool host = v.dtype == DType::kString;
    Device& where = host ? Runtime::get().cpu() : *v.device;
    VariableSlot made{Variable(make_tensor(where, v.dtype, shape), options).handle(),
                      v.name, false};
    variable_of(made.handle).shape = v.shape;
    return made;
  }
};

// ---- Runs

struct PyRun {
  std::shared_ptr<CompiledFunction> function;
  std::vector<VariableSlot*> reads, writes, asked;
  bool all_ready = false;
  nb::object session;  // keeps the slots
};

ExtractRequest request_of(const std::vector<Place>& fetches,
                          const std::vector<int32_t>& targets,
                          const std::vector<Place>& fed) {
  ExtractRequest request;
  for (const Place& p : fetches) request.fetches.push_back({p.first, p.second});
  for (const Place& p : fed) request.fed.push_back({p.first, p.second});
  request.targets = targets;
  return request;
}

nb::object extract_run(PyGraph& g, nb::handle session, const std::vector<Place>& fetches,
                       const std::vector<int32_t>& targets, const std::vector<Place>& fed,
                       const std::vector<int32_t>& late) {
  PySession& s = *nb::inst_ptr<PySession>(session);
  const StorageOf storage = [&](const Tensor& handle) { return s.slot(handle).handle; };
  ExtractRequest request = request_of(fetches, targets, fed);
  request.late = late;
  Extracted part = extract(tracer_of(g), request, storage);
  PyRun run;
  run.function = std::make_shared<CompiledFunction>(GraphPtr(std::move(part.graph)),
                                                    GraphFunctionOptions{});
  for (const VariableUse& use : part.variables) {
    if (use.read) run.reads.push_back(&s.slot(use.handle));
    if (use.written) run.writes.push_back(&s.slot(use.handle));
  }
  for (const Tensor& handle : part.asked) run.asked.push_back(&s.slot(handle));
  run.session = nb::borrow(session);
  return nb::cast(std::move(run));
}

void check_ready(PyRun& run) {
  for (const VariableSlot* slot : run.reads) {
    if (slot->ready) continue;
    throw FailedPreconditionError(
        fmt::format("Attempting to use uninitialized value {}", slot->name));
  }
  run.all_ready = true;
}

std::vector<Tensor> run_tensors(PyRun& run, nb::handle feeds) {
  std::vector<Tensor> given;
  for (nb::handle value : feeds) given.push_back(to_tensor(value.ptr()));
  if (!run.all_ready) check_ready(run);
  for (const VariableSlot* slot : run.asked) {
    Tensor known = make_tensor(Runtime::get().cpu(), DType::kBool, Shape{});
    *static_cast<bool*>(known.impl()->data()) = slot->ready;
    given.push_back(std::move(known));
  }
  std::vector<Tensor> results;
  {
    const Interruptible unlocked;
    results = run.function->call(given);
  }
  for (VariableSlot* slot : run.writes) slot->ready = true;
  return results;
}

// The fetched values as NumPy's arrays and scalars, or as tensors.
nb::object call_run(PyRun& run, nb::handle feeds, bool as_tensors) {
  const OutsideGraphs outside;
  // Errors become Python's here: outside of the graph, an argument that does not fit is
  // what it is in eager code.
  PyObject* const answer = guarded([&] {
    nb::list list;
    for (Tensor& t : run_tensors(run, feeds)) {
      nb::object made = nb::steal(wrap(std::move(t)));
      list.append(as_tensors ? made : made.attr("numpy")());
    }
    return list.release().ptr();
  });
  if (!answer) throw nb::python_error();
  return nb::steal(answer);
}

// ---- Variables of a session from outside

VariableSlot& slot_of(PySession& s, nb::handle variable) {
  return s.slot(variable_of_object(variable.ptr()).handle());
}

nb::object value_of_variable(PySession& s, nb::handle variable) {
  const VariableSlot& slot = slot_of(s, variable);
  if (!slot.ready) {
    throw FailedPreconditionError(
        fmt::format("Attempting to use uninitialized value {}", slot.name));
  }
  const OutsideGraphs outside;
  return nb::steal(wrap(Variable::from_handle(slot.handle).read()));
}

void load_variable(PySession& s, nb::handle variable, nb::handle value) {
  VariableSlot& slot = slot_of(s, variable);
  const OutsideGraphs outside;
  const Tensor tensor = to_tensor(value.ptr(), {.dtype = variable_of(slot.handle).dtype});
  Variable::from_handle(slot.handle).assign(tensor);
  slot.ready = true;
}

void bind_graph_parts(nb::class_<PyGraph>& c) {
  c.def("_describe", describe, nb::arg("node"))
      .def("_symbolic", symbolic, nb::arg("node"), nb::arg("output"))
      .def("_find", find_node, nb::arg("name"), "The node of this name, or -1.")
      .def("_add_constant", add_constant, nb::arg("value"), nb::arg("name"))
      .def("_set_controls",
           [](PyGraph& g, std::vector<int32_t> nodes) {
             tracer_of(g).set_controls(std::move(nodes));
           })
      .def("_freeze", [](PyGraph& g) { tracer_of(g).freeze(); })
      .def_prop_ro("_is_innermost",
                   [](PyGraph& g) { return current_tracer() == g.tracer.get(); })
      .def("_needed",
           [](PyGraph& g, const std::vector<Place>& fetches,
              const std::vector<int32_t>& targets, const std::vector<Place>& fed) {
             return needed_nodes(tracer_of(g), request_of(fetches, targets, fed));
           })
      .def("_extract", extract_run, nb::arg("session"), nb::arg("fetches"),
           nb::arg("targets"), nb::arg("fed"), nb::arg("late") = std::vector<int32_t>{});
}

}  // namespace

void bind_graph_session(nb::module_& m) {
  auto graph = nb::borrow<nb::class_<PyGraph>>(m.attr("FuncGraph"));
  bind_graph_parts(graph);
  nb::class_<PySession>(m, "SessionValues", "The variables of a session.")
      .def(nb::init<>())
      .def("value", value_of_variable, nb::arg("variable"))
      .def("load", load_variable, nb::arg("variable"), nb::arg("value"))
      .def(
          "adopt",
          [](PySession& s, nb::handle variable, nb::handle other) {
            const Variable& eager = variable_of_object(other.ptr());
            VariableSlot& slot = slot_of(s, variable);
            slot = {eager.handle(), eager.name(), true};
          },
          nb::arg("variable"), nb::arg("other"),
          "The variable of the graph is this one, which is no graph's.")
      .def("ready", [](PySession& s, nb::handle v) { return slot_of(s, v).ready; });
  nb::class_<PyRun>(m, "GraphRun", "A part of a graph as a compiled function.")
      .def("__call__", call_run, nb::arg("feeds"), nb::arg("as_tensors") = false)
      .def("check", check_ready, "Raises where a variable that is read has no value.")
      .def_prop_ro("compiled", [](const PyRun& r) { return compiled_object(r.function); })
      .def("explain", [](const PyRun& r) { return r.function->explain(); })
      .def("dump", [](const PyRun& r) { return r.function->function().graph().dump(); });
  m.def("place_of", place_of, nb::arg("tensor"),
        "(node, output) of a symbolic tensor, else None.");
}

}  // namespace tandem::python
