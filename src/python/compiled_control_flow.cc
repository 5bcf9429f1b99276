// Branches and loops of a trace: Python callables on lists of tensors become sub-graphs.
// Structures are flattened in Python; here there are lists. The interpreter lock is held
// throughout: tracing is Python code.
#include "python/bind.h"
#include "python/convert.h"
#include "python/errors.h"
#include "python/tensor_list.h"
#include "python/tensor_object.h"
#include "tandem/control_flow.h"

namespace tandem::python {

namespace {

BranchFn branch_of(nb::handle callable) {
  return [callable] { return tensors_of(callable()); };
}

nb::list trace_cond(nb::handle predicate, nb::handle then_branch,
                    nb::handle else_branch) {
  return wrap_all(
      cond(tensor_of(predicate.ptr()), branch_of(then_branch), branch_of(else_branch)));
}

nb::list trace_switch(nb::handle index, nb::list branches) {
  std::vector<BranchFn> functions;
  for (nb::handle b : branches) functions.push_back(branch_of(b));
  return wrap_all(switch_case(tensor_of(index.ptr()), functions));
}

nb::list trace_while(nb::handle condition, nb::handle body, nb::list variables,
                     nb::handle shapes, int64_t maximum_iterations) {
  WhileOptions options{.maximum_iterations = maximum_iterations};
  if (!shapes.is_none()) {
    for (nb::handle s : shapes) options.shape_invariants.push_back(to_shape(s.ptr()));
  }
  return wrap_all(while_loop(
      [condition](const std::vector<Tensor>& vars) {
        return to_tensor(condition(wrap_all(vars)).ptr());
      },
      [body](const std::vector<Tensor>& vars) {
        return tensors_of(body(wrap_all(vars)));
      },
      tensors_of(variables), options));
}

}  // namespace

void bind_compiled_control_flow(nb::module_& m) {
  m.def("trace_cond", trace_cond, nb::arg("predicate"), nb::arg("then_branch"),
        nb::arg("else_branch"), "Branches return lists of tensors.");
  m.def("trace_switch", trace_switch, nb::arg("index"), nb::arg("branches"));
  m.def("trace_while", trace_while, nb::arg("condition"), nb::arg("body"),
        nb::arg("variables"), nb::arg("shapes").none(), nb::arg("maximum_iterations"),
        "Condition and body take a list of tensors.");
}

}  // namespace tandem::python
