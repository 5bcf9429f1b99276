// Control flow in an Executable: steps of the host lane that run the plans of sub-graphs.
#include "device/runtime.h"
#include "run/executable_frame.h"

namespace tandem {

namespace {
int64_t read_index(DType dtype, const void* p) {
  if (dtype == DType::kBool) return *static_cast<const bool*>(p) ? 0 : 1;
  return read_ints(dtype, p, 1)[0];
}
}  // namespace

Tensor Executable::list(Frame& f, ValueRef v) const {
  const Place& p = place(v);
  return p.storage == Place::Storage::kConstant ? graph_.node(p.index).constant
                                                : handle(f, p);
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
  if (e.only_host_) {
    e.run_on_host(inner, 0, e.steps_.size());
    return;
  }
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
  for (const Result& r : results_) {
    if (r.made_by < 0) continue;
    const Segment& segment = segments_[idx(r.made_by)];
    if (plan_.lanes[idx(segment.lane)].kind == PlanLane::Kind::kCopyOut) {
      inner.done[idx(r.made_by)].host_wait();
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

}  // namespace tandem
