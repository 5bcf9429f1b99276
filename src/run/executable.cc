#include "run/executable.h"

#include <atomic>
#include <cstring>
#include <optional>

#include "base/denormals.h"
#include "base/interrupt.h"
#include "base/recorder.h"
#include "device/runtime.h"
#include "graph/source_of.h"
#include "run/executable_frame.h"
#include "run/node_error.h"
#include "tandem/device.h"
#include "tensor/live_memory.h"
#include "tensor/variable_impl.h"
#include "tensor/variable_wait.h"

namespace tandem {

namespace {
bool only_host_devices() {
  static const bool only = [] {
    for (Device* d : Runtime::get().devices()) {
      if (!d->is_host()) return false;
    }
    return true;
  }();
  return only;
}
}  // namespace

std::vector<Tensor> Executable::run(std::span<const Tensor> arguments) {
  std::vector<Tensor> results(graph_.results().size());
  run(arguments, results);
  return results;
}

void Executable::run(std::span<const Tensor> arguments, std::span<Tensor> places) {
  Frame& f = acquire();
  struct Release {
    Executable& e;
    Frame& f;
    ~Release() {
      for (Tensor& t : f.given) t = Tensor();
      e.release(f);
    }
  } release{*this, f};

  // One that failed may have left an error that only it explains.
  if (has_async_ && f.failed.load(std::memory_order_acquire)) {
    wait_for_lanes(f);
    f.take_error();
  }
  LeaseSet leases;
  SmallVec<void*, 16> parameters;
  for (size_t i = 0; i < arguments.size(); ++i) {
    const TensorImpl* t = arguments[i].impl();
    if (!t || !t->buffer || t->dtype == DType::kVariant) {
      parameters.push_back(nullptr);
      f.parameter_handles[i] = arguments[i];
      continue;
    }
    // Sub-graphs are given addresses, not tensors that can be waited for.
    if (t->device->is_host() || (host_control_ && t->device != stream_device_)) {
      t->buffer->host_wait();
    } else if (host_control_) {
      if (auto e = t->buffer->error()) std::rethrow_exception(e);
      stream_device_->compute().wait(t->buffer->ready());
    }
    parameters.push_back(t->address(leases));
  }
  if (has_async_) f.arguments.assign(arguments.begin(), arguments.end());
  if (!bound_parameters_.empty()) {
    align_arguments(f, {parameters.data(), parameters.size()}, leases);
  }

  std::optional<VariableHold> hold;
  const auto mode =
      writes_ ? VariableHold::Mode::kExclusive : VariableHold::Mode::kShared;
  if (!variables_.empty()) {
    hold.emplace(*variables_[0].impl()->variable, mode);
    bind_variables(f, hold->lock());
  }
  const CallHold call(hold ? hold->lock() : nullptr, mode);

  std::vector<Tensor>& results = f.given;
  SmallVec<void*, 16> result_addresses;
  for (size_t k = 0; k < results.size(); ++k) {
    const ValueRef v = graph_.results()[k];
    result_addresses.push_back(nullptr);
    if (!v.defined()) continue;
    const ValueInfo& info = graph_.info(v);
    const Place& p = plan_.places[idx(v.node)][idx(v.output)];
    if (p.storage == Place::Storage::kParameter) {
      results[k] = arguments[idx(p.index)];
    } else if (p.storage == Place::Storage::kConstant) {
      results[k] = constants_[idx(p.index)][0];
    } else if (p.storage == Place::Storage::kResult) {
      Device& device = *spaces_[idx(p.space)];
      Tensor& last = f.result_tensors[k];
      const bool reuse = last.defined() && only_host_devices() &&
                         last.header().use_count() == 1 &&
                         last.impl()->buffer.use_count() == 1;
      results[k] =
          reuse ? make_tensor(info.dtype, info.shape, device, last.impl()->buffer, 0)
                : make_tensor_for("result of", name_, device, info.dtype, info.shape);
      last = results[k];
      result_addresses[k] = results[k].impl()->address(leases);
    }
  }
  bind(f, {parameters, result_addresses, {}});

  Device& cpu = Runtime::get().cpu();
  const CurrentTeam current(cpu.team());
  const TeamToken token(cpu.team());
  f.single = cpu.team() && token.threads() < cpu.team()->threads();
  const FlushDenormals flush;
  try {
    issue(f);
  } catch (...) {
    if (has_async_) {
      wait_for_lanes(f);
      // The caller sees it now: the stream it came from need not report it as well.
      const std::exception_ptr seen = std::current_exception();
      for (Device* d : Runtime::get().devices()) d->forget_error(seen);
    }
    f.take_error();
    f.result_tensors.assign(f.result_tensors.size(), Tensor());
    throw;
  }
  if (has_async_) finish_async(f);
  if (f.fresh && !side_ends_.empty()) Runtime::get().join_threads_before_statics();
  f.fresh = false;
  for (size_t k = 0; k < results.size(); ++k) {
    const ValueRef v = graph_.results()[k];
    if (!v.defined() || results[k].defined()) continue;
    const Place& p = plan_.places[idx(v.node)][idx(v.output)];
    if (p.storage == Place::Storage::kHandle) {
      results[k] = f.handles[idx(p.index)];
    }
  }
  for (Tensor& list : f.handles) list = Tensor();
  for (Tensor& list : f.parameter_handles) list = Tensor();
  std::move(results.begin(), results.end(), places.begin());
}

// When lanes have work left: who waits for what, and where an error goes.
void Executable::finish_async(Frame& f) {
  const std::vector<Tensor>& results = f.given;
  for (size_t i = 0; i < variables_.size(); ++i) {
    VariableImpl& v = *variables_[i].impl()->variable;
    if (v.device->is_host()) continue;
    const TimePoint end = v.device->compute().now();
    if (written_[i]) {
      v.value.impl()->buffer->set_ready(end);
    } else {
      v.value.impl()->buffer->add_use(end);
    }
  }
  for (size_t k = 0; k < results.size(); ++k) {
    const ValueRef v = graph_.results()[k];
    if (!v.defined() || !results[k].defined()) continue;
    const Place& p = plan_.places[idx(v.node)][idx(v.output)];
    if (p.storage != Place::Storage::kResult) continue;
    const int32_t step = step_of_result_[k];
    const TimePoint done = step >= 0 ? f.done[idx(step)] : TimePoint{};
    if (!done) continue;
    // In the order of the lane that makes it: an error of the call spoils it.
    const TimePoint after = done.stream->submit(
        [&f, buffer = results[k].impl()->buffer](const StreamContext&) {
          if (!f.failed.load(std::memory_order_acquire)) return;
          const std::lock_guard lock(f.error_mutex);
          if (f.error) buffer->poison(f.error);
        });
    results[k].impl()->buffer->set_ready(after);
    for (size_t l = 0; l < f.lane_end.size(); ++l) {
      if (f.lane_end[l].stream == after.stream) f.lane_end[l] = after;
    }
  }
  for (const Tensor& t : f.arguments) {
    if (!t.impl() || !t.impl()->buffer) continue;
    for (const TimePoint& end : f.lane_end) {
      if (end && !end.passed()) t.impl()->buffer->add_use(end);
    }
  }
  f.arguments.clear();
  if (f.fresh) {
    // Libraries make static objects when a kernel first runs (see eager.cc).
    wait_for_lanes(f);
    Runtime::get().join_threads_before_statics();
  }
}

// Copies of the call before may still be reading or writing the host's part of the frame.
// A native device has taken what it reads when it takes the copy.
void Executable::wait_for_copies(Frame& f) {
  if (f.previous_end.empty()) return;
  for (size_t l = 0; l < plan_.lanes.size(); ++l) {
    const PlanLane::Kind kind = plan_.lanes[l].kind;
    const bool reads =
        kind == PlanLane::Kind::kCopyIn && lanes_[l]->platform() == kHostPlatform;
    if (reads || kind == PlanLane::Kind::kCopyOut) f.previous_end[l].host_wait();
  }
}

// What a run of steps on the host comes after. Control flow over a device's streams only
// needs what the host itself looks at; the rest is in the order of the streams.
void Executable::wait_for_inputs(Frame& f, const Segment& segment) {
  Device* const device = steps_[segment.begin].stream_device;
  if (!device) {
    for (size_t w : segment.waits) f.done[w].host_wait();
    return;
  }
  for (size_t l = 0; l < plan_.lanes.size(); ++l) {
    if (plan_.lanes[l].kind == PlanLane::Kind::kCopyOut) f.lane_end[l].host_wait();
  }
  for (size_t w : segment.waits) device->compute().wait(f.done[w]);
}

void Executable::run_on_host(Frame& f, const Segment& segment) {
  size_t k = segment.begin;
  try {
    for (; k < segment.end; ++k) {
      const Step& step = steps_[k];
      if (f.polls && k < first_write_) poll_interrupt();
      switch (step.kind) {
        case Step::Kind::kKernel:
          if (!step.simple || recorder::enabled()) {
            run_kernel(f, step);
          } else if (step.scalar != ScalarOp::kNone) {
            run_scalar(step.scalar, f.table[step.in], f.table[step.in + 1],
                       f.table[step.out]);
          } else {
            step.kernel->launch(*step.prepared, f.args[k]);
          }
          break;
        case Step::Kind::kCopy:
          if (const size_t bytes = copy_bytes(step)) {
            std::memcpy(f.table[step.out], f.table[step.in], bytes);
          }
          break;
        case Step::Kind::kList:
          run_list_op(f, step);
          break;
        case Step::Kind::kBranch:
          run_branch(f, step);
          break;
        case Step::Kind::kLoop:
          run_loop(f, step);
          break;
      }
    }
  } catch (...) {
    rethrow_at(graph_.node(steps_[k].node));
  }
}

void Executable::issue(Frame& f) {
  if (has_async_) f.previous_end = f.lane_end;
  struct Join {
    Executable& e;
    Frame& f;
    ~Join() { e.join_sides(f); }
  };
  const bool sides = !side_ends_.empty();
  std::optional<Join>
      join;  // whatever happens, nobody else works on the frame afterwards
  if (sides) {
    join.emplace(*this, f);
    // A call that failed elsewhere at the same time has not looked.
    if (!has_async_ && f.failed.load(std::memory_order_acquire)) f.take_error();
  }
  for (size_t s = 0; s < segments_.size(); ++s) {
    const Segment& segment = segments_[s];
    if (segment.host) {
      wait_for_inputs(f, segment);
      if (has_async_ && segment.first) wait_for_copies(f);
      if ((has_async_ || sides) && f.failed.load(std::memory_order_acquire)) {
        if (auto e = f.take_error()) std::rethrow_exception(e);
      }
      run_on_host(f, segment);
    } else if (segment.side) {
      launch_side(f, s);
    } else if (segment.copy) {
      run_copy(f, s);
    } else {
      launch_segment(f, s);
    }
  }
  if (sides) {
    join.reset();
    if (auto e = f.take_error()) std::rethrow_exception(e);
  }
}

bool Executable::replay_kernels(int64_t times) {
  for (const Step& s : steps_) {
    if (s.kind != Step::Kind::kKernel || s.other_cpu) return false;
  }
  if (has_async_ || !side_ends_.empty()) return false;
  Frame& f = acquire();
  Device& cpu = Runtime::get().cpu();
  const CurrentTeam current(cpu.team());
  const TeamToken token(cpu.team());
  const bool whole = !cpu.team() || token.threads() >= cpu.team()->threads();
  for (int64_t i = 0; whole && !f.fresh && i < times; ++i) {
    for (size_t k = 0; k < steps_.size(); ++k) {
      launch_timed(steps_[k], *steps_[k].prepared, f.args[k]);
    }
  }
  const bool ran = whole && !f.fresh;
  release(f);
  return ran;
}

size_t Executable::copy_bytes(const Step& step) const {
  return static_cast<size_t>(plan_.places[idx(step.node)][0].bytes);
}

void Executable::run_kernel(Frame& f, const Step& step) {
  const auto k = idx(step.index);
  const Prepared* prepared = step.prepared.get();
  const LaunchArgs* args = &f.args[k];
  LaunchArgs other;
  Ref<Buffer> workspace;
  std::optional<CurrentTeam> team;
  std::optional<TeamToken> token;
  if (step.other_cpu) {
    team.emplace(step.device->team());
    token.emplace(step.device->team());
  }
  if (f.single && step.kernel->library_threads && step.threads > 1) {
    prepared = &for_one_thread(k);
    if (prepared->workspace_bytes > step.prepared->workspace_bytes) {
      workspace = Buffer::allocate(*step.device, prepared->workspace_bytes);
      other = *args;
      other.workspace = workspace->host_address();
      args = &other;
    }
  }
  launch_timed(step, *prepared, *args);
}

void Executable::launch_timed(const Step& step, const Prepared& prepared,
                              const LaunchArgs& args, const char* lane) const {
  if (!recorder::enabled()) {
    step.kernel->launch(prepared, args);
    return;
  }
  const char* site = site_of(step);
  const int64_t begin = recorder::now_ns();
  step.kernel->launch(prepared, args);
  recorder::record(recorder::Kind::kOp, step.name,
                   lane ? lane : step.device->compute().lane().c_str(), begin,
                   recorder::now_ns(), 0, site);
}

// Looked up when a step is first recorded: debug information is slow to read.
const char* Executable::site_of(const Step& step) const {
  const std::atomic_ref<const char*> site(step.site);
  if (const char* known = site.load(std::memory_order_relaxed)) {
    return *known ? known : nullptr;
  }
  const SourceLocation* at = source_of(graph_.node(step.node));
  const char* text = at ? recorder::intern(site_text(*at)) : "";
  site.store(text, std::memory_order_relaxed);
  return *text ? text : nullptr;
}

Device* Executable::device_of(ValueRef v) const {
  const Place& p = plan_.places[idx(v.node)][idx(v.output)];
  if (p.storage == Place::Storage::kVariable) {
    return variable_of(variables_[idx(p.index)]).device;
  }
  return p.space >= 0 ? spaces_[idx(p.space)] : nullptr;
}

}  // namespace tandem
