// Waiting for a point in time without throwing what kernels have reported or what
// interrupts this thread: for destructors, which must leave both to somebody who reads.
// Any thread.
#pragma once

#include "device/stream.h"

namespace tandem {

void wait_until_passed(const TimePoint& point);

}  // namespace tandem
