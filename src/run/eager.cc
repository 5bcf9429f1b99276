#include "run/eager.h"

#include <fmt/format.h>

#include "base/flags.h"
#include "base/log.h"
#include "base/recorder.h"
#include "device/runtime.h"
#include "op/host_function.h"
#include "run/async_call.h"
#include "run/call_inputs.h"
#include "run/call_plan.h"
#include "run/first_run.h"
#include "run/host_call.h"
#include "run/tape.h"
#include "tandem/device.h"
#include "tensor/live_memory.h"
#include "tensor/transfer.h"
#include "tensor/variable_arena.h"

namespace tandem {

namespace {

// Counted per thread and folded in when the thread ends.
std::atomic<int64_t> g_ops{0};
struct OpCounter {
  int64_t n = 0;
  ~OpCounter() { g_ops.fetch_add(n, std::memory_order_relaxed); }
};
thread_local OpCounter t_ops;

// The caller waits for a kernel's first run (run/first_run.h).
void settle_first_run(const CallPlan& plan, TimePoint done) {
  if (plan.device->platform() != kHostPlatform || !first_run::is_new(*plan.kernel))
    return;
  done.host_wait();
  first_run::settle({&plan.kernel, 1});
}

class Call {
 public:
  Call(const OpDef& op, AttrsRef attrs, std::span<const TensorArg> given)
      : op_(op), attrs_(attrs), given_(given), inputs_(given) {}

  // Calls sink(i, tensor) for each output.
  template <class Sink>
  void run(Sink&& sink) {
    read_inputs();
    CallInputs call{&op_, attrs_, inputs_.view(), resource_device_};
    plan_ = find_plan(call, false);
    ++t_ops.n;
    if (config::get_log_device_placement()) {
      logging::line(fmt::format("Executing op {} in device {}", op_.name,
                                plan_->device->full_name()));
    }
    move_inputs();
    if (variable_ && op_.inputs[0].replaces && adopt_value()) return;
    if (plan_->view_offset) {
      make_view(sink);
    } else if (op_.dynamic) {
      run_dynamic(sink);
    } else if (plan_->device->is_host()) {
      run_inline(call, sink);
    } else {
      enqueue(sink);
    }
  }

  const Ref<CallPlan>& plan() const { return plan_; }
  /// Lets go of the variable: who listens may read it.
  void finish() { lock_.release(); }

 private:
  void read_inputs() {
    check_input_count(op_, inputs_.size());
    for (size_t i = 0; i < inputs_.size(); ++i) {
      check_input(op_, inputs_[i], i);
      const TensorImpl* t = inputs_[i];
      if (!t) continue;
      const InputDef& def = op_.input_def(static_cast<int>(i));
      if (def.host) {
        if (!t->device->is_host() || t->buffer->ready()) {
          if (!t->device->is_host() && !t->host_value) {
            check_copy_allowed(op_, i, *t, Runtime::get().cpu());
          }
          inputs_.replace(i, host_input(given_[i].get()));
        }
      } else if (def.resource) {
        VariableImpl& v = variable_of(given_[i].get());
        VariableHold held(v);
        if (!v.value.defined()) {
          throw FailedPreconditionError(
              fmt::format("Attempting to use uninitialized value {}: it is a variable of "
                          "a graph. Use it in Session.run().",
                          v.name));
        }
        resource_device_ = v.device;
        lock_ = std::move(held);
        variable_ = &v;
      }
    }
  }

  // A tensor given twice crosses once.
  void copy_input(size_t i, Device& device) {
    for (size_t j = 0; j < i; ++j) {
      if (given_[j].impl() == given_[i].impl() && inputs_[j]->device == &device) {
        inputs_.share(i, j);
        return;
      }
    }
    check_copy_allowed(op_, i, *inputs_[i], device);
    inputs_.replace(i, copy_to_device(given_[i].get(), device));
  }

  void move_inputs() {
    Device& device = *plan_->device;
    for (size_t i = 0; i < inputs_.size(); ++i) {
      const InputDef& def = op_.input_def(static_cast<int>(i));
      if (!inputs_[i] || def.host || def.shape_only || def.resource) continue;
      const TensorImpl& t = *inputs_[i];
      if (t.device != &device && !(device.is_host() && t.device->is_host())) {
        copy_input(i, device);
      }
      if (device.is_host()) inputs_[i]->buffer->host_wait();
    }
  }

