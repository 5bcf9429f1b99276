// The end of a process whose devices are in loops that they decide themselves (design,
// decision 5), and that may go on for ever: nobody will see what they make. Any thread.
#pragma once

#include <span>

namespace tandem {

class Device;

/// Waits for what the devices have been given, a second at most, and ends the loops of
/// those that are not done by then. Other work goes on.
void end_late_loops(std::span<Device* const> devices);

}  // namespace tandem
