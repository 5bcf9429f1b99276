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
#include "run/first_run.h"
#include "run/node_error.h"
#include "tandem/device.h"
#include "tensor/live_memory.h"
#include "tensor/renew_id.h"
#include "tensor/variable_impl.h"
#include "tensor/variable_wait.h"

namespace tandem {

std::vector<Tensor> Executable::run(std::span<const Tensor> arguments) {
  std::vector<Tensor> results(results_.size());
  run(arguments, results);
  return results;
}

// What a call of kernels of the host does is all here, in one piece and in order; the
// rest is in functions of its own, which such a call does not come by.
void Executable::run(std::span<const Tensor> arguments, std::span<Tensor> places) {
  if (has_async_) make_room();
  Frame& f = acquire();
  struct Release {
    Executable& e;
    Frame& f;
    ~Release() { e.release(f); }
  } release{*this, f};

  if (!f.attached) [[unlikely]]
    attach(f);
  if (has_async_) forget_error(f);
  std::optional<LeaseSet> leases;  // of devices' memory
  for (size_t i = 0; i < arguments.size(); ++i) {
    const TensorImpl* t = arguments[i].impl();
    if (host_alone_ && t && t->buffer && t->dtype != DType::kVariant) [[likely]] {
      if (t->buffer->ready() || t->buffer->poisoned()) t->buffer->host_wait();
      f.wanted[i] = t->data();
    } else {
      f.wanted[i] = argument_address(f, i, arguments[i], leases);
    }
  }
  if (has_async_) keep_arguments(f, arguments, leases);

  std::optional<VariableHold> hold;
  const auto mode =
      writes_ ? VariableHold::Mode::kExclusive : VariableHold::Mode::kShared;
  const VariableLock* lock = nullptr;
  if (variable_) {
    hold.emplace(*variable_, mode);
    lock = hold->lock();
    // Looking at every variable costs more than a small step. Nothing has changed when
    // nobody else has taken their lock since the last time: values are replaced and
    // handed out only by who holds it.
    const uint64_t holds = lock ? lock->holds.load(std::memory_order_relaxed) : 0;
    if (lock && lock == f.bound_lock && holds == f.bound_holds + 1 &&
        (!has_async_ || f.followed)) {
      f.bound_holds = holds;
    } else {
      bind_variables(f, lock);
    }
  }
  const CallHold call(lock, mode);

  void** const result_addresses = f.wanted.data() + arguments.size();
  for (size_t k = 0; k < results_.size(); ++k) {
    if (results_[k].storage != Place::Storage::kResult) continue;
    const Tensor& last = f.result_tensors[k];
    const TensorImpl* t = last.impl();
    // A result that its user has let go, memory and all, is made anew where it was.
    if (host_alone_ && t && last.header().use_count() == 1 && t->buffer.use_count() == 1)
        [[likely]] {
      renew_id(*last.impl());
      result_addresses[k] = t->data();
    } else {
      result_addresses[k] = result_address(f, k, leases);
    }
  }
  for (size_t i = 0; i < arguments.size(); ++i) {
    if (f.wanted[i] != f.parameters[i]) {
      rebind(f, parameter_patches_[i], f.parameters[i], f.wanted[i]);
    }
  }
  for (size_t k = 0; k < results_.size(); ++k) {
    if (result_addresses[k] != f.results[k]) {
      rebind(f, result_patches_[k], f.results[k], result_addresses[k]);
    }
  }

  const CurrentTeam current(team_);
  const TeamToken token(team_);
  f.single = team_ && token.threads() < team_->threads();
  const FlushDenormals flush;
  try {
    if (only_host_) {
      run_on_host(f, 0, steps_.size());
    } else {
      issue(f);
    }
  } catch (...) {
    give_up(f);
    throw;
  }
  if (f.fresh || has_async_) finish(f);
  // A place may be that of an argument.
  if (hands_through_) hand_through(f, arguments);
  if (f.lists) forget_lists(f);
  for (size_t k = 0; k < results_.size(); ++k) {
    places[k] = results_[k].storage == Place::Storage::kResult ? f.result_tensors[k]
                                                               : std::move(f.given[k]);
  }
}

// ---- What is not on the way of a repeated call of the host's kernels

// Where the call can still be interrupted without a trace.
void Executable::make_room() {
  for (size_t l = 0; l < lanes_.size(); ++l) {
    Device& d = *lanes_[l];
    if (d.is_host()) continue;
    switch (plan_.lanes[l].kind) {
      case PlanLane::Kind::kCopyIn:
        d.copy_in().make_room();
        break;
      case PlanLane::Kind::kCopyOut:
        d.copy_out().make_room();
        break;
      default:
        d.compute().make_room();
    }
  }
}

// One that failed may have left an error that only it explains.
void Executable::forget_error(Frame& f) {
  if (!f.failed.load(std::memory_order_acquire)) return;
  wait_for_lanes(f);
  f.take_error();
}

void* Executable::argument_address(Frame& f, size_t i, const Tensor& argument,
                                   std::optional<LeaseSet>& leases) {
  const TensorImpl* t = argument.impl();
  if (!t || !t->buffer || t->dtype == DType::kVariant) {
    f.parameter_handles[i] = argument;
    f.lists = true;
    return nullptr;
  }
  // Sub-graphs are given addresses, not tensors that can be waited for.
  if (t->device->is_host() || (host_control_ && t->device != stream_device_)) {
    t->buffer->host_wait();
  } else if (host_control_) {
    if (auto e = t->buffer->error()) std::rethrow_exception(e);
    stream_device_->compute().wait(t->buffer->ready());
  }
  if (!leases) leases.emplace();
  return t->address(*leases);
}

// Until lanes are done with them, and where recorded kernels can reach them.
void Executable::keep_arguments(Frame& f, std::span<const Tensor> arguments,
                                std::optional<LeaseSet>& leases) {
  f.arguments.assign(arguments.begin(), arguments.end());
  if (bound_parameters_.empty()) return;
  if (!leases) leases.emplace();
  align_arguments(f, f.wanted.first(arguments.size()), *leases);
}

void* Executable::result_address(Frame& f, size_t k, std::optional<LeaseSet>& leases) {
  const Result& r = results_[k];
  if (r.any_stream) {
    const auto bytes = static_cast<size_t>(checked_bytes(r.info->dtype, r.info->shape));
    Ref<Buffer> buffer =
        allocate_for(note("result of", *r.info), *r.device, bytes, nullptr);
    f.result_tensors[k] =
        make_tensor(r.info->dtype, r.info->shape, *r.device, std::move(buffer), 0);
  } else {
    f.result_tensors[k] =
        make_tensor_for(note("result of"), *r.device, r.info->dtype, r.info->shape);
  }
  if (!leases) leases.emplace();
  return f.result_tensors[k].impl()->address(*leases);
}

void Executable::hand_through(Frame& f, std::span<const Tensor> arguments) {
  for (size_t k = 0; k < results_.size(); ++k) {
    const Result& r = results_[k];
    if (r.storage == Place::Storage::kParameter) {
      f.given[k] = arguments[idx(r.index)];
    } else if (r.storage == Place::Storage::kConstant) {
      f.given[k] = constants_[idx(r.index)][0];
    } else if (r.storage == Place::Storage::kHandle) {
      f.given[k] = f.handles[idx(r.index)];
    }
  }
}

void Executable::forget_lists(Frame& f) {
  for (Tensor& list : f.handles) list = Tensor();
  for (Tensor& list : f.parameter_handles) list = Tensor();
  f.lists = !f.handles.empty();
}

// Of a call that has thrown.
void Executable::give_up(Frame& f) {
  if (has_async_) {
    f.followed = false;
    wait_for_lanes(f);
    // The caller sees it now: the stream it came from need not report it as well.
    const std::exception_ptr seen = std::current_exception();
    for (Device* d : Runtime::get().devices()) d->forget_error(seen);
  }
  f.take_error();
  f.result_tensors.assign(f.result_tensors.size(), Tensor());
  f.arguments.clear();
  drop_handles(f);
}

// An iterator among them would go on with its pass until the next call.
void Executable::drop_handles(Frame& f) {
  for (auto* handles : {&f.handles, &f.parameter_handles, &f.result_handles, &f.given}) {
    for (Tensor& t : *handles) t = Tensor();
  }
  for (const auto& loop : f.loops) {
    if (loop) loop->fresh.assign(loop->fresh.size(), Tensor());
  }
  for (const auto& child : f.children) drop_handles(*child);
}

void Executable::finish(Frame& f) {
  if (has_async_) finish_async(f);
  if (f.fresh && (has_async_ || !side_ends_.empty())) settle_first_run(f);
  f.fresh = false;
}

// Threads have run kernels, some of them perhaps for the first time (run/first_run.h).
// The first call of a frame waits for its devices.
void Executable::settle_first_run(Frame& f) {
  if (has_async_) wait_for_lanes(f);
  std::vector<const Kernel*> fresh;
  collect_new_kernels(fresh);
  if (!fresh.empty()) first_run::settle(fresh);
}

void Executable::collect_new_kernels(std::vector<const Kernel*>& kernels) const {
  for (const Step& s : steps_) {
    if (s.kernel && first_run::is_new(*s.kernel)) kernels.push_back(s.kernel);
  }
  for (const auto& child : children_) child->collect_new_kernels(kernels);
}

// When lanes have work left: who waits for what, and where an error goes.
void Executable::finish_async(Frame& f) {
  if (!f.followed) follow_calls(f);
  for (size_t k = 0; k < results_.size(); ++k) {
    if (results_[k].storage != Place::Storage::kResult) continue;
    const int32_t made_by = results_[k].made_by;
    const TimePoint done = made_by >= 0 ? f.done[idx(made_by)] : TimePoint{};
    if (!done) continue;
    const Ref<Buffer>& buffer = f.result_tensors[k].impl()->buffer;
    // In the order of the lane that makes it: an error of the call spoils it.
    const TimePoint after = done.stream->submit([&f, buffer](const StreamContext&) {
      if (!f.failed.load(std::memory_order_acquire)) return;
      const std::lock_guard lock(f.error_mutex);
      if (f.error) buffer->poison(f.error);
    });
    buffer->set_ready(after);
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
}

// Variables on devices are ready, and no longer used, when what was submitted last is
// done. As long as calls of this frame are all that touches them nothing more is said.
void Executable::follow_calls(Frame& f) {
  f.followed = true;
  for (size_t i = 0; i < variables_.size(); ++i) {
    VariableImpl& v = *variables_[i].impl()->variable;
    if (v.device->is_host()) {
      f.followed = false;  // waited for in every call
    } else if (written_[i]) {
      v.value.impl()->buffer->follow_writes();
    } else {
      v.value.impl()->buffer->follow_uses();
    }
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

void Executable::run_on_host(Frame& f, size_t begin, size_t end) {
  size_t k = begin;
  try {
    const bool polls = f.polls && InterruptScope::listens();
    for (; k < end; ++k) {
      const Step& step = steps_[k];
      if (polls && k < first_write_) poll_interrupt();
      if (step.team_kernel && (step.simple || !f.single)) [[likely]] {
        if (step.scalar != ScalarOp::kNone && !recorder::enabled()) {
          run_scalar(step.scalar, f.table[step.in], f.table[step.in + 1],
                     f.table[step.out]);
        } else {
          launch_timed(step, *step.prepared, f.args[k]);
        }
      } else {
        run_other(f, step);
      }
    }
  } catch (...) {
    rethrow_at(graph_.node(steps_[k].node));
  }
}

void Executable::run_other(Frame& f, const Step& step) {
  switch (step.kind) {
    case Step::Kind::kKernel:
      run_kernel(f, step);
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

void Executable::issue(Frame& f) {
  if (has_async_) {
    f.previous_end = f.lane_end;
    f.previous_end.insert(f.previous_end.end(), f.earlier.begin(), f.earlier.end());
    f.earlier.clear();
  }
  for (size_t i : copied_variables_) {
    f.before[i] = variable_of(variables_[i]).device->compute().now();
  }
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
      run_on_host(f, segment.begin, segment.end);
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
    if (!s.team_kernel) return false;
  }
  if (has_async_ || !side_ends_.empty()) return false;
  Frame& f = acquire();
  const CurrentTeam current(team_);
  const TeamToken token(team_);
  const bool whole = !team_ || token.threads() >= team_->threads();
  const bool ready = whole && !f.fresh && f.attached;
  for (int64_t i = 0; ready && i < times; ++i) {
    for (size_t k = 0; k < steps_.size(); ++k) {
      launch_timed(steps_[k], *steps_[k].prepared, f.args[k]);
    }
  }
  release(f);
  return ready;
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

void Executable::launch_recorded(const Step& step, const Prepared& prepared,
                                 const LaunchArgs& args, const char* lane) const {
  const char* site = site_of(step);
  const int64_t begin = recorder::now_ns();
  step.launch(prepared, args);
  recorder::record(recorder::Kind::kOp, step.name,
                   lane ? lane : step.device->compute().lane().c_str(), begin,
                   recorder::now_ns(), 0, site, {.node = node_of(step)});
}

// Looked up when a step is first recorded: debug information is slow to read.
const char* Executable::site_of(const Step& step) const {
  const std::atomic_ref<const char*> site(step.site);
  const char* text = site.load(std::memory_order_relaxed);
  if (!text) {
    const Node& n = graph_.node(step.node);
    const SourceLocation* at = source_of(n);
    text = recorder::intern((at ? site_text(*at) : std::string()) + '\0' + graph_.name() +
                            "/" + n.name);
    site.store(text, std::memory_order_relaxed);
  }
  return *text ? text : nullptr;
}

// Named within its function, as TensorBoard's pages show it: "train_step/dense/MatMul".
const char* Executable::node_of(const Step& step) const {
  site_of(step);
  const char* const text =
      std::atomic_ref<const char*>(step.site).load(std::memory_order_relaxed);
  return text + std::strlen(text) + 1;
}

StepLabel Executable::label_of(const Step& step) const {
  return {step.name, nullptr, step.detail.empty() ? nullptr : step.detail.c_str()};
}

Device* Executable::device_of(ValueRef v) const {
  const Place& p = plan_.places[idx(v.node)][idx(v.output)];
  if (p.storage == Place::Storage::kVariable) {
    return variable_of(variables_[idx(p.index)]).device;
  }
  return p.space >= 0 ? spaces_[idx(p.space)] : nullptr;
}

}  // namespace tandem