  // Assignment makes the value's memory the variable's where it can: no copy, and
  // dimensions that the variable left open may change. False: the kernel has to copy.
  bool adopt_value() {
    const TensorImpl& t = *inputs_[1];
    Device& device = *variable_->device;
    const bool same_shape = t.shape == variable_->value.shape();
    // A value that may still fail must not replace a good one; the kernel leaves the
    // variable as it is when the value turns out to be spoiled.
    if (same_shape && (!t.buffer->ready().passed() || t.buffer->poisoned())) return false;
    t.buffer->host_wait();
    // Foreign memory is never written, and a small part must not keep a large buffer
    // alive.
    const bool whole =
        !t.buffer->is_foreign() && t.buffer->bytes() <= 2 * t.bytes() + 4096;
    if (same_shape && !whole) return false;
    variable_->value =
        whole ? make_tensor(t.dtype, t.shape, device, t.buffer, t.byte_offset)
              : duplicate(t, device);
    note_variable(*variable_);
    return true;
  }

  // The variable's memory for a write that does not show through earlier reads.
  void* writable_variable() {
    Tensor& value = variable_->value;
    const TensorImpl* old = value.impl();
    Device& device = *variable_->device;
    const bool home = variable_->arena && VariableArena::at_home(*variable_);
    if (value.header().use_count() == 1 && old->buffer.use_count() == 1 &&
        (home || !old->buffer->is_foreign())) {
      if (device.is_host()) {
        old->buffer->host_wait();
      } else {
        old->buffer->await_uses(device.compute());
      }
      return old->address(leases_);
    }
    value = duplicate(*old, device);
    note_variable(*variable_);
    return value.impl()->address(leases_);
  }

  template <class Sink>
  void make_view(Sink& sink) {
    const TensorImpl& t = variable_ ? *variable_->value.impl() : *inputs_[0];
    // Who writes the variable from now on leaves what is handed out alone.
    if (variable_) t.buffer->stop_following();
    const CallPlan::Output& o = plan_->outputs[0];
    Tensor view = make_tensor(o.dtype, o.shape, *plan_->device, t.buffer,
                              t.byte_offset + *plan_->view_offset);
    if (o.host_value) {
      view.impl()->host_value = std::make_unique<PartialValue>(*o.host_value);
    }
    sink(0, std::move(view));
  }

  Tensor make_output(const CallPlan::Output& o) {
    Device& device = *plan_->device;
    Ref<Buffer> buffer =
        o.dtype == DType::kString
            ? Buffer::strings(device, static_cast<size_t>(o.shape.num_elements()))
            : allocate_for({"result of", op_.name.c_str(), o.dtype, &o.shape}, device,
                           o.bytes);
    return make_tensor(o.dtype, o.shape, device, std::move(buffer), 0);
  }

  Ref<Buffer> make_workspace() {
    return allocate_for({"workspace of", op_.name.c_str()}, *plan_->device,
                        plan_->prepared->workspace_bytes);
  }

  void fill_input_pointers(void** pointers) {
    for (size_t i = 0; i < inputs_.size(); ++i) {
      const InputDef& def = op_.input_def(static_cast<int>(i));
      if (!inputs_[i] || def.shape_only || def.host) {
        pointers[i] = nullptr;
      } else if (def.resource) {
        pointers[i] =
            def.writes ? writable_variable() : variable_->value.impl()->address(leases_);
        if (!def.writes && plan_->device->is_host()) {
          variable_->value.impl()->buffer->host_wait();
        }
      } else {
        pointers[i] = inputs_[i]->address(leases_);
      }
    }
  }

