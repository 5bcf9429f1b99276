// Control flow and lists in an Executable: steps of the host lane that run the plans of
// sub-graphs, or work on handles instead of memory.
#include <cstring>

#include <fmt/format.h>

#include "base/interrupt.h"
#include "device/runtime.h"
#include "plan/list_devices.h"
#include "run/eager.h"
#include "run/executable_frame.h"
#include "tandem/device.h"
#include "tensor/live_memory.h"
#include "tensor/tensor_list.h"
#include "tensor/transfer.h"

namespace tandem {

namespace {
int64_t read_index(DType dtype, const void* p) {
  if (dtype == DType::kBool) return *static_cast<const bool*>(p) ? 0 : 1;
  return read_ints(dtype, p, 1)[0];
}
}  // namespace

namespace {

// A value that becomes an element where it is: the plan's memory is used again.
Tensor take_element(Device& device, const ValueInfo& info, const void* from) {
  Tensor made =
      make_tensor_for("element of a list", nullptr, device, info.dtype, info.shape);
  LeaseSet leases;
  if (const size_t bytes = made.impl()->bytes()) {
    device.copy(device.compute(), made.impl()->address(leases), from, bytes).host_wait();
  }
  return made;
}

// An element that becomes a value of the plan; copied across only where the plan was
// wrong about its device.
void give_element(const Tensor& element, Device& device, void* to) {
  const Tensor here = copy_to_device(element, device);
  const TensorImpl& t = *here.impl();
  device.compute().wait(t.buffer->ready());
  LeaseSet leases;
  if (const size_t bytes = t.bytes()) {
    device.copy(device.compute(), to, t.address(leases), bytes).host_wait();
  }
  if (auto e = t.buffer->error()) std::rethrow_exception(e);
}

// Where an op on lists does its work: with the elements, if they are on a device.
Device& device_of_elements(const std::vector<Tensor>& inputs) {
  for (const Tensor& t : inputs) {
    if (!t.defined() || t.dtype() != DType::kVariant) continue;
    if (Device* d = list_of(t).element_device()) return *d;
  }
  return Runtime::get().cpu();
}

}  // namespace

Tensor& Executable::handle(Frame& f, const Place& p) {
  return p.storage == Place::Storage::kParameter ? f.parameter_handles[idx(p.index)]
                                                 : f.handles[idx(p.index)];
}

Tensor Executable::list(Frame& f, ValueRef v) const {
  const Place& p = place(v);
  return p.storage == Place::Storage::kConstant ? graph_.node(p.index).constant
                                                : handle(f, p);
}

const Place& Executable::place(ValueRef v) const {
  return plan_.places[idx(v.node)][idx(v.output)];
}

// List ops go through the eager dispatcher: they exchange references, not bytes.
void Executable::run_list_op(Frame& f, const Step& step) {
  const Node& n = graph_.node(step.node);
  std::vector<Tensor> inputs;
  for (size_t i = 0; i < n.inputs.size(); ++i) {
    const ValueRef v = n.inputs[i];
    if (!v.defined()) {
      inputs.emplace_back();
      continue;
    }
    const ValueInfo& info = graph_.info(v);
    if (info.dtype == DType::kVariant) {
      const Place& p = place(v);
      if (p.storage == Place::Storage::kConstant) {
        inputs.push_back(graph_.node(p.index).constant);
      } else if (last_use_[step.in + i]) {
        // Nobody else wants it: the op may change it in place.
        inputs.push_back(std::move(handle(f, p)));
      } else {
        inputs.push_back(handle(f, p));
      }
    } else if (graph_.node(v.node).kind == Node::Kind::kConstant) {
      inputs.push_back(graph_.node(v.node).constant);
    } else if (Device* d = device_of(v); d && !d->is_host()) {
      inputs.push_back(take_element(*d, info, f.table[step.in + i]));
    } else {
      inputs.push_back(make_host_copy(Runtime::get().cpu(), info.dtype, info.shape,
                                      f.table[step.in + i]));
    }
  }
  // What a branch that did not run would have made is absent, and so is what depends on
  // it (graph.h).
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i].defined() || !n.inputs[i].defined()) continue;
    if (n.op->input_def(static_cast<int>(i)).optional) continue;
    for (size_t o = 0; o < n.outputs.size(); ++o) {
      const Place& p = place({step.node, static_cast<int32_t>(o)});
      if (p.storage == Place::Storage::kHandle) f.handles[idx(p.index)] = Tensor();
    }
    return;
  }
  std::vector<Tensor> outputs;
  {
    const std::vector<TensorArg> args(inputs.begin(), inputs.end());
    const DeviceScope scope(is_list_op(*n.op) ? device_of_elements(inputs).full_name()
                                              : "/CPU:0");
    eager_emitter().emit(*n.op, n.attrs.ref(), args, outputs);
  }
  for (size_t o = 0; o < outputs.size(); ++o) {
    const ValueRef v{step.node, static_cast<int32_t>(o)};
    if (outputs[o].dtype() == DType::kVariant) {
      handle(f, place(v)) = std::move(outputs[o]);
      continue;
    }
    if (!(outputs[o].shape() == n.outputs[o].shape)) {
      throw InvalidArgumentError(fmt::format(
          "{}: an element of the list has shape {}, not {} as the function was traced "
          "with. Give the list a fixed element shape.",
          n.op->name, outputs[o].shape().str(), n.outputs[o].shape.str()));
    }
    if (Device* d = device_of(v); d && !d->is_host()) {
      give_element(outputs[o], *d, f.table[step.out + o]);
      continue;
    }
    const Tensor host = outputs[o].to_host();
    if (const size_t bytes = host.impl()->bytes()) {
      std::memcpy(f.table[step.out + o], host.host_data(), bytes);
    }
  }
}

