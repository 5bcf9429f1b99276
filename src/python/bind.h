// The parts of the module, each bound by its own file.
#pragma once

#include <nanobind/nanobind.h>

namespace tandem::python {

namespace nb = nanobind;

/// For functions that run without the interpreter lock.
using Unlocked = nb::call_guard<nb::gil_scoped_release>;

void bind_nn_functions(nb::module_& functions);
void bind_checkpoint(nb::module_& m);
void bind_compiled(nb::module_& m);
void bind_compiled_call(nb::module_& m);
void bind_compiled_control_flow(nb::module_& m);
void bind_data(nb::module_& m);
void bind_profile(nb::module_& m);
void bind_queue(nb::module_& m);
void bind_saved_model(nb::module_& m);
void bind_summary(nb::module_& m);
void bind_symbolic_gradients(nb::module_& m);
void bind_devices(nb::module_& m);
void bind_files(nb::module_& m);
void bind_fit(nb::module_& m);
void bind_functions(nb::module_& m);
void bind_gradients(nb::module_& m);
void bind_graph_scopes(nb::module_& m);
void bind_graph_session(nb::module_& m);
void bind_host_callback(nb::module_& m);
void bind_interchange(nb::module_& m);
void bind_mapped_import(nb::module_& m);
void bind_replicas(nb::module_& m);

}  // namespace tandem::python
