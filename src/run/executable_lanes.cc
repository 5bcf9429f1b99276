// The lanes of an Executable: runs of steps that are captured and launched as one, and
// copies between devices.
#include <algorithm>
#include <optional>

#include "base/denormals.h"
#include "base/flags.h"
#include "base/ranges.h"
#include "base/recorder.h"
#include "device/capture_session.h"
#include "device/copy.h"
#include "device/host_source.h"
#include "device/launch_label.h"
#include "device/runtime.h"
#include "op/guarded_writes.h"
#include "run/executable_frame.h"
#include "run/node_error.h"
#include "tandem/device.h"
#include "tandem/error.h"
#include "tensor/variable_impl.h"

namespace tandem {

namespace {
Stream& stream_of(Device& device, PlanLane::Kind kind) {
  switch (kind) {
    case PlanLane::Kind::kCopyIn:
      return device.copy_in();
    case PlanLane::Kind::kCopyOut:
      return device.copy_out();
    default:
      return device.compute();
  }
}

// A device that runs steps on threads of the host names the failing one anyway.
bool one_by_one(const Device& device) {
  static const bool asked = env_bool("TANDEM_SYNC", false);
  return asked && device.platform() != kHostPlatform;
}
}  // namespace

void Executable::wait_before(Frame& f, const Segment& segment, Stream& stream) {
  for (size_t w : segment.waits) stream.wait(f.done[w]);
  if (!segment.first) return;
  // The plan's own memory may still be in use by the call before.
  for (const TimePoint& end : f.previous_end) {
    if (end && end.stream != &stream) stream.wait(end);
  }
  if (f.entry && f.entry.stream != &stream) stream.wait(f.entry);
}

// What a device does not take spoils the call's results, and nothing of the call that
// comes after it runs. TANDEM_SYNC=1: the call throws.
TimePoint Executable::refused(Frame& f, const std::exception_ptr& error,
                              const Device& device, Stream& stream) {
  if (one_by_one(device)) std::rethrow_exception(error);
  f.fail(error);
  return leave_error(stream, error);
}

void Executable::launch_segment(Frame& f, size_t s) {
  const Segment& segment = segments_[s];
  const PlanLane& lane = plan_.lanes[idx(segment.lane)];
  Stream& stream = stream_of(*lanes_[idx(segment.lane)], lane.kind);
  wait_before(f, segment, stream);
  if (segment.conditional) bind_conditionals(f, segment);
  patch_copies(f, s);
  const bool operands = !segment.operands.empty();
  if (operands) await_operands(f, segment);
  if (one_by_one(*lanes_[idx(segment.lane)])) {
    if (operands) tell_operands(f, s, stream);
    f.done[s] = f.lane_end[idx(segment.lane)] = run_one_by_one(f, segment, stream);
    return;
  }
  const bool failed = f.failed.load(std::memory_order_acquire);
  std::string unfit;  // why it could not be recorded
  if (is_captured(segment) && !f.captured[s] && !failed) unfit = capture(f, s, stream);
  if (operands) tell_operands(f, s, stream);
  if (f.captured[s] && !failed) {
    const ranges::Range range("captured step");
    try {
      f.done[s] = f.captured[s]->launch();
    } catch (const Error&) {
      // Named by where it begins: as a whole it has no node.
      const auto error = error_at(graph_.node(steps_[segment.begin].node));
      f.done[s] = refused(f, error, *lanes_[idx(segment.lane)], stream);
    }
  } else {
    f.done[s] = stream.submit(
        [this, &f, &segment](const StreamContext& c) { run_on_stream(f, segment, c); });
    // What fails in any case says so by itself.
    if (!unfit.empty() && !f.failed.load(std::memory_order_acquire)) {
      look_instead(std::move(unfit));
    }
  }
  f.lane_end[idx(segment.lane)] = f.done[s];
}

// TANDEM_SYNC=1: the step that fails throws at the call, and is named.
TimePoint Executable::run_one_by_one(Frame& f, const Segment& segment, Stream& stream) {
  TimePoint done;
  for (size_t k = segment.begin; k < segment.end; ++k) {
    Segment one = segment;
    one.begin = k;
    one.end = k + 1;
    done = stream.submit(
        [this, &f, &one](const StreamContext& c) { run_on_stream(f, one, c); });
    if (auto e = stream.take_error()) std::rethrow_exception(e);
    try {
      done.host_wait();
    } catch (...) {
      rethrow_at(graph_.node(steps_[k].node));
    }
  }
  return done;
}

void Executable::forget_captured(Frame& f) {
  for (auto& c : f.captured) c.reset();
  std::fill(f.rebound.begin(), f.rebound.end(), nullptr);
  f.copies.clear();
}

// Arguments and results have other addresses in every call: captured copies are told, and
// wait for what they read.
void Executable::patch_copies(Frame& f, size_t s) {
  for (const Segment::CopiedArgument& a : segments_[s].copied) {
    await_argument(f, a.number, *a.device);
  }
  if (!f.captured[s]) return;
  for (Frame::CapturedCopy& c : f.copies) {
    if (c.segment != s) continue;
    void *const to = f.table[steps_[c.step].out], *const from =
                                                      f.table[steps_[c.step].in];
    if (to == c.to && from == c.from) continue;
    dynamic_cast<CapturedCopies&>(*f.captured[s]).set_copy(c.number, to, from);
    c.to = to;
    c.from = from;
  }
}

void Executable::run_on_stream(Frame& f, const Segment& segment,
                               const StreamContext& context) {
  const FlushDenormals flush;
  if (f.failed.load(std::memory_order_acquire)) return;
  CaptureSession* const session = CaptureSession::current();
  const auto order =
      session ? step_order(f, segment) : std::vector<std::vector<int32_t>>{};
  size_t k = segment.begin;
  try {
    Team* team = context.device->team();
    const CurrentTeam current(team);
    std::optional<TeamToken> token;
    if (team) token.emplace(team);
    for (; k < segment.end; ++k) {
      const Step& step = steps_[k];
      if (session) {
        session->begin(order[k - segment.begin], label_of(step),
                       [this, &step] { return site_of(step); });
      }
      if (step.conditional) {
        run_conditional(f, step, context);
        if (session) session->end();
        continue;
      }
      if (step.kind == Step::Kind::kCopy) {
        void *const to = f.table[step.out], *const from = f.table[step.in];
        const size_t bytes = copy_bytes(step);
        if (bytes && inside_) {
          if (to != from) copy_inside(step, context, to, from, bytes);
        } else if (bytes && session) {
          const auto at = static_cast<size_t>(&segment - segments_.data());
          f.copies.push_back({at, k, session->copy(to, from, bytes), to, from});
        } else if (bytes) {
          step.device->copy(step.device->compute(), to, from, bytes);
        }
        if (session) session->end();
        continue;
      }
      LaunchArgs args = f.args[k];
      args.stream = &context;
      const GuardedWrites guard(step.guarded);
      const LaunchLabel label(&graph_.node(step.node), [](const void* node) {
        return text_at(*static_cast<const Node*>(node));
      });
      {
        const ranges::Range range(step.name);
        launch_timed(step, *step.prepared, args, context.lane);
      }
      if (session) session->end();
    }
  } catch (...) {
    const auto error = error_at(graph_.node(steps_[std::min(k, segment.end - 1)].node));
    f.fail(error);
    std::rethrow_exception(error);
  }
}

namespace {
// Whoever writes the variable next comes after `read`, which another device does. What
// the host has is held until then: a writer makes a copy.
void protect_from_writers(VariableImpl& variable, Device& reader, TimePoint& read) {
  const Ref<Buffer>& buffer = variable.value.impl()->buffer;
  if (!variable.device->is_host()) {
    buffer->add_use(read);
    variable.device->compute().wait(read);
  } else if (!reads_host_at_once(reader)) {
    read = read.stream->submit([held = buffer](const StreamContext&) {});
  }
}
}  // namespace

void Executable::run_copy(Frame& f, size_t s) {
  const Segment& segment = segments_[s];
  const Step& step = steps_[segment.begin];
  const Node& n = graph_.node(step.node);
  const PlanLane& lane = plan_.lanes[idx(segment.lane)];
  Device& on = *lanes_[idx(segment.lane)];
  Stream& stream = stream_of(on, lane.kind);
  wait_before(f, segment, stream);
  const size_t bytes = copy_bytes(step);
  const Place& source = plan_.places[idx(n.inputs[0].node)][idx(n.inputs[0].output)];
  Ref<Buffer> argument;
  VariableImpl* variable = nullptr;
  if (source.storage == Place::Storage::kParameter) {
    const Tensor* t = idx(source.index) < f.arguments.size()
                          ? &f.arguments[idx(source.index)]
                          : nullptr;
    if (t && t->impl() && t->impl()->buffer) {
      argument = t->impl()->buffer;
      stream.wait(argument->ready());
    }
  } else if (source.storage == Place::Storage::kVariable) {
    variable = &variable_of(variables_[idx(source.index)]);
    const Buffer& buffer = *variable->value.impl()->buffer;
    stream.wait(variable->device->is_host()
                    ? buffer.ready()
                    : buffer.ready_before(f.before[idx(source.index)]));
  }
  if (bytes) {
    Device* const known = device_of(n.inputs[0]);
    // A constant, or a view of one: its bytes on the host, wherever they are wanted.
    Device* const from = known ? known : &Runtime::get().cpu();
    try {
      if (known == step.device) {
        f.done[s] = on.copy(stream, f.table[step.out], f.table[step.in], bytes);
      } else {
        // The stream that reads comes after all that the lane's has been told to wait
        // for.
        const TimePoint ready = copies_directly(*step.device, *from)
                                    ? TimePoint{}
                                    : stream.submit([](const StreamContext&) {});
        f.done[s] = enqueue_copy({step.device, f.table[step.out]},
                                 {from, f.table[step.in]}, bytes, ready);
      }
    } catch (const Error&) {
      f.done[s] = refused(f, error_at(n), on, stream);
    }
  } else {
    f.done[s] = stream.now();
  }
  if (argument && !f.done[s]) {
    if (auto e = argument->error()) f.fail(e);
  } else if (argument) {
    // Keeps the source until it is across, and takes its error over.
    f.done[s] = f.done[s].stream->submit([&f, argument](const StreamContext&) {
      if (auto e = argument->error()) f.fail(e);
    });
  }
  if (variable && f.done[s]) protect_from_writers(*variable, *step.device, f.done[s]);
  f.lane_end[idx(segment.lane)] = f.done[s];
}

}  // namespace tandem
