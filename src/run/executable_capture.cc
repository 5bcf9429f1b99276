// Recording the runs of steps that a device launches as one, and what happens where they
// cannot be recorded.
#include <utility>

#include <fmt/format.h>

#include "run/executable_frame.h"
#include "tandem/error.h"

namespace tandem {

bool Executable::is_captured(const Segment& segment) const {
  return !segment.apart && launches_ == Launches::kCaptured &&
         !(segment.conditional && looks_instead_.load(std::memory_order_acquire));
}

// Records a run of steps. One with control flow that the device decides may hold what it
// cannot decide about (a library's work, a driver's rule): returns why, and the host
// looks at the predicates.
std::string Executable::capture(Frame& f, size_t s, Stream& stream) {
  const Segment& segment = segments_[s];
  builds_.wait();  // kernels of steps are loaded before a recording
  const auto forget = [&] {
    std::erase_if(f.copies, [s](const Frame::CapturedCopy& c) { return c.segment == s; });
  };
  forget();
  try {
    record(f, s, stream);
    return {};
  } catch (const Error& e) {
    if (!segment.conditional) throw;
    forget();
    f.take_error();
    return e.what();
  }
}

void Executable::look_instead(std::string why) {
  const std::lock_guard lock(frames_mutex_);
  if (looks_instead_.load(std::memory_order_relaxed)) return;
  why_looks_ = std::move(why);
  looks_instead_.store(true, std::memory_order_release);
}

std::string Executable::describe() const {
  if (!looks_instead_.load(std::memory_order_acquire)) return {};
  return fmt::format(
      "  the host looks at the predicates of conditional nodes: they cannot be recorded "
      "({})\n",
      why_looks_);
}

}  // namespace tandem