SmallVec<void*, 16> Executable::variables_of(const Frame& f, size_t child) const {
  SmallVec<void*, 16> variables;
  for (size_t i : child_variables_[child]) variables.push_back(f.variables[i]);
  return variables;
}

void Executable::run_child(Frame& f, size_t child, std::span<void* const> parameters,
                           std::span<void* const> results) {
  Executable& e = *children_[child];
  Frame& inner = *f.children[child];
  const SmallVec<void*, 16> variables = variables_of(f, child);
  if (e.has_async_) {
    for (size_t i = 0; i < variables.size(); ++i) {
      if (variables[i] != inner.variables[i]) e.forget_captured(inner);
    }
  }
  e.bind(inner, {parameters, results, variables});
  inner.single = f.single;
  Device* const device = e.stream_device_;
  inner.entry = device ? device->compute().now() : TimePoint{};
  e.issue(inner);
  if (device) {
    // A native device has refused by now what it refuses.
    if (inner.failed.load(std::memory_order_acquire)) {
      if (auto error = inner.take_error()) std::rethrow_exception(error);
    }
    e.follow(inner, *device);
  } else if (e.has_async_) {
    e.wait_for_lanes(inner);
    if (auto error = inner.take_error()) std::rethrow_exception(error);
  }
}

// A sub-graph was given out to a device's streams: its work becomes part of the compute
// stream's order, and the host waits for those results alone that it is given.
void Executable::follow(Frame& inner, Device& device) {
  Stream& compute = device.compute();
  for (const TimePoint& end : inner.lane_end) {
    if (end && end.stream != &compute) compute.wait(end);
  }
  for (int32_t made_by : step_of_result_) {
    if (made_by < 0) continue;
    const Segment& segment = segments_[idx(made_by)];
    if (plan_.lanes[idx(segment.lane)].kind == PlanLane::Kind::kCopyOut) {
      inner.done[idx(made_by)].host_wait();
    }
  }
}

// The plan takes control flow for work of the host, over when the step is. What other
// lanes do afterwards must come after what is still under way.
void Executable::end_control(Frame& f, const Step& step) {
  if (!step.stream_device) return;
  const TimePoint end = step.stream_device->compute().now();
  f.lane_end.back() = end;
  for (Device* d : spaces_) {
    if (d->is_host()) continue;
    for (Stream* s : {&d->compute(), &d->copy_in(), &d->copy_out()}) {
      if (s != end.stream) s->wait(end);
    }
  }
}

void Executable::run_branch(Frame& f, const Step& step) {
  const Node& n = graph_.node(step.node);
  const bool call = n.kind == Node::Kind::kCall;
  const size_t first = call ? 0 : 1;
  size_t branch = 0;
  if (!call) {
    const auto last = static_cast<int64_t>(n.subgraphs.size()) - 1;
    const int64_t asked = read_index(graph_.info(n.inputs[0]).dtype, f.table[step.in]);
    branch = static_cast<size_t>(asked < 0 || asked > last ? last : asked);
  }
  const size_t child = idx(step.child) + branch;
  Executable& e = *children_[child];
  Frame& inner = *f.children[child];
  for (size_t i = first; i < n.inputs.size(); ++i) {
    if (graph_.info(n.inputs[i]).dtype == DType::kVariant) {
      inner.parameter_handles[i - first] = list(f, n.inputs[i]);
    }
  }
  run_child(f, child, {f.table.data() + step.in + first, n.inputs.size() - first},
            {f.table.data() + step.out, n.outputs.size()});
  for (size_t o = 0; o < n.outputs.size(); ++o) {
    if (n.outputs[o].dtype != DType::kVariant) continue;
    const ValueRef v = e.graph_.results()[o];
    if (v.defined()) {
      handle(f, place({step.node, static_cast<int32_t>(o)})) = e.list(inner, v);
    }
  }
  for (Tensor& t : inner.parameter_handles) t = Tensor();
  end_control(f, step);
}