  template <class Sink>
  void run_inline(const CallInputs& call, Sink& sink) {
    constexpr size_t kInline = 8;
    void* few_in[kInline];
    void* few_out[kInline];
    std::vector<void*> many_in, many_out;
    void** in = few_in;
    void** out = few_out;
    if (inputs_.size() > kInline) in = (many_in.resize(inputs_.size()), many_in.data());
    if (plan_->outputs.size() > kInline) {
      out = (many_out.resize(plan_->outputs.size()), many_out.data());
    }
    Team* team = plan_->device->team();
    CurrentTeam current(team);
    std::optional<TeamToken> token;
    if (plan_->kernel->library_threads && team) {
      token.emplace(team);  // also for a team of one: a library would take all cores
      if (token->threads() < team->threads()) plan_ = find_plan(call, true);
    }
    fill_input_pointers(in);
    for (size_t i = 0; i < plan_->outputs.size(); ++i) {
      Tensor t = make_output(plan_->outputs[i]);
      out[i] = t.impl()->data();
      sink(i, std::move(t));
    }
    Ref<Buffer> workspace;
    LaunchArgs args{in, out, nullptr, nullptr};
    if (plan_->prepared->workspace_bytes) {
      workspace = make_workspace();
      args.workspace = workspace->host_address();
    }
    if (!recorder::enabled()) {
      plan_->kernel->launch(*plan_->prepared, args);
      return;
    }
    const int64_t begin = recorder::now_ns();
    plan_->kernel->launch(*plan_->prepared, args);
    recorder::record(recorder::Kind::kOp, op_.name.c_str(),
                     plan_->device->compute().lane().c_str(), begin, recorder::now_ns(),
                     0);
  }

  template <class Sink>
  void run_dynamic(Sink& sink) {
    Device& device = *plan_->device;
    std::vector<void*> in(inputs_.size());
    fill_input_pointers(in.data());
    Ref<Buffer> workspace;
    void* workspace_address = nullptr;
    if (plan_->prepared->workspace_bytes) {
      workspace = make_workspace();
      workspace_address = leases_.address(workspace);
    }
    auto body = [&](const StreamContext& context, DeviceOutputs& outputs) {
      std::vector<void*> translated = in;
      for (size_t i = 0; i < in.size(); ++i) {
        if (in[i]) {
          translated[i] = static_cast<std::byte*>(in[i]) + context.address_offset;
        }
      }
      LaunchArgs args{translated.data(), nullptr, nullptr, &context};
      if (workspace) {
        args.workspace =
            static_cast<std::byte*>(workspace_address) + context.address_offset;
      }
      CurrentTeam current(device.team());
      plan_->kernel->launch_dynamic(*plan_->prepared, args, outputs);
    };
    if (device.is_host()) {
      DeviceOutputs outputs(*plan_, 0);
      body(StreamContext{}, outputs);
      for (size_t i = 0; i < outputs.tensors().size(); ++i) {
        sink(i, std::move(outputs.tensors()[i]));
      }
      return;
    }
    // The sizes are data: the host has to wait for them.
    wait_for_inputs(device);
    std::exception_ptr error;
    std::vector<Tensor> results;
    const TimePoint done = device.compute().submit([&](const StreamContext& context) {
      try {
        for (const TensorImpl* t : inputs_.view()) {
          if (t && t->buffer) {
            if (auto e = t->buffer->error()) std::rethrow_exception(e);
          }
        }
        DeviceOutputs outputs(*plan_, context.address_offset);
        body(context, outputs);
        results = std::move(outputs.tensors());
      } catch (...) {
        error = std::current_exception();
      }
    });
    done.host_wait();
    if (error) std::rethrow_exception(error);
    for (size_t i = 0; i < results.size(); ++i) sink(i, std::move(results[i]));
  }

  void wait_for_inputs(Device& device) {
    Stream& stream = device.compute();
    for (size_t i = 0; i < inputs_.size(); ++i) {
      const InputDef& def = op_.input_def(static_cast<int>(i));
      if (!inputs_[i] || def.shape_only || def.host) continue;
      const TensorImpl& t = def.resource ? *variable_->value.impl() : *inputs_[i];
      const TimePoint ready = t.buffer->ready();
      if (ready && ready.stream != &stream) stream.wait(ready);
    }
  }

