// Copies between devices: which stream does it, what it waits for, and the counters. The
// only place where bytes cross (design, decision 8). Any thread.
#pragma once

#include "device/device.h"

namespace tandem {

struct CopySide {
  Device* device;
  void* address;
};

/// Whether one stream does a copy from `from` to `to`: the copy-in stream of the
/// receiving device, or towards the host the copy-out stream of the sending one. Devices
/// of different backends do not reach each other's memory; between them both streams
/// copy, by way of the host.
bool copies_directly(const Device& to, const Device& from);
/// The stream whose points say that a copy is over.
Stream& copying_stream(Device& to, Device& from);

/// Enqueues a copy after `source_ready`, on the stream that does it, or inline between
/// host devices; waits where it goes by way of the host. The caller keeps both buffers
/// alive until the returned point has passed. Throws what a device refuses it with: then
/// nothing of it is under way, and the caller spoils what should have been written.
TimePoint enqueue_copy(CopySide to, CopySide from, size_t bytes, TimePoint source_ready);

/// Leaves an error with a stream, for whoever waits for all of its device, until somebody
/// reads what it has spoiled. The point comes after what the stream had been given.
TimePoint leave_error(Stream& stream, const std::exception_ptr& error);

}  // namespace tandem
