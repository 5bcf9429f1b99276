// Devices whose copies from host memory have read it when they return (they stage it, or
// wait), so that memory which may change afterwards needs no copy on the host first. A
// device says so when it is made; one that says nothing reads until the copy's point has
// passed. Any thread.
#pragma once

#include "device/device.h"

namespace tandem {

void note_reads_host_at_once(const Device& device);
bool reads_host_at_once(const Device& device);

}  // namespace tandem
