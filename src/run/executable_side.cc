// Side lanes in an Executable: branches that run on threads of the runtime while the
// calling thread goes on. A call joins its lanes before it returns, so that nothing of it
// is left when the frame is used again. When the CPU's team is taken by another call, the
// branches run on the calling thread instead: many callers at once use the cores better
// than a queue before a few lanes would.
#include "base/denormals.h"
#include "base/recorder.h"
#include "run/executable_frame.h"
#include "run/node_error.h"

namespace tandem {

void Executable::launch_side(Frame& f, size_t s) {
  const Segment& segment = segments_[s];
  if (f.single) {
    f.done[s] = {};
    for (size_t w : segment.waits) f.done[w].host_wait();
    if (f.failed.load(std::memory_order_acquire)) return;  // seen when the lanes join
    run_on_host(f, segment.begin, segment.end);
    return;
  }
  Stream& stream = *side_streams_[static_cast<size_t>(segment.lane)];
  wait_before(f, segment, stream);
  f.done[s] = stream.submit([this, &f, &segment](const StreamContext& context) {
    run_on_side(f, segment, context);
  });
}

// The error is the call's: it does not stay with the stream.
void Executable::run_on_side(Frame& f, const Segment& segment,
                             const StreamContext& context) {
  const FlushDenormals flush;
  if (f.failed.load(std::memory_order_acquire)) return;
  size_t k = segment.begin;
  try {
    const TeamToken token(current_team());
    for (; k < segment.end; ++k) {
      launch_timed(steps_[k], *steps_[k].prepared, f.args[k], context.lane);
    }
  } catch (...) {
    f.fail(error_at(graph_.node(steps_[k].node)));
  }
}

void Executable::join_sides(Frame& f) {
  for (size_t s : side_ends_) f.done[s].host_wait();
}

}  // namespace tandem