void Executable::run_loop(Frame& f, const Step& step) {
  const Node& n = graph_.node(step.node);
  const size_t condition = idx(step.child), body = condition + 1;
  Executable& e = *children_[body];
  Frame& inner = *f.children[body];
  Frame& test = *f.children[condition];
  const size_t carried = idx(n.carried);
  auto& state = f.loops[body];
  if (!state) {
    state = std::make_unique<Frame::LoopState>();
    state->fresh.resize(carried);
    for (int side = 0; side < 2; ++side) {
      for (size_t i = 0; i < carried; ++i) {
        const ValueInfo& info = n.outputs[i];
        const bool memory = !info.state && info.dtype != DType::kVariant;
        Device* d = memory ? device_of({step.node, static_cast<int32_t>(i)}) : nullptr;
        state->buffers[side].push_back(
            memory
                ? allocate_for({"loop state of", name_, info.dtype, &info.shape}, *d,
                               static_cast<size_t>(checked_bytes(info.dtype, info.shape)))
                : nullptr);
        state->addresses[side].push_back(
            memory ? f.leases.address(state->buffers[side].back()) : nullptr);
      }
    }
  }
  SmallVec<void*, 16> now;
  std::vector<std::pair<size_t, Tensor>> invariants;  // lists that every turn reads
  for (size_t i = 0; i < n.inputs.size(); ++i) {
    now.push_back(f.table[step.in + i]);
    if (graph_.info(n.inputs[i]).dtype != DType::kVariant) continue;
    const Place& p = place(n.inputs[i]);
    Tensor from = p.storage == Place::Storage::kConstant ? graph_.node(p.index).constant
                  : last_use_[step.in + i]               ? std::move(handle(f, p))
                                                         : handle(f, p);
    if (i >= carried) {
      invariants.emplace_back(i, std::move(from));
    } else {
      inner.parameter_handles[i] = std::move(from);
    }
  }
  std::vector<Tensor>& fresh = state->fresh;
  bool go_on = false;
  void* answer = &go_on;
  for (int64_t turn = 0; n.max_iterations < 0 || turn < n.max_iterations; ++turn) {
    poll_interrupt();
    // A turn may use its lists up.
    for (const auto& [i, list] : invariants) inner.parameter_handles[i] = list;
    for (size_t i = 0; i < now.size(); ++i) {
      if (graph_.info(n.inputs[i]).dtype == DType::kVariant) {
        test.parameter_handles[i] = inner.parameter_handles[i];
      }
    }
    run_child(f, condition, {now.data(), now.size()}, {&answer, 1});
    for (Tensor& t : test.parameter_handles) t = Tensor();
    if (!go_on) break;
    const auto& next = state->addresses[turn % 2];
    run_child(f, body, {now.data(), now.size()}, next);
    // Lists that the body passes on unchanged are still its parameters, and may change
    // places or be carried twice: all are taken before any is given.
    for (size_t i = 0; i < carried; ++i) {
      if (n.outputs[i].dtype == DType::kVariant) {
        fresh[i] = e.list(inner, e.graph_.results()[i]);
      } else if (next[i]) {
        now[i] = next[i];
      }
    }
    for (Tensor& t : inner.handles) t = Tensor();
    for (size_t i = 0; i < carried; ++i) {
      if (n.outputs[i].dtype == DType::kVariant) {
        inner.parameter_handles[i] = std::move(fresh[i]);
      }
    }
  }
  for (size_t i = 0; i < carried; ++i) {
    const ValueRef out{step.node, static_cast<int32_t>(i)};
    if (n.outputs[i].state) continue;
    if (n.outputs[i].dtype == DType::kVariant) {
      handle(f, place(out)) = std::move(inner.parameter_handles[i]);
      continue;
    }
    void* to = f.table[step.out + i];
    const auto bytes = static_cast<size_t>(place(out).bytes);
    if (!to || !bytes || to == now[i]) continue;
    Device& d = *device_of(out);
    if (d.is_host()) {
      std::memcpy(to, now[i], bytes);
    } else {
      const TimePoint done = d.copy(d.compute(), to, now[i], bytes);
      if (&d != step.stream_device) done.host_wait();
    }
  }
  for (Tensor& t : inner.parameter_handles) t = Tensor();
  end_control(f, step);
}

}  // namespace tandem
