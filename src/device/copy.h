// Copies between devices: which stream does it, what it waits for, and the counters. The
// only place where bytes cross (design, decision 8). Any thread.
#pragma once

#include "device/device.h"

namespace tandem {

struct CopySide {
  Device* device;
  void* address;
};

/// Enqueues a copy after `source_ready`, on the copy-in stream of the receiving device,
/// the copy-out stream of the sending one, or inline between host devices. The caller
/// keeps both buffers alive until the returned point has passed.
TimePoint enqueue_copy(CopySide to, CopySide from, size_t bytes, TimePoint source_ready);

}  // namespace tandem
