// The lanes of an Executable: runs of steps that are captured and launched as one, and
// copies between devices.
#include <optional>

#include "base/recorder.h"
#include "device/copy.h"
#include "device/runtime.h"
#include "run/executable_frame.h"
#include "tandem/device.h"
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
}  // namespace

void Executable::wait_before(Frame& f, const Segment& segment, Stream& stream) {
  for (size_t w : segment.waits) stream.wait(f.done[w]);
  if (!segment.first) return;
  // The plan's own memory may still be in use by the call before.
  for (const TimePoint& end : f.previous_end) {
    if (end && end.stream != &stream) stream.wait(end);
  }
}

void Executable::launch_segment(Frame& f, size_t s) {
  const Segment& segment = segments_[s];
  const PlanLane& lane = plan_.lanes[idx(segment.lane)];
  Stream& stream = stream_of(*lanes_[idx(segment.lane)], lane.kind);
  wait_before(f, segment, stream);
  if (!f.captured[s]) {
    f.captured[s] = stream.capture([this, &f, &segment](const StreamContext& context) {
      run_on_stream(f, segment, context);
    });
  }
  f.done[s] = f.captured[s] ? f.captured[s]->launch()
                            : stream.submit([this, &f, &segment](const StreamContext& c) {
                                run_on_stream(f, segment, c);
                              });
  f.lane_end[idx(segment.lane)] = f.done[s];
}

void Executable::run_on_stream(Frame& f, const Segment& segment,
                               const StreamContext& context) {
  if (f.failed.load(std::memory_order_acquire)) return;
  try {
    Team* team = context.device->team();
    const CurrentTeam current(team);
    std::optional<TeamToken> token;
    if (team) token.emplace(team);
    for (size_t k = segment.begin; k < segment.end; ++k) {
      const Step& step = steps_[k];
      LaunchArgs args = f.args[k];
      args.stream = &context;
      const bool timed = recorder::enabled();
      const int64_t begin = timed ? recorder::now_ns() : 0;
      step.kernel->launch(*step.prepared, args);
      if (timed) {
        recorder::record(recorder::Kind::kOp, step.name, context.lane, begin,
                         recorder::now_ns(), 0);
      }
    }
  } catch (...) {
    f.fail(std::current_exception());
    throw;
  }
}

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
  if (source.storage == Place::Storage::kParameter) {
    const Tensor* t = idx(source.index) < f.arguments.size()
                          ? &f.arguments[idx(source.index)]
                          : nullptr;
    if (t && t->impl() && t->impl()->buffer) {
      argument = t->impl()->buffer;
      stream.wait(argument->ready());
    }
  } else if (source.storage == Place::Storage::kVariable) {
    stream.wait(variable_of(variables_[idx(source.index)]).value.impl()->buffer->ready());
  }
  if (bytes) {
    Device* from = device_of(n.inputs[0]);
    if (from == step.device) {
      f.done[s] = on.copy(stream, f.table[step.out], f.table[step.in], bytes);
    } else {
      f.done[s] = enqueue_copy({step.device, f.table[step.out]},
                               {from ? from : &Runtime::get().cpu(), f.table[step.in]},
                               bytes, {});
    }
  } else {
    f.done[s] = stream.now();
  }
  if (argument && f.done[s]) {
    // Keeps the source until it is across, and takes its error over.
    f.done[s] = f.done[s].stream->submit([&f, argument](const StreamContext&) {
      if (auto e = argument->error()) f.fail(e);
    });
  }
  f.lane_end[idx(segment.lane)] = f.done[s];
}

}  // namespace tandem
