// The parts of the module, each bound by its own file.
#pragma once

#include <nanobind/nanobind.h>

namespace tandem::python {

namespace nb = nanobind;

void bind_functions(nb::module_& m);
void bind_nn_functions(nb::module_& functions);
void bind_devices(nb::module_& m);
void bind_gradients(nb::module_& m);
void bind_graph_scopes(nb::module_& m);
void bind_interchange(nb::module_& m);

}  // namespace tandem::python
