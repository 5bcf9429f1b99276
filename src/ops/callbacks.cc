#include "ops/callbacks.h"

#include <atomic>

#include <fmt/format.h>

#include "op/host_function.h"
#include "op/op_def.h"
#include "op/output_count.h"
#include "tandem/error.h"

namespace tandem {

namespace {

std::atomic<HostCallback> g_callback{nullptr};

void infer_py_func(InferContext& c) {
  const Ints& dtypes = c.attrs<PyFuncAttrs>().output_dtypes;
  check_output_count(c, static_cast<int64_t>(dtypes.size()));
  for (int64_t dtype : dtypes) {
    if (dtype <= 0 || dtype >= kDTypeCount ||
        static_cast<DType>(dtype) == DType::kResource) {
      c.fail(fmt::format("an output has the number {}, which no dtype of a tensor has",
                         dtype));
    }
    c.add_output(static_cast<DType>(dtype), Shape::unknown());
  }
}

std::vector<Tensor> run_py_func(AttrsRef attrs, std::span<const Tensor> inputs) {
  if (attrs.as<PyFuncAttrs>().token == kNoFunction) {
    throw FailedPreconditionError(
        "PyFunc: the callback is not found. Files hold no Python functions: a function "
        "that calls one (tf.py_function, tf.numpy_function) can be loaded, not called.");
  }
  const HostCallback callback = g_callback.load();
  if (!callback) {
    throw FailedPreconditionError(
        "PyFunc: no Python is there to call. Run the graph from the Python package.");
  }
  const auto& a = attrs.as<PyFuncAttrs>();
  std::vector<Tensor> outputs = callback(a.token, inputs);
  if (outputs.size() != a.output_dtypes.size()) {
    throw InvalidArgumentError(
        fmt::format("PyFunc: the function gave {} values where {} are stated",
                    outputs.size(), a.output_dtypes.size()));
  }
  for (size_t i = 0; i < outputs.size(); ++i) {
    const auto stated = static_cast<DType>(a.output_dtypes[i]);
    if (outputs[i].defined() && outputs[i].dtype() == stated) continue;
    throw InvalidArgumentError(fmt::format(
        "PyFunc: {}-th value returned by the function is {}, but expects {}", i,
        outputs[i].defined() ? dtype_name(outputs[i].dtype()) : "<undefined>",
        dtype_name(stated)));
  }
  return outputs;
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
