// Waiting for a point in time without throwing what kernels have reported or what
// interrupts this thread: for destructors, which must leave both to somebody who reads.
// Any thread.
#pragma once

#include <chrono>
#include <span>

#include "device/stream.h"

namespace tandem {

void wait_until_passed(const TimePoint& point);
/// False: that took longer than `most`.
bool pass_within(std::span<const TimePoint> points, std::chrono::nanoseconds most);

}  // namespace tandem