  template <class Sink>
  void enqueue(Sink& sink) {
    Device& device = *plan_->device;
    Stream& stream = device.compute();
    stream.make_room();
    auto call = std::make_unique<AsyncCall>();
    call->plan = plan_;
    call->team = device.team();
    if (recorder::enabled()) call->site = recorder::site();
    std::vector<void*> in(inputs_.size());
    fill_input_pointers(in.data());
    wait_for_inputs(device);
    for (size_t i = 0; i < inputs_.size(); ++i) {
      const InputDef& def = op_.input_def(static_cast<int>(i));
      if (!inputs_[i] || def.host || def.shape_only) {
        call->inputs.push_back(nullptr);
        continue;
      }
      const TensorImpl& t = def.resource ? *variable_->value.impl() : *inputs_[i];
      call->inputs.push_back(t.buffer);
    }
    std::vector<Tensor> outputs;
    for (const CallPlan::Output& o : plan_->outputs) {
      Tensor t = make_output(o);
      if (o.host_value) {
        t.impl()->host_value = std::make_unique<PartialValue>(*o.host_value);
      }
      call->outputs.push_back(t.impl()->buffer);
      call->out_pointers.push_back(t.impl()->address(leases_));
      outputs.push_back(std::move(t));
    }
    if (plan_->prepared->workspace_bytes) {
      call->workspace = make_workspace();
      call->workspace_pointer = leases_.address(call->workspace);
    }
    call->in_pointers = std::move(in);
    const std::vector<Ref<Buffer>> used = call->inputs;
    const Ref<Buffer> workspace = call->workspace;
    const TimePoint done =
        stream.submit([call = std::move(call)](const StreamContext& context) {
          call->translate(context.address_offset);
          call->run(context);
        });
    for (size_t i = 0; i < used.size(); ++i) {
      if (!used[i]) continue;
      if (op_.input_def(static_cast<int>(i)).writes) {
        used[i]->set_ready(done);
      } else {
        used[i]->add_use(done);
      }
    }
    if (workspace) workspace->add_use(done);
    for (size_t i = 0; i < outputs.size(); ++i) {
      outputs[i].impl()->buffer->set_ready(done);
      sink(i, std::move(outputs[i]));
    }
    settle_first_run(*plan_, done);
    static const bool sync = env_bool("TANDEM_SYNC", false);
    if (sync) {
      done.host_wait();
      if (auto e = stream.take_error()) std::rethrow_exception(e);
    }
  }

  const OpDef& op_;
  AttrsRef attrs_;
  std::span<const TensorArg> given_;
  Inputs inputs_;
  Device* resource_device_ = nullptr;
  VariableImpl* variable_ = nullptr;
  VariableHold lock_;
  Ref<CallPlan> plan_;
  LeaseSet leases_;
};

const bool g_installed = (set_eager_emitter(&eager_emitter()), true);

}  // namespace

EagerEmitter& eager_emitter() {
  static EagerEmitter emitter;
  return emitter;
}

int64_t eager_op_count() { return g_ops.load(std::memory_order_relaxed) + t_ops.n; }

Tensor EagerEmitter::emit_one(const OpDef& op, AttrsRef attrs,
                              std::span<const TensorArg> inputs) {
  if (op.dynamic && host_function(op)) {
    std::vector<Tensor> outputs = run_host_call(op, attrs, inputs);
    return outputs.empty() ? Tensor() : outputs[0];
  }
  Call call(op, attrs, inputs);
  Tensor result;
  call.run([&](size_t i, Tensor t) {
    if (i == 0) result = std::move(t);
  });
  call.finish();
  if (recording()) record_call(call.plan(), inputs, {&result, 1});
  return result;
}

void EagerEmitter::emit(const OpDef& op, AttrsRef attrs,
                        std::span<const TensorArg> inputs, std::vector<Tensor>& outputs) {
  if (op.dynamic && host_function(op)) {
    outputs = run_host_call(op, attrs, inputs);
    return;
  }
  Call call(op, attrs, inputs);
  std::vector<Tensor> results;
  call.run([&](size_t, Tensor t) { results.push_back(std::move(t)); });
  outputs = std::move(results);
  call.finish();
  if (recording()) record_call(call.plan(), inputs, outputs);
}

}  // namespace tandem
