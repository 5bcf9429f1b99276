// tf.gradients: derivatives of what has been traced so far, without a tape. The gradients
// are traced into the same graph.
#include <vector>

#include <nanobind/stl/string.h>

#include "graph/autodiff.h"
#include "python/bind.h"
#include "python/convert.h"
#include "python/errors.h"
#include "python/gradient_object.h"
#include "python/tensor_object.h"
#include "python/variable_object.h"
#include "tandem/ops.h"

namespace tandem::python {

namespace {

// The graph's value for a tensor, or a variable's state.
ValueRef value_of_object(Tracer& tracer, nb::handle o) {
  if (is_variable(o.ptr())) {
    return tracer.state_of(variable_of_object(o.ptr()).handle());
  }
  if (!is_tensor(o.ptr())) raise(PyExc_TypeError, "tf.gradients takes tensors.");
  return tracer.value_of(tensor_of(o.ptr()));
}

std::vector<ValueRef> values_of(Tracer& tracer, nb::list objects) {
  std::vector<ValueRef> values;
  for (nb::handle o : objects) values.push_back(value_of_object(tracer, o));
  return values;
}

// The sum over `targets` of their derivatives by each source: None, a tensor or
// (values, indices, dense_shape). `given` are gradients of the targets, None for ones.
nb::list symbolic_gradients(nb::list targets, nb::list sources, nb::list given,
                            nb::list stops) {
  Tracer* tracer = current_tracer();
  if (!tracer) raise(PyExc_RuntimeError, "tf.gradients needs a graph that is traced.");
  std::vector<Seed> seeds;
  for (size_t i = 0; i < targets.size(); ++i) {
    const Tensor& target = tensor_of(nb::handle(targets[i]).ptr());
    const nb::handle gradient = given[i];
    seeds.emplace_back(tracer->value_of(target), gradient.is_none()
                                                     ? ones_like(target)
                                                     : tensor_of(gradient.ptr()));
  }
  nb::list list;
  for (const Gradient& g : backpropagate(*tracer, seeds, values_of(*tracer, sources),
                                         values_of(*tracer, stops))) {
    list.append(gradient_object(g));
  }
  return list;
}

}  // namespace

void bind_symbolic_gradients(nb::module_& m) {
  m.def("symbolic_gradients", symbolic_gradients, nb::arg("targets"), nb::arg("sources"),
        nb::arg("given"), nb::arg("stops"));
}

}  // namespace tandem::python
