#include "run/host_call.h"

#include <new>
#include <stdexcept>

#include <fmt/format.h>

#include "base/log.h"
#include "base/recorder.h"
#include "device/runtime.h"
#include "op/host_function.h"
#include "run/call_inputs.h"
#include "run/tape.h"
#include "tandem/device.h"

namespace tandem {

namespace {

TensorInfo describe_host(const Tensor& t, const InputDef& def) {
  TensorInfo info;
  if (!t.defined()) return info;
  info.dtype = t.dtype();
  info.shape = t.shape();
  if (def.host && is_integer(info.dtype) && info.shape.rank() <= 1 &&
      t.num_elements() <= kMaxHostValues) {
    info.value = host_ints(t, def.name);
    info.has_value = true;
  }
  return info;
}

}  // namespace

std::vector<Tensor> run_host_call(const OpDef& op, AttrsRef attrs,
                                  std::span<const TensorArg> inputs) {
  Runtime::get().initialize();
  check_input_count(op, inputs.size());
  std::vector<Tensor> given;
  std::vector<TensorInfo> infos;
  for (size_t i = 0; i < inputs.size(); ++i) {
    check_input(op, inputs[i].impl(), i);
    given.push_back(inputs[i].get());
    infos.push_back(describe_host(given.back(), op.input_def(static_cast<int>(i))));
  }
  InferContext context(op, attrs, infos);
  infer_call(context);
  if (config::get_log_device_placement()) {
    logging::line(fmt::format("Executing op {} in device {}", op.name,
                              Runtime::get().cpu().full_name()));
  }
  std::vector<Tensor> outputs;
  {
    const EmitterScope eager(nullptr);
    const PauseRecording pause;
    const int64_t begin = recorder::enabled() ? recorder::now_ns() : 0;
    try {
      outputs = host_function(op)(attrs, given);
    } catch (const std::bad_alloc&) {
      throw_no_host_memory(op);
    } catch (const std::length_error&) {
      throw_no_host_memory(op);
    }
    if (recorder::enabled()) {
      recorder::record(recorder::Kind::kOp, op.name.c_str(),
                       Runtime::get().cpu().compute().lane().c_str(), begin,
                       recorder::now_ns(), 0);
    }
  }
  if (recording()) record_op(op, attrs, inputs, outputs);
  return outputs;
}

}  // namespace tandem
