// The module tandem._core: starts no thread and opens no device when it is imported.
#define TANDEM_NUMPY_OWNER
#include <algorithm>
#include <cstdlib>

#include <signal.h>
#include <sys/auxv.h>

#include "base/version.h"
#include "graph/trace.h"
#include "python/bind.h"
#include "python/convert.h"
#include "python/dtypes.h"
#include "python/ending.h"
#include "python/errors.h"
#include "python/execute.h"
#include "python/numpy_api.h"
#include "python/operators.h"
#include "python/site.h"
#include "python/tensor_object.h"
#include "python/variable_object.h"

namespace tandem::python {

namespace {
// NumPy's macro returns a value from the function it stands in.
int load_numpy() {
  import_array1(-1);
  return 0;
}

// AT_MINSIGSTKSZ, which older C libraries do not name.
constexpr unsigned long kAuxMinSigStackSize = 51;

// oneDNN's AVX-512 matmul keeps data below the stack pointer, beyond what the ABI
// protects from signal handlers: a Ctrl-C in the middle of one would corrupt memory.
// Python's handlers run on the thread's alternate stack where it has one, so the thread
// that imports Tandem (the main one, which is given the signals) gets one.
void give_signals_a_stack() {
  stack_t present{};
  if (sigaltstack(nullptr, &present) != 0 || !(present.ss_flags & SS_DISABLE)) return;
  const auto least =
      static_cast<size_t>(getauxval(kAuxMinSigStackSize));  // 0: an older kernel
  stack_t stack{};
  stack.ss_size = std::max(least, size_t{2048}) + (1u << 16);
  stack.ss_sp = std::malloc(stack.ss_size);  // for the life of the thread
  if (stack.ss_sp && sigaltstack(&stack, nullptr) != 0) std::free(stack.ss_sp);
}
}  // namespace

NB_MODULE(_core, m) {
  m.doc() = "Tandem's native part.";
  if (load_numpy() < 0) throw nb::python_error();
  give_signals_a_stack();
  // Tensors that live until the interpreter ends are no leak worth a message.
  nb::set_leak_warnings(false);
  bind_ending(m);
  bind_errors(m);
  bind_dtypes(m);
  bind_tensor(m.ptr());
  bind_variable(m);
  bind_convert(m);
  bind_execute(m);
  bind_gradients(m);
  bind_symbolic_gradients(m);
  bind_functions(m);
  bind_fit(m);
  bind_data(m);
  bind_devices(m);
  bind_graph_scopes(m);
  bind_graph_session(m);
  bind_compiled(m);
  bind_compiled_call(m);
  bind_compiled_control_flow(m);
  bind_host_callback(m);
  bind_interchange(m);
  bind_mapped_import(m);
  bind_queue(m);
  bind_replicas(m);
  bind_checkpoint(m);
  bind_files(m);
  bind_saved_model(m);
  bind_summary(m);
  bind_profile(m);
  bind_site(m);
  m.def("register_boolean_mask", [](nb::handle f) { register_boolean_mask(f.ptr()); });
  m.attr("__version__") = TANDEM_VERSION;
}

}  // namespace tandem::python
