#include "ops/callbacks.h"

#include <atomic>

#include "op/host_function.h"
#include "op/op_def.h"
#include "tandem/error.h"

namespace tandem {

namespace {

std::atomic<HostCallback> g_callback{nullptr};

void infer_py_func(InferContext& c) {
  for (int64_t dtype : c.attrs<PyFuncAttrs>().output_dtypes) {
    c.add_output(static_cast<DType>(dtype), Shape::unknown());
  }
}

std::vector<Tensor> run_py_func(AttrsRef attrs, std::span<const Tensor> inputs) {
  const HostCallback callback = g_callback.load();
  if (!callback) {
    throw FailedPreconditionError(
        "PyFunc: no Python is there to call. Run the graph from the Python package.");
  }
  return callback(attrs.as<PyFuncAttrs>().token, inputs);
}

}  // namespace

void set_host_callback(HostCallback callback) { g_callback = callback; }

void register_callback_ops(OpTable& table) {
  const InputDef any{.name = "values", .type = '*', .variadic = true};
  table.add({.name = "PyFunc",
             .doc = "Calls a Python function on the host.",
             .types = {},
             .inputs = {any},
             .outputs = {"outputs*"},
             .attrs = &attrs_type<PyFuncAttrs>(),
             .infer = infer_py_func,
             .differentiable = false,
             .dynamic = true,
             .effects = kOrdered | kMayFail});
  add_host_function("PyFunc", run_py_func);
}

}  // namespace tandem
