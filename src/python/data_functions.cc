// Users' functions for the stages of pipelines: traced ones, Python callables that are
// called under the interpreter lock, and generators.
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "ops/random_draw.h"
#include "python/casters.h"
#include "python/data.h"
#include "python/errors.h"
#include "python/graph_scopes.h"
#include "python/tensor_object.h"
#include "run/compiled_function.h"

namespace tandem::python {

namespace {

// `callable(*tensors)` returns a flat list of tensors and datasets.
data::FunctionPtr from_callable(nb::object callable) {
  auto held = std::make_shared<HeldObject>(std::move(callable));
  return data::make_callable([held](std::span<const Tensor> arguments) {
    const nb::gil_scoped_acquire locked;
    try {
      data::Element given(arguments.begin(), arguments.end());
      const nb::tuple tensors = from_element(given);
      const nb::object made =
          nb::steal(PyObject_CallObject(held->get().ptr(), tensors.ptr()));
      if (!made.is_valid()) throw nb::python_error();
      return to_element(made);
    } catch (nb::python_error& e) {
      throw_as_pipeline_error(e);
    }
  });
}

// A graph that may use tensors of the trace around it, as functions of datasets that are
// made inside a traced function do.
void enter_element_function(nb::handle self) {
  PyGraph& g = *nb::inst_ptr<PyGraph>(self);
  if (!g.tracer) {
    const auto listen = [](const OpDef& op, AttrsRef attrs,
                           std::span<const TensorArg> inputs,
                           std::span<const Tensor> outputs) {
      if (recording()) record_op(op, attrs, inputs, outputs);
    };
    g.tracer = std::make_unique<Tracer>(*g.graph, listen, current_tracer());
    g.draws = traced_draws();
  }
  g.entered.push_back({std::make_unique<HideListeners>(),
                       std::make_unique<EmitterScope>(g.tracer.get()),
                       nb::borrow(t_graph),
                       {}});
  t_graph = self.ptr();
}

// The function that was traced, with the results in the list: tensors, and datasets whose
// symbolic tensors become results of the graph.
PyUserFunction finish_element_function(PyGraph& g, nb::list results,
                                       const std::string& what) {
  std::vector<data::TracedResult> made;
  std::vector<ValueRef>& values = g.graph->results();
  const auto add = [&](const Tensor& t) {
    values.push_back(g.tracer->value_of(t));
    return values.size() - 1;
  };
  for (nb::handle item : results) {
    data::TracedResult result;
    if (nb::isinstance<data::Dataset>(item)) {
      result.dataset = nb::cast<const data::Dataset&>(item).stage();
      for (const Tensor& t : data::symbolic_tensors(*result.dataset)) {
        result.tensors.emplace_back(t, add(t));
      }
    } else {
      result.index = add(tensor_of(item.ptr()));
    }
    made.push_back(std::move(result));
  }
  std::vector<Tensor> captures;
  for (const Tracer::Capture& c : g.tracer->captures()) {
    // What the function draws belongs to it, wherever it is made.
    if (is_sequence(c.tensor)) continue;
    if (c.tensor.dtype() == DType::kResource) {
      raise(PyExc_NotImplementedError,
            "A function of a dataset that is made inside a tf.function uses a variable; "
            "make the dataset outside, or read the variable before.");
    }
    captures.push_back(c.tensor);
  }
  g.tracer->finish();
  g.finished = true;
  return {data::make_traced_function(
      std::make_shared<CompiledFunction>(GraphPtr(g.graph), GraphFunctionOptions{}),
      std::move(captures), std::move(made), what, traced_draws() != g.draws)};
}

// `make()` gives an iterator over flat lists.
data::StagePtr from_generator(nb::object make, nb::handle components) {
  auto held = std::make_shared<HeldObject>(std::move(make));
  return data::make_generator(
      [held]() -> std::function<bool(data::Element&)> {
        const nb::gil_scoped_acquire locked;
        try {
          auto iterator = std::make_shared<HeldObject>(held->get()());
          return [iterator](data::Element& element) {
            const nb::gil_scoped_acquire again;
            try {
              nb::object item = nb::steal(PyIter_Next(iterator->get().ptr()));
              if (!item.is_valid()) {
                if (PyErr_Occurred()) throw nb::python_error();
                return false;
              }
              element = to_element(item);
              return true;
            } catch (nb::python_error& e) {
              throw_as_pipeline_error(e);
            }
          };
        } catch (nb::python_error& e) {
          throw_as_pipeline_error(e);
        }
      },
      to_components(components));
}

}  // namespace

void bind_data_functions(nb::module_& data) {
  nb::class_<PyUserFunction>(data, "Function", "A user's function as stages call it.");
  nb::class_<data::Dataset>(data, "Dataset", nb::is_weak_referenceable(),
                            "An immutable description of a pipeline.")
      .def("cardinality", &data::Dataset::cardinality)
      .def_prop_ro("name", [](const data::Dataset& d) { return d.stage()->name(); })
      .def_prop_ro(
          "components",
          [](const data::Dataset& d) {
            nb::list list;
            for (const data::Component& c : d.components()) {
              list.append(nb::make_tuple(c.dtype, c.shape));
            }
            return list;
          },
          "dtype and shape of each component of the elements.");
  data.def("enter_function", enter_element_function, nb::arg("graph"));
  data.def("finish_function", finish_element_function, nb::arg("graph"),
           nb::arg("results"), nb::arg("what"));
  data.def(
      "callable",
      [](nb::object f) { return PyUserFunction{from_callable(std::move(f))}; },
      nb::arg("function"));
  data.def(
      "generator",
      [](nb::object make, nb::handle components) {
        return data::Dataset(from_generator(std::move(make), components));
      },
      nb::arg("make"), nb::arg("components"));
}

}  // namespace tandem::python
